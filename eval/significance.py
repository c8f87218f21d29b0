"""Tests of whether two agents differ over the same tasks, and the correction for testing several times."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .at_k import Attempts

# Points of the exact distribution that are worked out, and points times sizes of differences, each a multiplication:
# some seconds. Beyond either signs are drawn.
_MOST_POINTS = 1 << 22
_MOST_WORK = 1 << 25
DRAWS = 100_000
# Signs that may be in memory at once.
_AT_ONCE = 4_000_000


class PermutationTest(NamedTuple):
    """The outcome of a permutation test.

    Attributes:
        p: Two-sided p-value.
        exact: Whether all permutations were counted, not a seeded sample of them.
    """

    p: float
    exact: bool


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p-value of McNemar's exact test: two agents played the same tasks once each.

    Under the hypothesis that they are equally good, each task that only one of them won is a fair coin; tasks that
    both won or both lost say nothing. The p-value is twice the smaller tail, at most 1 (McNemar 1947; the exact form
    is a sign test).

    Args:
        only_first: Tasks that only the first one won.
        only_second: Tasks that only the second one won.

    Raises:
        ValueError: If a count is negative.
    """
    if min(only_first, only_second) < 0:
        raise ValueError(f"{only_first} and {only_second} discordant tasks")
    from scipy.special import bdtr

    fewer, discordant = min(only_first, only_second), only_first + only_second
    return min(1.0, 2 * float(bdtr(fewer, discordant, 0.5)))


def paired_permutation(
    first: Sequence[Attempts],
    second: Sequence[Attempts],
    weights: Sequence[int] | None = None,
    *,
    seed: int = 0,
) -> PermutationTest:
    """Tests whether the mean success rate over tasks differs, where tasks were played several times.

    Under the hypothesis that the agents are alike, a task's two rates could as well have been the other way round:
    the sign of each difference is a fair coin (Fisher 1935). Whole tasks change sides, so samples of one task may be
    as alike as they are. For one attempt a task this is McNemar's exact test.

    All sign patterns are counted, by the characteristic function of their sum, with an absolute error below 1e-12
    for up to ten thousand tasks that differ, and below 1e-8 for any number of them.
    Where the numbers of samples have no small common multiple, or the differences too many sizes over too many tasks,
    100,000 patterns are drawn instead.

    Args:
        first: For each task what the first agent did.
        second: The same of the second, in the same order; every task has samples of both.
        weights: What each task weighs in the mean, for example how often it was drawn; equal weights by default.
        seed: Seed of the draws.

    Raises:
        ValueError: If the lengths differ, a task has no sample, or a weight is not positive.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} tasks of the first and {len(second)} of the second")
    if any(task.samples < 1 for task in (*first, *second)):
        raise ValueError("a task without a sample has no rate")
    if weights is not None and (len(weights) != len(first) or min(weights, default=1) < 1):
        raise ValueError(f"{len(first)} tasks need as many weights, each at least 1")
    weights = [1] * len(first) if weights is None else weights
    steps = _whole_differences(first, second, weights)
    if steps is not None:
        moved = np.abs(steps[steps != 0])
        points = 2 * int(moved.sum()) + 1
        if points <= _MOST_POINTS and points * len(np.unique(moved)) <= _MOST_WORK:
            return PermutationTest(_exact(moved, abs(int(steps.sum()))), exact=True)
    differences = np.array(
        [w * (b.won / b.samples - a.won / a.samples) for a, b, w in zip(first, second, weights, strict=True)]
    )
    return PermutationTest(_drawn(differences, seed), exact=False)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's correction: adjusted p-values, in the given order.

    Rejecting where the adjusted value is below 5% keeps the chance of any false rejection among them below 5%,
    however they depend on each other (Holm 1979, Scandinavian Journal of Statistics 6:65).

    Raises:
        ValueError: If a p-value is not between 0 and 1.
    """
    if any(not 0.0 <= p <= 1.0 for p in p_values):
        raise ValueError(f"p-values must be between 0 and 1: {list(p_values)}")
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return tuple(adjusted)


def _whole_differences(
    first: Sequence[Attempts], second: Sequence[Attempts], weights: Sequence[int]
) -> NDArray[np.int64] | None:
    """Weighted differences of the tasks' rates as whole multiples of one step; None where that step is too small."""
    common = math.lcm(*{task.samples for task in (*first, *second)})
    if common > _MOST_POINTS:
        return None
    steps = [
        w * (b.won * (common // b.samples) - a.won * (common // a.samples))
        for a, b, w in zip(first, second, weights, strict=True)
    ]
    return np.array(steps, dtype=np.int64) // max(1, math.gcd(*steps))


def _exact(moved: NDArray[np.int64], observed: int) -> float:
    """Share of all sign patterns whose sum is at least as far from 0 as the observed one."""
    if observed == 0:
        return 1.0
    reach = int(moved.sum())
    points = 2 * reach + 1
    cosines = np.cos(2 * np.pi * np.arange(points) / points)
    # The transform is the same on both sides of 0.
    numbers = np.arange(reach + 1)
    transform = np.ones(reach + 1)
    for size, count in zip(*np.unique(moved, return_counts=True), strict=True):
        # Whole numbers of points are exact where a product with an angle of many turns would not be.
        transform *= cosines[size * numbers % points] ** count
    # Entry s of the distribution belongs to the sum s, and entry points - s to -s.
    distribution = np.fft.irfft(transform, points)
    tail = float(distribution[observed : points - observed + 1].sum())
    return min(1.0, max(tail, 2.0 ** (1 - len(moved))))


def _drawn(differences: NDArray[np.float64], seed: int) -> float:
    """Estimates the same share from seeded draws; the observed pattern is one of them, so it is never 0."""
    rng = np.random.default_rng(seed)
    moved = np.abs(differences[differences != 0])
    # Rounding must not make the observed pattern less extreme than itself.
    observed = abs(float(differences.sum())) * (1 - 1e-12)
    chunk = max(1, _AT_ONCE // max(1, len(moved)))
    extreme = 0
    for start in range(0, DRAWS, chunk):
        signs = rng.integers(0, 2, size=(min(chunk, DRAWS - start), len(moved)), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ moved) >= observed).sum())
    return (1 + extreme) / (1 + DRAWS)
