"""Runs that are made up with known rates: how often does an interval hold the true one?"""

import math
from collections.abc import Callable

import numpy as np
from holdergym.eval.intervals import Interval
from numpy.typing import NDArray

Rng = np.random.Generator


def coverage(make_interval: Callable[[Rng], Interval], truth: float, runs: int, seed: int) -> float:
    """Share of made-up runs whose interval holds the truth. An undefined interval holds nothing."""
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(runs):
        low, high, _ = make_interval(rng)
        held += low <= truth <= high
    return held / runs


def won_counts(rng: Rng, tasks: int, samples: int, rate: float, likeness: float) -> NDArray[np.int64]:
    """Episodes won of each task, where tasks differ in how hard they are.

    Args:
        rng: Source of chance.
        tasks: Number of tasks.
        samples: Episodes of each.
        rate: Mean success rate.
        likeness: Correlation of two samples of one task; 0 for tasks that are all equally hard.
    """
    if likeness == 0.0:
        return rng.binomial(samples, rate, tasks)
    scale = 1 / likeness - 1
    return rng.binomial(samples, rng.beta(rate * scale, (1 - rate) * scale, tasks))


def is_95_percent(share: float, runs: int) -> bool:
    """Whether a coverage of so many runs is within three standard errors of 95%, on either side."""
    return abs(share - 0.95) <= 3 * math.sqrt(0.95 * 0.05 / runs)
