"""McNemar's test, the permutation test and Holm's correction against other implementations and enumeration."""

import time
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from holdergym.eval.at_k import Attempts
from holdergym.eval.significance import holm, mcnemar, paired_permutation


def test_mcnemar_equals_statsmodels_for_every_small_table() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    for first, second in product(range(13), repeat=2):
        theirs = tables.mcnemar([[40, first], [second, 30]], exact=True).pvalue if first + second else 1.0
        assert mcnemar(first, second) == pytest.approx(min(1.0, theirs), rel=1e-12)


def test_mcnemar_of_a_published_example() -> None:
    """Agresti, Categorical Data Analysis (2002), section 10.1: approval ratings, 150 against 86 changed their mind."""
    assert mcnemar(150, 86) == pytest.approx(3.7e-5, rel=0.02)
    assert mcnemar(0, 5) == pytest.approx(2 / 32)
    with pytest.raises(ValueError, match="discordant"):
        mcnemar(-1, 3)


def enumerated(first: list[Attempts], second: list[Attempts]) -> float:
    differences = [b.won / b.samples - a.won / a.samples for a, b in zip(first, second, strict=True)]
    observed = abs(sum(differences)) - 1e-9
    signs = list(product((1, -1), repeat=len(differences)))
    return sum(abs(sum(s * d for s, d in zip(sign, differences, strict=True))) >= observed for sign in signs) / len(
        signs
    )


@pytest.mark.parametrize("seed", range(25))
def test_the_permutation_test_counts_every_sign_pattern(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = int(rng.integers(1, 11))
    sides = [[Attempts(n, int(rng.integers(0, n + 1))) for n in rng.integers(1, 7, tasks)] for _ in range(2)]
    found = paired_permutation(*sides)
    assert found.exact
    assert found.p == pytest.approx(enumerated(*sides), abs=1e-11)


def test_one_attempt_a_task_makes_it_mcnemar_s_test() -> None:
    for only_first, only_second in [(0, 0), (3, 3), (2, 9), (0, 40), (31, 60)]:
        first = [Attempts(1, 1)] * only_first + [Attempts(1, 0)] * only_second + [Attempts(1, 1)] * 20
        second = [Attempts(1, 0)] * only_first + [Attempts(1, 1)] * only_second + [Attempts(1, 1)] * 20
        assert paired_permutation(first, second).p == pytest.approx(mcnemar(only_first, only_second), abs=1e-11)


@pytest.mark.parametrize(("only_first", "only_second"), [(400, 460), (4900, 5100), (3, 9997)])
def test_the_error_of_the_exact_distribution_is_as_small_as_it_says(only_first: int, only_second: int) -> None:
    """The tasks that differ are McNemar's case, each played twice, so that the distribution is known."""
    first = [Attempts(2, 2)] * only_first + [Attempts(2, 0)] * only_second
    second = [Attempts(2, 0)] * only_first + [Attempts(2, 2)] * only_second
    assert paired_permutation(first, second).p == pytest.approx(mcnemar(only_first, only_second), abs=1e-12)


def test_large_sizes_are_as_exact_as_small_ones() -> None:
    """Against a count of all 2^20 sign patterns: sizes of up to 100,000 steps, whose angles are many turns."""
    rng = np.random.default_rng(3)
    won = rng.integers(1, 100_000, 20)
    second = [Attempts(100_000, int(count)) for count in won]
    first = [Attempts(100_000, int(count)) for count in rng.integers(1, 100_000, 20)]
    differences = np.array([b.won - a.won for a, b in zip(first, second, strict=True)])
    sums = np.zeros(1, dtype=np.int64)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    expected = float(np.mean(np.abs(sums) >= abs(differences.sum())))
    found = paired_permutation(first, second)
    assert found.exact
    assert found.p == pytest.approx(expected, abs=1e-12)


def test_many_sizes_over_many_tasks_are_drawn_in_bounded_time() -> None:
    """Counting every pattern would take a billion multiplications here."""
    rng = np.random.default_rng(4)
    sides = [[Attempts(1000, int(won)) for won in rng.integers(0, 1001, 2000)] for _ in range(2)]
    began = time.process_time()
    found = paired_permutation(*sides)
    assert not found.exact
    assert time.process_time() - began < 60
    # The sum of many differences is all but normal.
    differences = np.array([(b.won - a.won) / 1000 for a, b in zip(*sides, strict=True)])
    z = abs(differences.sum()) / np.sqrt((differences**2).sum())
    assert found.p == pytest.approx(2 * NormalDist().cdf(-z), abs=0.006)


def test_drawn_patterns_agree_with_all_of_them() -> None:
    """Sample counts without a small common multiple: scipy draws too, and both come near each other."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(2)
    counts = [997, 991, 983, 977, 971, 967, 953, 947, 941, 937, 929, 919]
    first = [Attempts(n, int(rng.binomial(n, rate))) for n, rate in zip(counts, rng.uniform(0.3, 0.7, 12), strict=True)]
    second = [
        Attempts(n, int(rng.binomial(n, rate))) for n, rate in zip(counts, rng.uniform(0.4, 0.8, 12), strict=True)
    ]
    found = paired_permutation(first, second)
    assert not found.exact
    assert found == paired_permutation(first, second)
    theirs = stats.permutation_test(
        ([a.won / a.samples for a in first], [b.won / b.samples for b in second]),
        lambda a, b, axis: np.mean(b - a, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    ).pvalue
    assert found.p == pytest.approx(theirs, abs=0.006)


def test_the_permutation_test_holds_its_level_where_samples_of_a_task_are_alike() -> None:
    """Taking the samples as independent would reject far too often here."""
    rng = np.random.default_rng(7)
    rejected = 0
    for _ in range(400):
        hard = rng.beta(0.4, 0.4, 40)
        sides = []
        for _ in range(2):
            own = np.clip(hard + rng.normal(0, 0.25, 40), 0, 1)
            sides.append([Attempts(8, int(won)) for won in rng.binomial(8, own)])
        rejected += paired_permutation(*sides).p < 0.05
    assert rejected / 400 < 0.08


def test_what_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="1 tasks of the first and 0"):
        paired_permutation([Attempts(1, 1)], [])
    with pytest.raises(ValueError, match="without a sample"):
        paired_permutation([Attempts(0, 0)], [Attempts(1, 1)])


def test_holm_equals_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 10):
        for _ in range(20):
            values = rng.uniform(0, 0.2, size)
            assert holm(values.tolist()) == pytest.approx(multitest.multipletests(values, method="holm")[1])
    assert holm([]) == ()
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.5])
