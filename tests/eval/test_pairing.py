"""Two agents over the same tasks: which test, which interval, and what is left out."""

import holdergym.eval.compare as comparing
import numpy as np
import pytest
from holdergym.eval.at_k import Attempts
from holdergym.eval.bootstrap import bootstrap_mean, bootstrap_rate
from holdergym.eval.differences import paired_difference
from holdergym.eval.pairing import NO_PAIR, pair
from holdergym.eval.significance import mcnemar, paired_permutation
from holdergym.leaderboards.comparison_words import evidence

from .coverage import Rng, coverage, is_95_percent, won_counts


def once(won: str) -> dict[str, Attempts]:
    """A run in which each task was played once: ``1`` for won, ``0`` for not, ``-`` for not finished."""
    return {f"t{number}": Attempts(1, int(did)) for number, did in enumerate(won) if did != "-"}


def test_one_attempt_a_task_is_mcnemar_s_case() -> None:
    found = pair(once("1100110"), once("1011111"), tasks=7)
    assert found.once
    assert (found.better_first, found.better_second, found.tasks, found.left_out) == (1, 3, 7, 0)
    assert (found.first.value, found.second.value) == pytest.approx((4 / 7, 6 / 7))
    assert found.difference.value == pytest.approx(2 / 7)
    assert found.p.value == mcnemar(1, 3)
    assert (found.interval, found.interval_method) == (paired_difference(1, 3, 7), "tango")


def test_several_attempts_are_compared_by_their_rates() -> None:
    first = {"a": Attempts(4, 1), "b": Attempts(4, 2), "c": Attempts(4, 4), "d": Attempts(4, 0)}
    second = {"a": Attempts(2, 2), "b": Attempts(4, 3), "c": Attempts(4, 4), "d": Attempts(1, 0)}
    found = pair(first, second, tasks=4)
    assert not found.once
    assert (found.better_first, found.better_second) == (0, 2)
    assert found.difference.value == pytest.approx((0.75 + 0.25) / 4)
    assert found.p.value == paired_permutation([*first.values()], [*second.values()]).p
    assert found.interval == paired_difference(0, 1.0, 4)


