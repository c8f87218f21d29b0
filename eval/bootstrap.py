"""Intervals for tasks that were played several times: a bootstrap that draws whole tasks.

Samples of one task are alike, so they cannot be drawn one by one. Tasks can: they are the clusters. A resample draws
as many tasks as there are, with replacement, each with all its samples (Davison and Hinkley 1997, section 3.8).

Tasks whose numbers are equal are the same to every statistic here, and there are few different ones: n samples give
at most n + 1 of them. So a resample is one draw of a multinomial distribution over the different tasks. That is the
same distribution, and takes neither time nor memory for the number of tasks. Statistics of the same tasks share their
resamples.

A bootstrap knows no tasks but those at hand. Of two tasks it draws four pairs, and one task won in sixty seems to leave
no room for a second kind. So where fewer than 10 tasks have any success, or fewer than 10 any failure, each task counts
as one attempt in Wilson's interval, as where all tasks are alike (see ``bootstrap_rate``).

Simulated, the 95% intervals hold the true rate in 93% to 97% of runs from 134 tasks on, for rates of 10% to 90% and 2
to 16 samples a task, however alike these are. With fewer tasks, or rates nearer to 0 or 1, it is 93% to 100%: mostly
above 95%, as the samples of a task are taken to be as alike as they could be.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .intervals import LEVEL, Interval, wilson_rate

RESAMPLES = 10_000
# Tasks that must have a success, and as many a failure, for resamples to say how much the rate may vary.
FEW = 10
# A share of subsets that comes out of logarithms may miss 0 or 1 by rounding.
_NEARLY_0 = 1e-12
# Numbers that may be in memory at once: 32 MB.
_AT_ONCE = 4_000_000
# NormalDist.inv_cdf needs a share above 0; two tasks would expand to nearly that.
_SMALLEST_TAIL = 1e-9


def bootstrap_rate(parts: ArrayLike, wholes: ArrayLike, *, level: float = LEVEL, seed: int = 0) -> Interval:
    """Interval of the rate ``sum(parts) / sum(wholes)``, with tasks as clusters.

    BCa (Efron 1987): corrected for bias and for the skewness that rates near 0 or 1 have; and expanded for few tasks
    (see ``expanded_level``). Where fewer than 10 tasks have a success, or a failure, or all have the same rate, no
    bootstrap can say how far the rate may be off: then it is Wilson's interval with each task as one attempt. That is
    not too narrow, however many samples there are: independent rates of tasks lie in [0, 1], so if p is their mean,
    their variance is at most ``p (1 - p)``, that of a single attempt (all samples of a task alike, the design effect
    at its largest; Kish 1965, "Survey Sampling"). Tasks with unequal ``wholes`` count as
    ``sum(w)^2 / sum(w^2)`` (Kish).

    Args:
        parts: For each task what is counted, for example its episodes won.
        wholes: For each task what it is counted of, for example its finished episodes. Tasks with 0 are left out.
        level: Share of such intervals that hold the true rate.
        seed: Seed of the draws: equal seeds and numbers give equal intervals.

    Raises:
        ValueError: If a count is not finite or ``wholes`` holds a negative one.
    """
    rates = bootstrap_rates(np.asarray(parts, dtype=np.float64)[:, None], wholes, level=level, seed=seed)
    return rates[0]


def bootstrap_rates(
    parts: ArrayLike, wholes: ArrayLike, *, level: float = LEVEL, seed: int = 0
) -> tuple[Interval, ...]:
    """Intervals of several rates of the same tasks, made from the same resamples.

    Args:
        parts: One row a task, one column a rate.
        wholes: For each task what all its parts are counted of. Tasks with 0 are left out.
        level: Share of the intervals of one rate that hold its true value.
        seed: Seed of the draws.

    Raises:
        ValueError: As ``bootstrap_rate``.
    """
    parts_TS, wholes_T = _checked(parts, wholes)  # noqa: N806
    if not len(wholes_T):
        return (Interval(math.nan, math.nan, "no episode finished"),) * int(parts_TS.shape[1])
    rates_TS = parts_TS / wholes_T[:, None]  # noqa: N806
    succeed_S = (rates_TS > _NEARLY_0).sum(axis=0)  # noqa: N806
    fail_S = (rates_TS < 1 - _NEARLY_0).sum(axis=0)  # noqa: N806
    few = (np.minimum(succeed_S, fail_S) < FEW) | (np.ptp(rates_TS, axis=0) == 0.0)
    # All columns are resampled, also those that are not asked: which tasks are alike, and so which resamples are drawn,
    # must not depend on how rare a column's successes are.
    resampled = () if few.all() else _bca(parts_TS, wholes_T, level, seed)
    tasks = max(1.0, float(wholes_T.sum() ** 2 / (wholes_T**2).sum()))
    overall_S = parts_TS.sum(axis=0) / wholes_T.sum()  # noqa: N806
    overall_S = np.where(succeed_S == 0, 0.0, np.where(fail_S == 0, 1.0, overall_S))  # noqa: N806
    return tuple(
        wilson_rate(float(rate), tasks, level) if is_few else resampled[column]
        for column, (rate, is_few) in enumerate(zip(overall_S, few, strict=True))
    )


def bootstrap_mean(
    values: ArrayLike, weights: ArrayLike | None = None, *, level: float = LEVEL, seed: int = 0
) -> Interval:
    """Interval of the mean of one number a task, which may have any range: a difference of rates, for example.

    BCa as for ``bootstrap_rate``; undefined where all tasks have the same number.

    Args:
        values: One a task.
        weights: What each task weighs; equal weights by default.
        level: Share of such intervals that hold the true mean.
        seed: Seed of the draws.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not len(numbers):
        return Interval(math.nan, math.nan, "no task was played")
    if np.ptp(numbers) == 0.0:
        return Interval(math.nan, math.nan, "all tasks have the same value, so a bootstrap sees no spread")
    heavy = np.ones(len(numbers)) if weights is None else np.asarray(weights, dtype=np.float64)
    parts_TS, wholes_T = _checked((numbers * heavy)[:, None], heavy)  # noqa: N806
    return _bca(parts_TS, wholes_T, level, seed)[0]


