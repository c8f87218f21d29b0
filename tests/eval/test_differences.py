"""Intervals of differences: published examples, agreement with the test, and coverage."""

import numpy as np
import pytest
from holdergym.eval.differences import paired_difference, unpaired_difference
from holdergym.eval.intervals import wilson

from .coverage import Rng, coverage


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        # Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine 17
        # (1998), table II, method 10; the sign is turned, as ours is second minus first.
        ((56, 70), (48, 80), -0.3339, -0.0524),
        ((9, 10), (3, 10), -0.8090, -0.1705),
        ((10, 10), (0, 20), -1.0, -0.6791),
    ],
)
def test_newcombe_s_published_examples(first, second, low: float, high: float) -> None:
    interval = unpaired_difference(first[0] / first[1], wilson(*first), second[0] / second[1], wilson(*second))
    assert interval[:2] == pytest.approx((low, high), abs=6e-5)


def test_the_cause_of_an_undefined_rate_is_handed_on() -> None:
    assert unpaired_difference(0.5, wilson(1, 2), float("nan"), wilson(0, 0)).cause == "no episode finished"


def test_tango_s_published_example() -> None:
    """Tango 1998, section 5: crossover trial of contact lenses, 43 of 44 agree, 0 and 1 discordant; 95% interval."""
    low, high, _ = paired_difference(0, 1, 44)
    assert (low, high) == pytest.approx((-0.0600, 0.1184), abs=0.002)


def test_statsmodels_agrees_on_tango() -> None:
    """statsmodels has no paired interval: its score equation is solved here by brute force instead."""

    def score(only_first: int, only_second: int, tasks: int, difference: float) -> float:
        a = 2 * tasks
        b = -only_second - only_first + (2 * tasks - only_second + only_first) * difference
        c = -only_first * difference * (1 - difference)
        share = (np.sqrt(b * b - 4 * a * c) - b) / (2 * a)
        return (only_second - only_first - tasks * difference) / np.sqrt(
            tasks * (2 * share + difference * (1 - difference))
        )

    for counts in [(3, 9, 60), (0, 12, 134), (25, 20, 140), (1, 0, 10)]:
        interval = paired_difference(*counts)
        assert score(*counts, interval.low) == pytest.approx(1.959964, abs=1e-5)
        assert score(*counts, interval.high) == pytest.approx(-1.959964, abs=1e-5)


def test_symmetric_and_inside_the_possible() -> None:
    for counts in [(0, 0, 10), (10, 0, 10), (4, 1, 12), (0, 1, 1)]:
        low, high, _ = paired_difference(*counts)
        turned = paired_difference(counts[1], counts[0], counts[2])
        assert (turned.low, turned.high) == pytest.approx((-high, -low), abs=1e-9)
        assert -1.0 <= low <= (counts[1] - counts[0]) / counts[2] <= high <= 1.0


def test_counts_that_cannot_be() -> None:
    assert paired_difference(0, 0, 0).cause == "no task was played by both"
    with pytest.raises(ValueError, match="discordant of 3 tasks"):
        paired_difference(2, 2, 3)


@pytest.mark.parametrize(("first", "second", "tasks"), [(0.5, 0.6, 60), (0.9, 0.95, 134)])
@pytest.mark.parametrize("likeness", [0.0, 0.5])
def test_95_percent_of_paired_intervals_hold_the_truth(
    first: float, second: float, tasks: int, likeness: float
) -> None:
    def interval(rng: Rng):
        shared = rng.uniform(size=tasks)
        own = rng.uniform(size=(2, tasks))
        draws = np.where(rng.uniform(size=(2, tasks)) < likeness, shared, own)
        won = draws < np.array([[first], [second]])
        return paired_difference(int((won[0] & ~won[1]).sum()), int((won[1] & ~won[0]).sum()), tasks)

    assert 0.93 <= coverage(interval, second - first, 2000, seed=3) <= 0.97


@pytest.mark.parametrize(("first", "second", "tasks"), [(0.5, 0.6, 60), (0.9, 0.95, 134)])
def test_95_percent_of_unpaired_intervals_hold_the_truth(first: float, second: float, tasks: int) -> None:
    def interval(rng: Rng):
        won = rng.binomial(tasks, first), rng.binomial(tasks, second)
        return unpaired_difference(
            won[0] / tasks, wilson(int(won[0]), tasks), won[1] / tasks, wilson(int(won[1]), tasks)
        )

    assert 0.93 <= coverage(interval, second - first, 2000, seed=4) <= 0.97
