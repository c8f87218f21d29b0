"""Intervals for differences and means of rates of which only the counts are known, not which tasks were won.

MOVER, the method of variance estimates recovery (Zou and Donner 2008, Statistics in Medicine 27:1693): each part keeps
its own interval, so that Wilson's lead to Newcombe's hybrid score interval for a difference (Newcombe 1998, Statistics
in Medicine 17:873, method 10).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..eval.intervals import Interval


class Part(NamedTuple):
    """An independent estimate with its interval, and the weight that it has in the sum."""

    weight: float
    value: float
    interval: Interval


def combined(parts: Sequence[Part]) -> tuple[float, Interval]:
    """The weighted sum of independent estimates, with its interval.

    An estimate that is taken as exact has an interval of no width. The sum is not bounded: a difference of two rates
    is between -1 and 1 by itself.

    Raises:
        ValueError: If there is no part.
    """
    if not parts:
        raise ValueError("a sum of no estimates has no interval")
    for part in parts:
        if part.interval.cause:
            return math.nan, Interval(math.nan, math.nan, part.interval.cause)
    total = math.fsum(weight * value for weight, value, _ in parts)
    down, up = [], []
    for weight, value, (low, high, _) in parts:
        below, above = weight * (value - low), weight * (high - value)
        # A negative weight turns the ends around.
        down.append(below if weight >= 0 else above)
        up.append(above if weight >= 0 else below)
    return total, Interval(total - math.hypot(*down), total + math.hypot(*up))
