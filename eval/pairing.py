"""Two agents over the same tasks: the difference of their success rates, its interval and its test. Pure functions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .at_k import Attempts
from .bootstrap import FEW, bootstrap_mean
from .differences import paired_difference
from .intervals import Interval
from .significance import mcnemar, paired_permutation
from .value import Value

MCNEMAR = "mcnemar_exact"
PERMUTATION = "paired_permutation"
DRAWN_PERMUTATION = "paired_permutation_drawn"
TANGO = "tango"
CLUSTER_BOOTSTRAP = "cluster_bootstrap"
NO_PAIR = "no task was finished by both"


@dataclass(frozen=True, slots=True)
class Paired:
    """Two runs over the tasks that both have finished at least once.

    Attributes:
        tasks: Number of these tasks.
        left_out: Tasks that only one of the runs, or none, has finished.
        first: Success rate of the first, a mean over tasks, each weighing as often as the panel holds it: in a whole
            run that is the share of all its episodes that were won.
        second: The same of the second.
        difference: second - first, with the same weights.
        interval: 95% interval of the difference.
        interval_method: ``tango`` where each task was played once by both, or fewer than 10 tasks differ, or all do by
            the same (see ``_as_single_attempts``); else ``cluster_bootstrap``.
        better_first: Tasks that the first won more often; where each is played once, those that only the first won.
        better_second: The same of the second.
        test: ``mcnemar_exact`` where each task was played once by both, else ``paired_permutation``, or
            ``paired_permutation_drawn`` where not all sign patterns could be counted.
        p: Two-sided p-value of the test that there is no difference.
    """

    tasks: int
    left_out: int
    first: Value
    second: Value
    difference: Value
    interval: Interval
    interval_method: str
    better_first: int
    better_second: int
    test: str
    p: Value

    @property
    def once(self) -> bool:
        """Whether each task was played once by both."""
        return self.test == MCNEMAR


def pair(
    first: Mapping[str, Attempts],
    second: Mapping[str, Attempts],
    *,
    tasks: int,
    draws: Mapping[str, int] | None = None,
    seed: int = 0,
) -> Paired:
    """Compares two runs task by task.

    Args:
        first: By task what the first agent did; tasks that it has not finished are absent.
        second: The same of the second.
        tasks: Number of tasks that both should have played.
        draws: How often the panel holds each task, its weight; once by default.
        seed: Seed of the draws, where a test or an interval needs any.
    """
    shared = [task_id for task_id in first if task_id in second]
    if not shared:
        nothing = Value.undefined(NO_PAIR)
        undefined = Interval(math.nan, math.nan, NO_PAIR)
        return Paired(0, tasks, nothing, nothing, nothing, undefined, TANGO, 0, 0, MCNEMAR, nothing)
    sides = [first[task_id] for task_id in shared], [second[task_id] for task_id in shared]
    weights = [1 if draws is None else draws[task_id] for task_id in shared]
    whole = sum(weights)
    differences = [b.won / b.samples - a.won / a.samples for a, b in zip(*sides, strict=True)]
    better_first = sum(difference < 0 for difference in differences)
    better_second = sum(difference > 0 for difference in differences)
    once = all(task.samples == 1 for side in sides for task in side)
    if once:
        interval = paired_difference(better_first, better_second, len(shared))
        test, p = MCNEMAR, mcnemar(better_first, better_second)
    else:
        interval = bootstrap_mean(differences, weights, seed=seed)
        p, exact = paired_permutation(*sides, weights, seed=seed)
        test = PERMUTATION if exact else DRAWN_PERMUTATION
    few = not once and (better_first + better_second < FEW or bool(interval.cause))
    if few:
        interval = _as_single_attempts(differences, weights)
    rates = [
        math.fsum(w * task.won / task.samples for task, w in zip(side, weights, strict=True)) / whole for side in sides
    ]
    return Paired(
        tasks=len(shared),
        left_out=tasks - len(shared),
        first=Value(rates[0]),
        second=Value(rates[1]),
        difference=Value(math.fsum(w * d for w, d in zip(weights, differences, strict=True)) / whole),
        interval=interval,
        interval_method=TANGO if once or few else CLUSTER_BOOTSTRAP,
        better_first=better_first,
        better_second=better_second,
        test=test,
        p=Value(p),
    )


def _as_single_attempts(differences: Sequence[float], weights: Sequence[int]) -> Interval:
    """Interval of a mean difference of so few tasks that a bootstrap cannot say how much it may vary.

    A task's difference d lies in [-1, 1], so that its square is at most its size. That bound is met by tasks that were
    played once each: they differ by -1, 0 or 1. So Tango's interval for single attempts, which won as often as the
    rates say, is not too narrow, however many samples there are. Tasks of unequal weight count as
    ``sum(w)^2 / sum(w^2)`` (Kish 1965, "Survey Sampling").
    """
    whole = sum(weights)
    tasks = whole**2 / sum(w * w for w in weights)
    pairs = list(zip(weights, differences, strict=True))
    first = tasks * math.fsum(w * max(0.0, -d) for w, d in pairs) / whole
    second = tasks * math.fsum(w * max(0.0, d) for w, d in pairs) / whole
    return paired_difference(first, min(second, tasks - first), tasks)
