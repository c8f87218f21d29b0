"""One line of ``episodes.jsonl``: a whole trajectory as JSON, with the version of its form."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..agents.trajectory import Outcome, Trajectory, Turn
from .admissible import admissible_from_record, admissible_to_record
from .fields import EpisodeFormatError, count_of, field_of, share_of
from .turns import turns_from_records, turns_to_records

SCHEMA = 1

_FAILED = frozenset(outcome.value for outcome in Outcome if not outcome.finished)


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
    record: dict[str, object] = {
        "schema": SCHEMA,
        "task_id": played.task_id,
        "task_type": played.task_type,
        "sample": played.sample,
        "seed": played.seed,
        "agent": played.agent,
        "outcome": played.outcome.value,
        "reason": played.reason,
        "goal_condition_success_rate": _known(played.goal_condition_success_rate),
        "shortest": episode.shortest,
        "turns": turns_to_records(played.turns),
        "final_observation": played.final_observation,
    }
    admissible = admissible_to_record([turn.admissible_commands for turn in played.turns])
    if admissible is not None:
        record["admissible_commands"] = admissible
    if played.verdict is not None:
        record["answer"], record["verdict"] = played.answer, played.verdict
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
    schema = field_of(record, "schema", int)
    if schema > SCHEMA:
        raise EpisodeFormatError(
            f"it has schema version {schema} and this version of holdergym reads up to {SCHEMA}: upgrade holdergym"
        )
    if schema < 1:
        raise EpisodeFormatError(f"there is no schema version {schema}")
    trajectory = Trajectory(
        task_id=field_of(record, "task_id", str),
        task_type=field_of(record, "task_type", str),
        sample=count_of(record, "sample"),
        seed=count_of(record, "seed"),
        agent=field_of(record, "agent", str),
        turns=_turns(record),
        outcome=_outcome(field_of(record, "outcome", str)),
        goal_condition_success_rate=_rate_of(record),
        final_observation=field_of(record, "final_observation", str),
        reason=field_of(record, "reason", str),
        answer=None if record.get("answer") is None else field_of(record, "answer", str),
        verdict=field_of(record, "verdict", str) if "verdict" in record else None,
    )
    shortest = None if record.get("shortest") is None else count_of(record, "shortest")
    return Episode(trajectory, shortest)


def _turns(record: Mapping[str, object]) -> tuple[Turn, ...]:
    turns: list[object] = field_of(record, "turns", list)
    if "admissible_commands" not in record:  # an environment without them, or a line of an earlier version
        return turns_from_records(turns)
    return turns_from_records(turns, admissible_from_record(field_of(record, "admissible_commands", dict), len(turns)))


def _known(rate: float) -> float | None:
    """A number as JSON knows it: NaN is null."""
    return None if math.isnan(rate) else rate


def _rate_of(record: Mapping[str, object]) -> float:
    key = "goal_condition_success_rate"
    # Only an episode that failed before it began has none.
    unknown = key in record and record[key] is None and record.get("outcome") in _FAILED
    return math.nan if unknown else share_of(record, key)


def _outcome(name: str) -> Outcome:
    try:
        return Outcome(name)
    except ValueError:
        raise EpisodeFormatError(f"there is no outcome {name!r}") from None
