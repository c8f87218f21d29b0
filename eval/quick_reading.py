"""Reads what the metrics need of an episode's line, some ten times as fast as the whole episode.

The line is checked by one compiled schema as strictly as ``episode_from_line`` checks it. What that schema does not
take for an episode is given to ``episode_from_line``, which either says what is wrong with it or finds that it is one:
a text with half of a surrogate pair, for example. So a line is read here if and only if it can be read there, and gives
the same result.
"""

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from ..agents.trajectory import Outcome
from ..agents.usage import Usage
from .admissible import fits
from .episode import SCHEMA, episode_from_line
from .journal import read_lines
from .results import Played, Result

_STRICT = ConfigDict(strict=True)
_Count = Annotated[int, Field(ge=0)]
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}


@with_config(_STRICT)
class _Turn(TypedDict):
    observation: str
    action: str
    valid: bool
    reward: float
    agent_seconds: float
    env_seconds: float
    reply: NotRequired[str]
    finish: NotRequired[str | None]
    unparsable: NotRequired[bool]
    remarks: NotRequired[list[str]]
    snapped_from: NotRequired[str]
    usage: NotRequired[tuple[_Count, _Count | None, _Count]]
    prompt_from: NotRequired[_Count]
    prompt_ids: NotRequired[list[int]]
    response_ids: NotRequired[list[int]]
    logprobs: NotRequired[list[object]]


_PLAIN = len(_Turn.__required_keys__)


@with_config(_STRICT)
class _Admissible(TypedDict):
    flips: bool
    commands: list[str]
    turns: list[list[int]]


@with_config(_STRICT)
class _Line(TypedDict):
    schema: Annotated[int, Field(ge=SCHEMA, le=SCHEMA)]
    task_id: str
    task_type: str
    sample: _Count
    seed: _Count
    agent: str
    outcome: str
    reason: str
    goal_condition_success_rate: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None
    shortest: NotRequired[_Count | None]
    turns: list[_Turn]
    admissible_commands: NotRequired[_Admissible]
    final_observation: str
    answer: NotRequired[str | None]
    verdict: NotRequired[str]


class _Replies(NamedTuple):
    """What a language model said in an episode: how often, how often without a command or cut, and its tokens."""

    replies: int
    unparsable: int
    cut: int
    usage: Usage | None


_NO_REPLIES = _Replies(0, 0, 0, None)


def read_played(path: Path) -> Iterator[Played]:
    """Yields the episodes of a journal without their texts; a torn last line is passed over.

    Raises:
        RunError: If a whole line cannot be read; the message has its number and says what is wrong.
    """
    return read_lines(path, played_from_line)


def played_from_line(line: bytes, number: int) -> Played:
    """Reads one line.

    Args:
        line: The line.
        number: Its number, from 1.

    Raises:
        EpisodeFormatError: If it is not an episode.
    """
    try:
        record = _adapter().validate_json(line)
    except ValidationError:
        return Played.of(episode_from_line(line), number)
    outcome = _OUTCOMES.get(record["outcome"])
    turns = record["turns"]
    # The turns of scripted agents have only what every turn must have.
    plain = all([len(turn) == _PLAIN for turn in turns])
    no_rate = record["goal_condition_success_rate"] is None
    admissible = record.get("admissible_commands")
    if admissible is not None and not fits(len(admissible["commands"]), admissible["turns"], len(turns)):
        return Played.of(episode_from_line(line), number)
    if outcome is None or (outcome.finished and no_rate) or not (plain or _tokens_fit(turns)):
        return Played.of(episode_from_line(line), number)
    replies = _NO_REPLIES if plain else _replies(turns)
    return Played(number, record["seed"], record["agent"], _result(record, outcome, replies, number))


@cache
def _adapter() -> TypeAdapter[_Line]:
    assert SCHEMA == 1, "the schema above is that of version 1"
    return TypeAdapter(_Line)


def _tokens_fit(turns: list[_Turn]) -> bool:
    """What the schema cannot say: how the tokens of a turn go with each other and with those before it."""
    seen = 0
    for turn in turns:
        prompt, response, logprobs = turn.get("prompt_ids"), turn.get("response_ids"), turn.get("logprobs")
        if logprobs is not None and (
            response is None or len(response) != len(logprobs) or not all(type(value) is float for value in logprobs)
        ):
            return False
        start = 0
        if prompt is not None and "prompt_from" in turn:
            start = turn["prompt_from"]
            if start not in (0, seen):
                return False
        seen = start + len(prompt or ()) + len(response or ())
    return True


def _replies(turns: list[_Turn]) -> _Replies:
    unparsable = cut = replies = counted = prompt = generated = 0
    cached: int | None = 0
    for turn in turns:
        if "reply" in turn:
            replies += 1
            unparsable += turn.get("unparsable", False)
            cut += turn.get("finish") == "length"
        usage = turn.get("usage")
        if usage is not None:
            counted += 1
            prompt += usage[0]
            cached = None if cached is None or usage[1] is None else cached + usage[1]
            generated += usage[2]
    usage_known = counted and counted >= replies
    return _Replies(replies, unparsable, cut, Usage(prompt, cached, generated) if usage_known else None)


def _result(record: _Line, outcome: Outcome, replies: _Replies, number: int) -> Result:
    turns = record["turns"]
    rate = record["goal_condition_success_rate"]
    return Result(
        task_id=record["task_id"],
        task_type=record["task_type"],
        sample=record["sample"],
        outcome=outcome,
        steps=len(turns),
        invalid_commands=[turn["valid"] for turn in turns].count(False),
        shortest=record.get("shortest"),
        goal_condition_success_rate=math.nan if rate is None else rate,
        last_reward=turns[-1]["reward"] if turns else 0.0,
        replies=replies.replies,
        unparsable_replies=replies.unparsable,
        cut_replies=replies.cut,
        usage=replies.usage,
        agent_seconds=sum([turn["agent_seconds"] for turn in turns]),
        env_seconds=sum([turn["env_seconds"] for turn in turns]),
        answer=record.get("answer"),
        verdict=record.get("verdict"),
        line=number,
        reason=record["reason"],
    )
