"""The turns of an episode as JSON.

In a conversation each prompt begins with the prompt and the response before it. So only the rest is written, with the
number of tokens that it goes on from: otherwise the tokens of an episode would grow with the square of its length.
The admissible commands of all turns are written together, by ``admissible``.
"""

from collections.abc import Sequence

import numpy as np

from ..agents.trajectory import Turn
from ..agents.usage import Usage
from .fields import EpisodeFormatError, count_of, field_of, number_of, values_of


def turns_to_records(turns: Sequence[Turn]) -> list[dict[str, object]]:
    """The turns as JSON objects; what only a language model has is left out where there is none."""
    records = []
    before: tuple[int, ...] = ()
    for turn in turns:
        records.append(_to_record(turn, before))
        before = _seen(turn)
    return records


def turns_from_records(records: Sequence[object], admissible: Sequence[tuple[str, ...]] = ()) -> tuple[Turn, ...]:
    """Reads what ``turns_to_records`` gave.

    Args:
        records: The JSON objects.
        admissible: The admissible commands of each turn, which are kept beside them (see ``admissible``); or nothing
            for an episode without them.

    Raises:
        EpisodeFormatError: If something is missing or wrong.
    """
    turns: list[Turn] = []
    before: tuple[int, ...] = ()
    for number, record in enumerate(records):
        turns.append(_from_record(record, before, admissible[number] if admissible else ()))
        before = _seen(turns[-1])
    return tuple(turns)


def _seen(turn: Turn) -> tuple[int, ...]:
    """All that the model has seen and said at the end of a turn."""
    return (turn.prompt_ids or ()) + (turn.response_ids or ())


def _to_record(turn: Turn, before: tuple[int, ...]) -> dict[str, object]:
    record: dict[str, object] = {
        "observation": turn.observation,
        "action": turn.action,
        "valid": turn.valid,
        "reward": turn.reward,
        "agent_seconds": round(turn.agent_seconds, 6),
        "env_seconds": round(turn.env_seconds, 6),
    }
    if turn.reply is not None:
        record["reply"] = turn.reply
        record["finish"] = turn.finish
        record["unparsable"] = turn.unparsable
        record["remarks"] = list(turn.remarks)
    if turn.snapped_from is not None:
        record["snapped_from"] = turn.snapped_from
    if turn.usage is not None:
        record["usage"] = [turn.usage.prompt, turn.usage.cached, turn.usage.generated]
    if turn.prompt_ids is not None:
        goes_on = bool(before) and turn.prompt_ids[: len(before)] == before
        record["prompt_from"] = len(before) if goes_on else 0
        record["prompt_ids"] = turn.prompt_ids[len(before) :] if goes_on else turn.prompt_ids
    if turn.response_ids is not None:
        record["response_ids"] = turn.response_ids
    if turn.logprobs is not None:
        record["logprobs"] = [_shortest(value) for value in turn.logprobs]
    return record


def _from_record(record: object, before: tuple[int, ...], admissible: tuple[str, ...]) -> Turn:
    if not isinstance(record, dict):
        raise EpisodeFormatError("a turn is not a JSON object")
    response_ids = values_of(record, "response_ids", int)
    logprobs = values_of(record, "logprobs", float)
    if logprobs is not None and (response_ids is None or len(logprobs) != len(response_ids)):
        raise EpisodeFormatError("the fields 'response_ids' and 'logprobs' are not of the same length")
    return Turn(
        observation=field_of(record, "observation", str),
        action=field_of(record, "action", str),
        valid=field_of(record, "valid", bool),
        reward=number_of(record, "reward"),
        reply=field_of(record, "reply", str) if "reply" in record else None,
        prompt_ids=_prompt_ids(record, before),
        response_ids=response_ids,
        # Written with as many digits as tell numbers of float32 apart; read as the very same numbers.
        logprobs=None if logprobs is None else tuple(np.asarray(logprobs, dtype=np.float32).tolist()),
        agent_seconds=number_of(record, "agent_seconds"),
        env_seconds=number_of(record, "env_seconds"),
        finish=None if record.get("finish") is None else field_of(record, "finish", str),
        unparsable=field_of(record, "unparsable", bool) if "unparsable" in record else False,
        remarks=values_of(record, "remarks", str) or (),
        snapped_from=field_of(record, "snapped_from", str) if "snapped_from" in record else None,
        usage=_usage(record),
        admissible_commands=admissible,
    )


def _prompt_ids(record: dict[str, object], before: tuple[int, ...]) -> tuple[int, ...] | None:
    ids = values_of(record, "prompt_ids", int)
    if ids is None or "prompt_from" not in record:
        return ids
    start = count_of(record, "prompt_from")
    if start not in (0, len(before)):
        raise EpisodeFormatError(f"a prompt goes on from token {start}, but {len(before)} tokens were seen before it")
    return before[:start] + ids


def _usage(record: dict[str, object]) -> Usage | None:
    if "usage" not in record:
        return None
    match field_of(record, "usage", list):
        case [prompt, cached, generated] if _is_count(prompt) and _is_count(generated):
            if cached is None or _is_count(cached):
                return Usage(prompt, cached, generated)
    raise EpisodeFormatError("the field 'usage' does not hold three counts, of which the second may be null")


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _shortest(value: float) -> float:
    """The number with the fewest digits that is the same in float32, the precision of all samplers."""
    return float(str(np.float32(value)))
