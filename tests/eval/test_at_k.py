"""pass@k, pass^k and avg@k against enumeration of every subset, and where floats end."""

import math
from fractions import Fraction
from itertools import combinations

import pytest
from holdergym.eval.at_k import Attempts, avg_at_k, mean_over_tasks, pass_at_k, pass_hat_k

EVERY_CASE = [(n, c, k) for n in range(1, 9) for c in range(n + 1) for k in range(1, n + 1)]


@pytest.mark.parametrize("n", range(1, 9))
def test_equal_to_the_mean_over_every_subset(n: int) -> None:
    for _, c, k in (case for case in EVERY_CASE if case[0] == n):
        subsets = [sum(subset) for subset in combinations([1] * c + [0] * (n - c), k)]
        enumerated = {
            pass_at_k: Fraction(sum(won > 0 for won in subsets), len(subsets)),
            pass_hat_k: Fraction(sum(won == k for won in subsets), len(subsets)),
            avg_at_k: Fraction(sum(subsets), k * len(subsets)),
        }
        for estimator, expected in enumerated.items():
            assert estimator(n, c, k).value == pytest.approx(float(expected), rel=1e-12, abs=0), (estimator, c, k)
            assert estimator(n, c, k).cause == ""


@pytest.mark.parametrize("k", [1, 10, 100, 500_000])
def test_a_million_samples_keep_their_digits(k: int) -> None:
    n, c = 1_000_000, 3
    exact = 1 - Fraction((n - k) * (n - k - 1) * (n - k - 2), n * (n - 1) * (n - 2))
    assert pass_at_k(n, c, k).value == pytest.approx(float(exact), rel=1e-11)


def test_a_thousand_samples_agree_with_exact_binomials() -> None:
    for c, k in [(0, 5), (1, 999), (250, 500), (999, 1), (1000, 1000), (700, 300), (701, 300)]:
        without = Fraction(math.comb(1000 - c, k), math.comb(1000, k))
        assert pass_at_k(1000, c, k).value == pytest.approx(float(1 - without), rel=1e-11)
        every = Fraction(math.comb(c, k), math.comb(1000, k))
        assert pass_hat_k(1000, c, k).value == pytest.approx(float(every), rel=1e-11)


def test_nothing_won_is_zero_and_not_minus_zero() -> None:
    for n, k in [(1, 1), (8, 4), (8, 8), (1_000_000, 3)]:
        assert str(pass_at_k(n, 0, k).value) == "0.0"
    assert str(mean_over_tasks([Attempts(8, 0)] * 3, 4, pass_at_k).value) == "0.0"


def test_k_of_one_is_the_success_rate_in_all_three() -> None:
    for estimator in (pass_at_k, pass_hat_k, avg_at_k):
        assert estimator(16, 5, 1).value == pytest.approx(5 / 16)


@pytest.mark.parametrize("estimator", [pass_at_k, pass_hat_k, avg_at_k])
def test_too_few_samples_are_undefined_even_if_one_was_won(estimator) -> None:
    value = estimator(3, 2, 4)
    assert math.isnan(value.value)
    assert value.cause == "3 samples are fewer than k = 4"


@pytest.mark.parametrize("estimator", [pass_at_k, pass_hat_k, avg_at_k])
@pytest.mark.parametrize("wrong", [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts(estimator, wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=r"won|k is"):
        estimator(*wrong)


def test_the_mean_over_tasks_gives_each_task_one_vote() -> None:
    tasks = [Attempts(4, 1), Attempts(8, 8), Attempts(4, 0), Attempts(4, 1)]
    assert mean_over_tasks(tasks, 2, pass_at_k).value == pytest.approx((0.5 + 1 + 0 + 0.5) / 4)


def test_one_task_with_too_few_samples_leaves_the_mean_undefined() -> None:
    value = mean_over_tasks([Attempts(4, 1), Attempts(3, 3)], 4, pass_at_k)
    assert math.isnan(value.value)
    assert value.cause == "1 of 2 tasks have fewer than 4 finished samples"
    assert mean_over_tasks([], 1, pass_at_k).cause == "no task was played"