def test_a_test_that_draws_says_so() -> None:
    counts = [997, 991, 983, 977, 971, 967]
    sides = [{str(n): Attempts(n, n // part) for n in counts} for part in (2, 3)]
    found = pair(*sides, tasks=6)
    assert not found.once
    assert found.test == "paired_permutation_drawn"
    assert "100,000 seeded draws" in evidence(comparing.Tested(found, found.p, None), 1)
    few = pair({"a": Attempts(2, 1)}, {"a": Attempts(2, 2)}, tasks=1)
    assert few.test == "paired_permutation"
    assert "draws" not in evidence(comparing.Tested(few, few.p, None), 1)


def test_a_task_weighs_as_often_as_it_was_drawn() -> None:
    """By hand: the first won 1 of 6 episodes, the second 5 of 6; no rate and no difference is the tasks' plain mean."""
    first = {"a": Attempts(4, 0), "b": Attempts(1, 1), "c": Attempts(1, 0)}
    second = {"a": Attempts(4, 4), "b": Attempts(1, 0), "c": Attempts(1, 1)}
    draws = {"a": 4, "b": 1, "c": 1}
    found = pair(first, second, tasks=3, draws=draws)
    assert (found.first.value, found.second.value) == pytest.approx((1 / 6, 5 / 6))
    assert found.difference.value == pytest.approx(4 / 6)
    # The sums of 4, 1 and 1 with any signs: 6 of the 8 are at least as far from 0 as 4 - 1 + 1.
    assert found.p.value == pytest.approx(6 / 8)
    # Three tasks of these weights are as good as two of equal ones: 36 / 18.
    assert found.interval[:2] == pytest.approx(paired_difference(2 * 1 / 6, 2 * 5 / 6, 2)[:2])


def test_where_enough_tasks_differ_the_interval_is_the_bootstrap_s() -> None:
    rng = np.random.default_rng(4)
    sides = [{str(task): Attempts(4, int(rng.integers(0, 5))) for task in range(30)} for _ in range(2)]
    draws = {str(task): 1 + task % 3 for task in range(30)}
    differences = [(sides[1][task].won - sides[0][task].won) / 4 for task in draws]
    found = pair(*sides, tasks=30, draws=draws)
    assert found.interval_method == "cluster_bootstrap"
    assert found.interval == bootstrap_mean(differences, [*draws.values()])
    assert found.interval != pair(*sides, tasks=30).interval


@pytest.mark.parametrize("likeness", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("tasks", [2, 5, 9])
def test_the_difference_over_few_tasks_has_no_interval_that_is_too_narrow(tasks: int, likeness: float) -> None:
    def interval(rng: Rng):
        hard = won_counts(rng, tasks, 1000, 0.5, likeness) / 1000 * 0.8
        sides = [
            {str(task): Attempts(6, int(won)) for task, won in enumerate(rng.binomial(6, rates))}
            for rates in (hard, hard + 0.2)
        ]
        return pair(*sides, tasks=tasks).interval

    assert coverage(interval, 0.2, 150, seed=6) >= 0.93


def test_the_interval_of_a_weighted_mean_is_that_of_its_ratio() -> None:
    """Whole tasks are drawn with their weights, as for the rate of a drawn panel."""
    rng = np.random.default_rng(2)
    draws = rng.integers(1, 6, 80)
    won = rng.binomial(draws, 0.6)
    assert bootstrap_mean(won / draws, draws)[:2] == pytest.approx(bootstrap_rate(won, draws)[:2], abs=1e-12)


def test_only_tasks_that_both_finished_are_compared() -> None:
    found = pair(once("11-0"), once("1-10"), tasks=5)
    assert (found.tasks, found.left_out, found.better_first, found.better_second) == (2, 3, 0, 0)
    nothing = pair(once("1-"), once("-1"), tasks=2)
    assert (nothing.tasks, nothing.left_out) == (0, 2)
    assert nothing.p.cause == nothing.difference.cause == nothing.interval.cause == NO_PAIR


@pytest.mark.parametrize(("first", "second", "low", "high"), [(4, 0, -1.0, -0.4), (0, 4, 0.4, 1.0), (4, 4, -0.4, 0.4)])
def test_rates_that_all_differ_alike_still_have_an_interval(first: int, second: int, low: float, high: float) -> None:
    sides = [{str(task): Attempts(4, won) for task in range(10)} for won in (first, second)]
    found = pair(*sides, tasks=10)
    assert found.interval_method == "tango"
    assert low <= found.interval.low <= found.difference.value <= found.interval.high <= high
    quarter = pair(*({str(task): Attempts(4, won) for task in range(10)} for won in (1, 2)), tasks=10)
    assert (quarter.interval, quarter.interval_method) == (paired_difference(0, 2.5, 10), "tango")
    assert quarter.p.value == pytest.approx(2 / 2**10)


@pytest.mark.parametrize(("gain", "likeness"), [(0.1, 0.3), (0.05, 0.0)])
def test_95_percent_of_the_intervals_hold_the_true_difference(gain: float, likeness: float) -> None:
    """Both agents find the same tasks hard: the tasks' rates are drawn, and the second agent gains on each."""

    def interval(rng: Rng):
        hard = won_counts(rng, 134, 1000, 0.5, likeness) / 1000 * (1 - gain)
        sides = [
            {str(task): Attempts(4, int(won)) for task, won in enumerate(rng.binomial(4, rates))}
            for rates in (hard, hard + gain)
        ]
        return pair(*sides, tasks=134).interval

    assert is_95_percent(coverage(interval, gain, 300, seed=5), 300)


def test_the_order_of_the_runs_turns_the_sign() -> None:
    rng = np.random.default_rng(0)
    sides = [{str(task): Attempts(5, int(rng.integers(0, 6))) for task in range(40)} for _ in range(2)]
    there, back = pair(*sides, tasks=40), pair(*sides[::-1], tasks=40)
    assert back.difference.value == pytest.approx(-there.difference.value)
    assert back.p.value == pytest.approx(there.p.value)
    assert (-back.interval.high, -back.interval.low) == pytest.approx(there.interval[:2], abs=0.01)
