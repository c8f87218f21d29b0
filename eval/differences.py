"""Intervals for the difference of two success rates, second minus first: positive means that the second is better."""

import math
from collections.abc import Callable
from statistics import NormalDist

from .intervals import LEVEL, Interval

# Halvings of [-1, 1]: what is left is below the spacing of floats.
_HALVINGS = 60


def unpaired_difference(first: float, first_interval: Interval, second: float, second_interval: Interval) -> Interval:
    """Interval of ``second - first`` for two rates measured independently, from the interval of each.

    With Wilson intervals this is Newcombe's hybrid score interval (Newcombe 1998, Statistics in Medicine 17:873,
    method 10); in general it is known as the method of variance estimates recovery.

    Args:
        first: A rate.
        first_interval: Its interval.
        second: The other rate.
        second_interval: Its interval, of the same level.
    """
    for interval in (first_interval, second_interval):
        if interval.cause:
            return interval
    difference = second - first
    below = math.hypot(second - second_interval.low, first_interval.high - first)
    above = math.hypot(second_interval.high - second, first - first_interval.low)
    return Interval(max(-1.0, difference - below), min(1.0, difference + above))


def paired_difference(only_first: float, only_second: float, tasks: float, level: float = LEVEL) -> Interval:
    """Interval of the difference of success rates over the same tasks, each played once by both.

    Tango's score interval (Tango 1998, Statistics in Medicine 17:891): all differences that a score test, which is
    McNemar's test for a difference of 0, does not reject. No number need be whole.

    Args:
        only_first: Tasks that only the first one won.
        only_second: Tasks that only the second one won.
        tasks: All tasks.
        level: Share of such intervals that hold the true difference.

    Raises:
        ValueError: If a count is negative or the discordant tasks are more than all tasks.
    """
    if min(only_first, only_second) < 0 or only_first + only_second > tasks:
        raise ValueError(f"{only_first} and {only_second} discordant of {tasks} tasks")
    if tasks == 0:
        return Interval(math.nan, math.nan, "no task was played by both")
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (only_second - only_first) / tasks

    def statistic(difference: float) -> float:
        return _tango_statistic(only_first, only_second, tasks, difference)

    low = -1.0 if only_first == tasks else _crossing(statistic, -1.0, middle, z)
    high = 1.0 if only_second == tasks else _crossing(statistic, middle, 1.0, -z)
    return Interval(low, high)


def _tango_statistic(only_first: float, only_second: float, tasks: float, difference: float) -> float:
    """Tango's score statistic, which falls as the supposed difference grows."""
    gained = only_second - only_first - tasks * difference
    # The share of tasks that only the first one wins, at its most likely under the supposed difference.
    half = (2 * tasks + only_first - only_second) * difference - only_first - only_second
    root = math.sqrt(max(0.0, half**2 + 8 * tasks * only_first * difference * (1 - difference)))
    share = (root - half) / (4 * tasks)
    variance = tasks * (2 * share + difference * (1 - difference))
    if variance <= 0.0:
        return 0.0 if gained == 0 else math.copysign(math.inf, gained)
    return gained / math.sqrt(variance)


def _crossing(statistic: Callable[[float], float], low: float, high: float, level: float) -> float:
    """Where a falling function crosses a level."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if statistic(middle) > level:
            low = middle
        else:
            high = middle
    return (low + high) / 2
