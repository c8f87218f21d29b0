"""What is measured over a set of episodes. Pure functions; undefined is NaN with a stated cause."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..agents.trajectory import Outcome
from .bootstrap import bootstrap_rate
from .intervals import Interval, wilson
from .repeated import AtK, at_every_k, attempts
from .results import Result
from .value import Value, ratio

FAILURE_RULE = "failed_left_out"
FAILURE_RULE_TEXT = (
    "episodes that ended as error or timeout say nothing about the agent: they are left out of every rate "
    "and mean, counted as errors and timeouts, and played again by --resume; "
    "success_rate_failed_as_lost counts them as not won instead"
)

WILSON = "wilson"
CLUSTER_BOOTSTRAP = "cluster_bootstrap"

NOTHING_FINISHED = "no episode finished"
NOTHING_WON = "no episode was won"
NO_PLAN_LENGTH = "the shortest plan of some won task is not known"
NO_COMMAND = "no command was given"
NO_REPLY = "no language model replied"
NOT_COUNTED = "the tokens of some episode were not counted"


@dataclass(frozen=True, slots=True)
class Metrics:
    """The numbers of one task type, or of a whole run.

    Attributes:
        tasks: Number of tasks.
        expected: Number of episodes to be played.
        finished: Episodes that the agent ended, whatever the outcome but ``error`` and ``timeout``. The ``total`` of
            every rate.
        won: Episodes won.
        errors: Episodes that ended as ``error``.
        timeouts: Episodes that ended as ``timeout``.
        success_rate: won / finished.
        interval: 95% interval of ``success_rate``.
        method: How it was made: ``wilson`` where each task is played once, or ``cluster_bootstrap``, because samples of
            one task are alike (for few tasks or rare events see ``bootstrap_rate``).
        success_rate_failed_as_lost: won / (finished + errors + timeouts).
        mean_steps: Commands an episode, over finished episodes.
        invalid_command_rate: Commands that were not admissible / all commands, over finished episodes.
        unparsable_reply_rate: Replies of a language model that held no command / all its replies.
        cut_reply_rate: Replies that were cut at a limit of tokens / all replies.
        path_efficiency: Mean over won episodes of (length of the shortest plan / commands given); 1 is the
            best possible with full knowledge of the game. Episodes not won have no path and are left out.
        goal_condition_success_rate: Mean share of goal conditions that held at the end, over finished
            episodes.
        prompt_tokens_per_episode: Tokens of all prompts of a finished episode, cached ones included.
        generated_tokens_per_episode: Tokens of all replies of a finished episode.
        prompt_tokens_per_success: Tokens of all prompts of the finished episodes / episodes won.
        generated_tokens_per_success: Tokens of all replies of the finished episodes / episodes won.
        at_k: pass@k and its kin for k = 1 to 8, 16, 32, ... and the number of samples; empty for one sample a task.
    """

    tasks: int
    expected: int
    finished: int
    won: int
    errors: int
    timeouts: int
    success_rate: Value
    interval: Interval
    method: str
    success_rate_failed_as_lost: Value
    mean_steps: Value
    invalid_command_rate: Value
    unparsable_reply_rate: Value
    cut_reply_rate: Value
    path_efficiency: Value
    goal_condition_success_rate: Value
    prompt_tokens_per_episode: Value
    generated_tokens_per_episode: Value
    prompt_tokens_per_success: Value
    generated_tokens_per_success: Value
    at_k: tuple[AtK, ...]

    @property
    def failed(self) -> int:
        """Episodes that the machinery, not the agent, ended."""
        return self.errors + self.timeouts

    @property
    def missing(self) -> int:
        """Episodes that have not been played yet."""
        return self.expected - self.finished - self.failed


def measure(
    results: Sequence[Result], tasks: int, samples: int = 1, *, expected: int | None = None, votes: bool = False
) -> Metrics:
    """Computes the metrics of some results.

    Args:
        results: Each task and sample at most once.
        tasks: Number of tasks that were to be played.
        samples: Number of times that each was to be played.
        expected: Number of episodes to be played, where it is not tasks times samples: a panel that was drawn at random
            holds some tasks several times.
        votes: Whether episodes end with an answer, so that samples can vote.
    """
    expected = tasks * samples if expected is None else expected
    finished = [result for result in results if result.outcome.finished]
    outcomes = Counter(result.outcome for result in results)
    won = outcomes[Outcome.WON]
    once = expected <= tasks
    steps = sum(result.steps for result in finished)
    replies = sum(result.replies for result in finished)
    prompt, generated = _tokens(finished, replies)
    return Metrics(
        tasks=tasks,
        expected=expected,
        finished=len(finished),
        won=won,
        errors=outcomes[Outcome.ERROR],
        timeouts=outcomes[Outcome.TIMEOUT],
        success_rate=ratio(won, len(finished), NOTHING_FINISHED),
        interval=wilson(won, len(finished)) if once else _clustered(finished),
        method=WILSON if once else CLUSTER_BOOTSTRAP,
        success_rate_failed_as_lost=ratio(won, len(results), NOTHING_FINISHED),
        mean_steps=ratio(steps, len(finished), NOTHING_FINISHED),
        invalid_command_rate=ratio(sum(result.invalid_commands for result in finished), steps, NO_COMMAND),
        unparsable_reply_rate=ratio(sum(result.unparsable_replies for result in finished), replies, NO_REPLY),
        cut_reply_rate=ratio(sum(result.cut_replies for result in finished), replies, NO_REPLY),
        path_efficiency=path_efficiency(results),
        goal_condition_success_rate=ratio(
            math.fsum(result.goal_condition_success_rate for result in finished),
            len(finished),
            NOTHING_FINISHED,
        ),
        prompt_tokens_per_episode=per(prompt, len(finished), NOTHING_FINISHED),
        generated_tokens_per_episode=per(generated, len(finished), NOTHING_FINISHED),
        prompt_tokens_per_success=per(prompt, won, NOTHING_WON),
        generated_tokens_per_success=per(generated, won, NOTHING_WON),
        at_k=() if samples == 1 else at_every_k(finished, tasks, samples, votes=votes),
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


def per(total: Value, count: int, cause: str) -> Value:
    """A total divided by a count; undefined if the total is, or for the given cause where the count is 0."""
    return ratio(total.value, count, cause) if total.defined else total


def _tokens(finished: Sequence[Result], replies: int) -> tuple[Value, Value]:
    """Tokens of all prompts and of all replies."""
    if not replies:
        return Value.undefined(NO_REPLY), Value.undefined(NO_REPLY)
    usages = [result.usage for result in finished if result.replies]
    counted = [usage for usage in usages if usage is not None]
    if len(counted) < len(usages):
        return Value.undefined(NOT_COUNTED), Value.undefined(NOT_COUNTED)
    return Value(float(sum(usage.prompt for usage in counted))), Value(float(sum(usage.generated for usage in counted)))


def _clustered(finished: Sequence[Result]) -> Interval:
    """Interval of the success rate where a task is played several times."""
    tasks = list(attempts(finished).values())
    return bootstrap_rate([task.won for task in tasks], [task.samples for task in tasks])
