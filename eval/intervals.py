"""Intervals for success rates."""

import math
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95


class Interval(NamedTuple):
    """An interval for a rate, both ends in [0, 1]; NaN where it is undefined, and ``cause`` says why."""

    low: float
    high: float
    cause: str = ""


def wilson(won: int, total: int, level: float = LEVEL) -> Interval:
    """Wilson's score interval for ``won`` successes in ``total`` independent attempts, one a task.

    Without continuity correction (Wilson 1927, eq. 4). 120 of 128 gives [0.882, 0.968].

    Raises:
        ValueError: If ``won`` is not between 0 and ``total``.
    """
    if not 0 <= won <= total:
        raise ValueError(f"{won} successes in {total} attempts")
    if total == 0:
        return Interval(math.nan, math.nan, "no episode finished")
    return wilson_rate(won / total, total, level)


def wilson_rate(rate: float, total: float, level: float = LEVEL) -> Interval:
    """Wilson's score interval for a rate over ``total`` independent tasks; neither need be a whole count.

    Raises:
        ValueError: If the rate is not between 0 and 1 or ``total`` is not positive.
    """
    if not 0.0 <= rate <= 1.0 or total < 1:
        raise ValueError(f"a rate of {rate} over {total} tasks")
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (rate + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total**2))
    return Interval(0.0 if rate == 0.0 else middle - half, 1.0 if rate == 1.0 else middle + half)