def expanded_level(level: float, tasks: int) -> float:
    """The level at which a bootstrap of so few tasks has intervals that hold as often as the given level says.

    Resamples spread less than samples do, by a factor ``sqrt((n - 1) / n)``, and know nothing of the doubt about their
    own spread, for which Student's t makes up (Hesterberg 2015, The American Statistician 69:371, "expanded percentile
    interval"). For 100 tasks 95% becomes 95.4%, for 10 tasks 98.3%.
    """
    if tasks < 2:
        return level
    # scipy.special loads ten times as fast as scipy.stats.
    from scipy.special import stdtrit

    quantile = math.sqrt(tasks / (tasks - 1)) * float(stdtrit(tasks - 1, (1 + level) / 2))
    return 2 * NormalDist().cdf(quantile) - 1


def _checked(parts: ArrayLike, wholes: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The numbers of the tasks that count."""
    parts_TS = np.asarray(parts, dtype=np.float64)  # noqa: N806
    wholes_T = np.asarray(wholes, dtype=np.float64)  # noqa: N806
    if not (np.isfinite(parts_TS).all() and np.isfinite(wholes_T).all()) or (wholes_T < 0).any():
        raise ValueError("counts of tasks must be finite, and what they are counted of not negative")
    kept = wholes_T > 0
    return parts_TS[kept], wholes_T[kept]


def _bca(
    parts_TS: NDArray[np.float64],  # noqa: N803
    wholes_T: NDArray[np.float64],  # noqa: N803
    level: float,
    seed: int,
) -> Sequence[Interval]:
    """The bias-corrected and accelerated interval of each ratio of sums."""
    kinds, counts = np.unique(np.column_stack([wholes_T, parts_TS]), axis=0, return_counts=True)
    totals = counts @ kinds
    estimates = totals[1:] / totals[0]
    resampled = _resample(kinds, counts, seed)
    accelerations = _accelerations(kinds, counts)
    wider = expanded_level(level, len(wholes_T))
    return [
        _bca_ends(ratios, float(estimate), float(acceleration), wider)
        for ratios, estimate, acceleration in zip(resampled.T, estimates, accelerations, strict=True)
    ]


def _bca_ends(ratios: NDArray[np.float64], estimate: float, acceleration: float, level: float) -> Interval:
    normal = NormalDist()
    # Equal rates may come out of their sums with another last digit.
    slack = 1e-12 * max(1.0, abs(estimate))
    # Half of the ties count as below (as scipy.stats.bootstrap has it); the share stays inside (0, 1).
    below = ((ratios < estimate - slack).mean() + (ratios <= estimate + slack).mean()) / 2
    bias = normal.inv_cdf(min(max(float(below), 1 / RESAMPLES), 1 - 1 / RESAMPLES))
    tail = max((1 - level) / 2, _SMALLEST_TAIL)
    shares = []
    for quantile in (normal.inv_cdf(tail), normal.inv_cdf(1 - tail)):
        shifted = bias + quantile
        shares.append(normal.cdf(bias + shifted / (1 - acceleration * shifted)))
    low, high = np.quantile(ratios, shares)
    return Interval(float(low), float(high))


def _resample(kinds: NDArray[np.float64], counts: NDArray[np.intp], seed: int) -> NDArray[np.float64]:
    """The ratios in each resample: one row a resample, one column a ratio."""
    rng = np.random.default_rng(seed)
    tasks = int(counts.sum())
    chunk = max(1, min(RESAMPLES, _AT_ONCE // len(kinds)))
    ratios = []
    for start in range(0, RESAMPLES, chunk):
        drawn = rng.multinomial(tasks, counts / tasks, size=min(chunk, RESAMPLES - start))
        sums = drawn @ kinds
        ratios.append(sums[:, 1:] / sums[:, :1])
    return np.concatenate(ratios)


def _accelerations(kinds: NDArray[np.float64], counts: NDArray[np.intp]) -> NDArray[np.float64]:
    """For each ratio a sixth of the skewness of the estimates that leave one task out."""
    totals = counts @ kinds
    if counts.sum() < 2:
        return np.zeros(kinds.shape[1] - 1)
    without = (totals[1:] - kinds[:, 1:]) / (totals[0] - kinds[:, :1])
    apart = (counts @ without) / counts.sum() - without
    spread = counts @ apart**2
    skewness: NDArray[np.float64] = counts @ apart**3
    sixths: NDArray[np.float64] = np.divide(skewness, 6 * spread**1.5, out=np.zeros_like(spread), where=spread > 0)
    return sixths
