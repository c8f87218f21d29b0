"""Whether an episode's outcome follows from its turns, as far as a folder alone can say. Pure functions."""

import math
from collections.abc import Iterator

from ...agents.language_model_settings import LanguageModelSettings
from ...agents.trajectory import Outcome, Trajectory, Turn
from ...eval.config import EvalConfig
from ...eval.episode import Episode

_EARLY = (Outcome.TOKENS, Outcome.CONTEXT)
_CORRECT = "correct"


def contradictions(episode: Episode, config: EvalConfig) -> Iterator[str]:
    """Says in how many ways an episode contradicts itself or the settings of its run; nothing for a sound one.

    ``eval.results`` has checked before that seed, agent and task belong to the run, and that outcome, goal conditions
    and last reward agree.
    """
    played = episode.trajectory
    yield from _ending(played, config, episode.shortest)
    for number, turn in enumerate(played.turns, start=1):
        for problem in _turn(turn, config):
            yield f"turn {number}: {problem}"


def _ending(played: Trajectory, config: EvalConfig, shortest: int | None) -> Iterator[str]:
    outcome, steps, limit = played.outcome, len(played.turns), config.max_steps
    if limit is not None and steps > limit:
        yield f"it has {steps} turns, and the limit is {limit}"
    if outcome is Outcome.LIMIT and limit is not None and steps != limit:
        yield f"its outcome is 'limit' after {steps} turns, and the limit is {limit}"
    if outcome in (Outcome.WON, Outcome.LOST) and not steps:
        yield f"its outcome is {outcome.value!r} without a turn"
    if bool(played.reason) != (outcome in _EARLY or not outcome.finished):
        yield f"its outcome is {outcome.value!r}, and its reason is {played.reason[:60]!r}"
    if config.env == "alfworld":
        if outcome is Outcome.LOST:
            yield "its outcome is 'lost', and no household game can be lost before the limit of steps"
        if any(turn.reward for turn in played.turns[:-1]):
            yield "a turn before the last one has a reward, and the game would have ended there"
        if outcome is Outcome.WON and shortest is not None and steps < shortest:
            yield f"it is won in {steps} turns, and no plan is shorter than {shortest}"
    elif played.verdict is not None:
        right = played.verdict == _CORRECT
        cut = outcome is Outcome.TOKENS and config.grading is not None and config.grading.cut == "not_won"
        if right != (outcome is Outcome.WON) and not (right and cut):
            yield f"its outcome is {outcome.value!r}, and its verdict is {played.verdict[:40]!r}"
    elif outcome in (Outcome.WON, Outcome.LOST):
        yield f"its outcome is {outcome.value!r} without a verdict"


def _turn(turn: Turn, config: EvalConfig) -> Iterator[str]:
    numbers = (turn.reward, turn.agent_seconds, turn.env_seconds, *(turn.logprobs or ()))
    if not all(map(math.isfinite, numbers)):
        yield "it holds a number that is not finite"
    if min(turn.agent_seconds, turn.env_seconds) < 0:
        yield "it took less than no time"
    commands = turn.admissible_commands
    valid = not turn.unparsable and (not commands or turn.action.strip() in commands)
    if turn.valid != valid and (commands or turn.unparsable):
        yield f"its action is {'' if turn.valid else 'not '}called valid, and {'is' if valid else 'is not'}"
    if isinstance(config.agent, LanguageModelSettings) != (turn.reply is not None):
        yield "a reply is there exactly where a language model played"
    if turn.usage is not None and turn.response_ids is not None and turn.usage.generated != len(turn.response_ids):
        yield f"{turn.usage.generated} tokens are counted, and {len(turn.response_ids)} are there"
