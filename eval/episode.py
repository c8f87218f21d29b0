"""One line of ``episodes.jsonl``: a whole trajectory as JSON, with the version of its form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from ..agents.trajectory import Outcome, Trajectory, Turn

SCHEMA = 1

ValueT = TypeVar("ValueT")


class EpisodeFormatError(ValueError):
    """A line that is not an episode of this form; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A trajectory with what the panel knows about its task.

    Attributes:
        trajectory: What was played.
        shortest: Number of commands of the shortest plan that wins the task with full knowledge of it, or
            None where no such plan is known.
    """

    trajectory: Trajectory
    shortest: int | None


def episode_to_line(episode: Episode) -> str:
    """Writes an episode as one line of ASCII JSON, ended by a newline.

    ASCII, because a model's reply may hold half of a surrogate pair, which UTF-8 cannot carry.
    """
    played = episode.trajectory
    record = {
        "schema": SCHEMA,
        "task_id": played.task_id,
        "task_type": played.task_type,
        "sample": played.sample,
        "seed": played.seed,
        "agent": played.agent,
        "outcome": played.outcome.value,
        "reason": played.reason,
        "goal_condition_success_rate": played.goal_condition_success_rate,
        "shortest": episode.shortest,
        "turns": [_turn_to_record(turn) for turn in played.turns],
        "final_observation": played.final_observation,
    }
    return json.dumps(record, separators=(",", ":")) + "\n"


def episode_from_line(line: bytes) -> Episode:
    """Reads what ``episode_to_line`` wrote.

    Raises:
        EpisodeFormatError: If the line is not JSON, is of another schema version, lacks a field or has a
            field of the wrong type.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise EpisodeFormatError("it is not JSON") from None
    if not isinstance(record, dict):
        raise EpisodeFormatError("it is not a JSON object")
    schema = _field(record, "schema", int)
    if schema > SCHEMA:
        raise EpisodeFormatError(
            f"it has schema version {schema} and this version of holdergym reads up to {SCHEMA}: upgrade holdergym"
        )
    if schema < 1:
        raise EpisodeFormatError(f"there is no schema version {schema}")
    trajectory = Trajectory(
        task_id=_field(record, "task_id", str),
        task_type=_field(record, "task_type", str),
        sample=_count(record, "sample"),
        seed=_count(record, "seed"),
        agent=_field(record, "agent", str),
        turns=tuple(_turn_from_record(turn) for turn in _field(record, "turns", list)),
        outcome=_outcome(_field(record, "outcome", str)),
        goal_condition_success_rate=_share(record, "goal_condition_success_rate"),
        final_observation=_field(record, "final_observation", str),
        reason=_field(record, "reason", str),
    )
    shortest = None if record.get("shortest") is None else _count(record, "shortest")
    return Episode(trajectory, shortest)


def _turn_to_record(turn: Turn) -> dict[str, object]:
    """The fields of a turn; what only a language model has is left out where there is none."""
    record: dict[str, object] = {
        "observation": turn.observation,
        "action": turn.action,
        "valid": turn.valid,
        "reward": turn.reward,
        "agent_seconds": round(turn.agent_seconds, 6),
        "env_seconds": round(turn.env_seconds, 6),
    }
    tokens = {
        "reply": turn.reply,
        "prompt_ids": turn.prompt_ids,
        "response_ids": turn.response_ids,
        "logprobs": turn.logprobs,
    }
    record.update({key: value for key, value in tokens.items() if value is not None})
    return record


def _turn_from_record(record: object) -> Turn:
    if not isinstance(record, dict):
        raise EpisodeFormatError("a turn is not a JSON object")
    return Turn(
        observation=_field(record, "observation", str),
        action=_field(record, "action", str),
        valid=_field(record, "valid", bool),
        reward=_number(record, "reward"),
        reply=_field(record, "reply", str) if "reply" in record else None,
        prompt_ids=_numbers(record, "prompt_ids", int),
        response_ids=_numbers(record, "response_ids", int),
        logprobs=_numbers(record, "logprobs", float),
        agent_seconds=_number(record, "agent_seconds"),
        env_seconds=_number(record, "env_seconds"),
    )


def _field(record: Mapping[str, object], key: str, kind: type[ValueT]) -> ValueT:
    if key not in record:
        raise EpisodeFormatError(f"the field {key!r} is missing")
    value = record[key]
    # bool is a kind of int in Python, but true is not a count.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise EpisodeFormatError(f"the field {key!r} is {value!r:.60}, which is not a {kind.__name__}")
    return value


def _count(record: Mapping[str, object], key: str) -> int:
    value = _field(record, key, int)
    if value < 0:
        raise EpisodeFormatError(f"the field {key!r} is {value}, which is negative")
    return value


def _number(record: Mapping[str, object], key: str) -> float:
    value = record.get(key)
    return float(value) if type(value) is int else _field(record, key, float)


def _share(record: Mapping[str, object], key: str) -> float:
    value = _number(record, key)
    if not 0.0 <= value <= 1.0:
        raise EpisodeFormatError(f"the field {key!r} is {value}, which is not between 0 and 1")
    return value


def _numbers(record: Mapping[str, object], key: str, kind: type[ValueT]) -> tuple[ValueT, ...] | None:
    if key not in record:
        return None
    values = _field(record, key, list)
    if not all(isinstance(value, kind) for value in values):
        raise EpisodeFormatError(f"the field {key!r} holds something that is not a {kind.__name__}")
    return tuple(values)


def _outcome(name: str) -> Outcome:
    try:
        return Outcome(name)
    except ValueError:
        raise EpisodeFormatError(f"there is no outcome {name!r}") from None
