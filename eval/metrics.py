"""What is measured over a set of episodes. Pure functions; undefined is NaN with a stated cause."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..agents.trajectory import Outcome
from .intervals import Interval, wilson
from .results import Result

FAILURE_RULE = "failed_left_out"
FAILURE_RULE_TEXT = (
    "episodes that ended as error or timeout say nothing about the agent: they are left out of every rate "
    "and mean, counted as errors and timeouts, and played again by --resume; "
    "success_rate_failed_as_lost counts them as not won instead"
)

NOTHING_FINISHED = "no episode finished"
NOTHING_WON = "no episode was won"
NO_PLAN_LENGTH = "the shortest plan of some won task is not known"
NO_COMMAND = "no command was given"
SEVERAL_SAMPLES = "samples of one task are not independent, so Wilson's interval does not hold"


class Value(NamedTuple):
    """A number, or NaN with the cause why it is undefined."""

    value: float
    cause: str = ""

    @classmethod
    def undefined(cls, cause: str) -> "Value":
        """NaN, and why."""
        return cls(math.nan, cause)


@dataclass(frozen=True, slots=True)
class Metrics:
    """The numbers of one task type, or of a whole run.

    Attributes:
        tasks: Number of tasks.
        expected: Number of episodes to be played: tasks times samples.
        finished: Episodes that the agent ended: ``won``, ``lost`` or ``limit``. The ``total`` of every rate.
        won: Episodes won.
        errors: Episodes that ended as ``error``.
        timeouts: Episodes that ended as ``timeout``.
        success_rate: won / finished.
        interval: 95% Wilson interval of ``success_rate``; undefined for several samples a task.
        success_rate_failed_as_lost: won / (finished + errors + timeouts).
        mean_steps: Commands an episode, over finished episodes.
        invalid_command_rate: Commands that were not admissible / all commands, over finished episodes.
        path_efficiency: Mean over won episodes of (length of the shortest plan / commands given); 1 is the
            best possible with full knowledge of the game. Episodes not won have no path and are left out.
        goal_condition_success_rate: Mean share of goal conditions that held at the end, over finished
            episodes.
    """

    tasks: int
    expected: int
    finished: int
    won: int
    errors: int
    timeouts: int
    success_rate: Value
    interval: Interval
    success_rate_failed_as_lost: Value
    mean_steps: Value
    invalid_command_rate: Value
    path_efficiency: Value
    goal_condition_success_rate: Value

    @property
    def failed(self) -> int:
        """Episodes that the machinery, not the agent, ended."""
        return self.errors + self.timeouts

    @property
    def missing(self) -> int:
        """Episodes that have not been played yet."""
        return self.expected - self.finished - self.failed


def measure(results: Sequence[Result], tasks: int, samples: int = 1) -> Metrics:
    """Computes the metrics of some results.

    Args:
        results: Each task and sample at most once.
        tasks: Number of tasks that were to be played.
        samples: Number of times that each was to be played.
    """
    finished = [result for result in results if result.outcome.finished]
    outcomes = Counter(result.outcome for result in results)
    won = outcomes[Outcome.WON]
    errors, timeouts = outcomes[Outcome.ERROR], outcomes[Outcome.TIMEOUT]
    interval = wilson(won, len(finished))
    if samples > 1:
        interval = Interval(math.nan, math.nan, SEVERAL_SAMPLES)
    steps = sum(result.steps for result in finished)
    return Metrics(
        tasks=tasks,
        expected=tasks * samples,
        finished=len(finished),
        won=won,
        errors=errors,
        timeouts=timeouts,
        success_rate=_ratio(won, len(finished), NOTHING_FINISHED),
        interval=interval,
        success_rate_failed_as_lost=_ratio(won, len(results), NOTHING_FINISHED),
        mean_steps=_ratio(steps, len(finished), NOTHING_FINISHED),
        invalid_command_rate=_ratio(sum(result.invalid_commands for result in finished), steps, NO_COMMAND),
        path_efficiency=path_efficiency(results),
        goal_condition_success_rate=_ratio(
            math.fsum(result.goal_condition_success_rate for result in finished),
            len(finished),
            NOTHING_FINISHED,
        ),
    )


def path_efficiency(results: Sequence[Result]) -> Value:
    """Mean over won episodes of shortest / steps; undefined without a won episode or a known plan."""
    won = [result for result in results if result.outcome is Outcome.WON]
    if not won:
        return Value.undefined(NOTHING_WON)
    shares = [result.shortest / result.steps for result in won if result.shortest is not None and result.steps]
    if len(shares) < len(won):
        return Value.undefined(NO_PLAN_LENGTH)
    return Value(math.fsum(shares) / len(shares))


def _ratio(part: float, whole: int, cause: str) -> Value:
    return Value(part / whole) if whole else Value.undefined(cause)
