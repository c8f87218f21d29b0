"""The standard error of a success rate, for forms that have a place for one."""

import math
from collections import defaultdict
from collections.abc import Sequence

from ...agents.trajectory import Outcome
from ..results import Result
from ..value import Value

ONE_TASK = "a standard error needs two tasks"


def clustered_standard_error(results: Sequence[Result]) -> Value:
    """Standard error of the success rate over finished episodes, clustered by task.

    ``sqrt(C / (C - 1) * sum over tasks c of (sum over its episodes of (x - mean))^2) / N`` for C tasks and N episodes:
    Miller 2024, "Adding Error Bars to Evals", eq. 4, with the correction for few clusters. Where each task is played
    once it is the sample's standard deviation over ``sqrt(N)``, as lm-evaluation-harness has it. Samples of one task
    are alike, so that without clusters it would be too small.

    Returns:
        The standard error, as a share; undefined for fewer than two tasks with a finished episode.
    """
    by_task: dict[str, list[float]] = defaultdict(list)
    for result in results:
        if result.outcome.finished:
            by_task[result.task_id].append(float(result.outcome is Outcome.WON))
    clusters, episodes = len(by_task), sum(map(len, by_task.values()))
    if clusters < 2:
        return Value.undefined(ONE_TASK)
    mean = math.fsum(math.fsum(values) for values in by_task.values()) / episodes
    squares = math.fsum(math.fsum(value - mean for value in values) ** 2 for values in by_task.values())
    return Value(math.sqrt(squares * clusters / (clusters - 1)) / episodes)
