"""Episodes as the viewer's page reads them: small JSON objects, in which what is usual is left out."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from ...agents.trajectory import Trajectory, Turn
from ..admissible import admissible_to_record
from ..episode import Episode
from .tokens import TokenTexts

_GOAL = re.compile(r"^Your task is to: (.+?)\.?\s*$", re.MULTILINE)
_GOAL_CHARACTERS = 240
# Log-probabilities are written as whole hundredths: a shade needs no more, and pages with many tokens stay small.
_PER_NAT = 100

JsonObject = dict[str, object]


class Prepared(NamedTuple):
    """An episode in two parts: its line in the list, and what is read when it is opened."""

    row: JsonObject
    body: JsonObject


def prepare(episode: Episode, texts: TokenTexts | None) -> Prepared:
    """Makes the records of one episode.

    Args:
        episode: The episode.
        texts: Makes texts of its tokens, or None where no tokenizer is at hand.
    """
    played = episode.trajectory
    turns = _turns(played.turns, texts)
    goals = played.goal_condition_success_rate
    row: JsonObject = {
        "task": played.task_id,
        "sample": played.sample,
        "outcome": played.outcome.value,
        "steps": len(played.turns),
        "invalid": sum(not turn.valid for turn in played.turns),
        "unparsable": sum(turn.unparsable for turn in played.turns),
        "cut": sum(turn.finish == "length" for turn in played.turns),
        "tokens": _generated(played.turns),
        "goals": None if math.isnan(goals) else round(goals, 4),
        "shortest": episode.shortest,
    }
    body: JsonObject = {"seed": played.seed, "turns": turns, "final": played.final_observation}
    admissible = admissible_to_record([turn.admissible_commands for turn in played.turns])
    if admissible is not None:
        body["admissible"] = admissible
    for key in ("reason", "answer", "verdict"):
        if getattr(played, key):
            body[key] = getattr(played, key)
    return Prepared(row, body)


def goal_of(played: Trajectory) -> str:
    """What is asked for: the sentence in ALFWorld's first observation, else the first paragraph of that observation."""
    if not played.turns:
        return ""
    observation = played.turns[0].observation
    found = _GOAL.search(observation)
    text = " ".join((found[1] if found else observation.strip().partition("\n\n")[0]).split())
    return text if len(text) <= _GOAL_CHARACTERS else text[: _GOAL_CHARACTERS - 1].rstrip() + "…"


def _turns(turns: Sequence[Turn], texts: TokenTexts | None) -> list[JsonObject]:
    records = []
    before: tuple[int, ...] = ()
    for turn in turns:
        record = _turn(turn)
        if turn.prompt_ids is not None:
            record["prompt"] = _prompt(turn.prompt_ids, before, texts)
        if turn.response_ids is not None:
            record["tokens"] = _tokens(turn, texts)
        records.append(record)
        before = (turn.prompt_ids or ()) + (turn.response_ids or ())
    return records


def _turn(turn: Turn) -> JsonObject:
    record: JsonObject = {"observation": turn.observation, "action": turn.action}
    if not turn.valid:
        record["invalid"] = True
    if turn.reward:
        record["reward"] = turn.reward
    if turn.reply is not None:
        record["reply"] = turn.reply
    if turn.unparsable:
        record["unparsable"] = True
    if turn.remarks:
        record["remarks"] = list(turn.remarks)
    if turn.finish is not None:
        record["finish"] = turn.finish
    if turn.snapped_from is not None:
        record["snapped_from"] = turn.snapped_from
    if turn.usage is not None:
        record["usage"] = [turn.usage.prompt, turn.usage.cached, turn.usage.generated]
    if turn.agent_seconds >= 0.01:
        record["seconds"] = round(turn.agent_seconds, 2)
    return record


def _prompt(ids: tuple[int, ...], before: tuple[int, ...], texts: TokenTexts | None) -> JsonObject:
    """The part of a prompt that is new, as most of it was shown in the turn before."""
    start = len(before) if before and ids[: len(before)] == before else 0
    record: JsonObject = {"count": len(ids), "from": start}
    if texts is not None:
        record["text"] = texts.text(ids[start:])
    return record


def _tokens(turn: Turn, texts: TokenTexts | None) -> JsonObject:
    """The tokens of a response. Their texts are lengths into a text, which mostly is the reply that is there anyway."""
    ids = turn.response_ids or ()
    record: JsonObject = {"ids": list(ids)}
    if turn.logprobs is not None:
        record["surprise"] = [_hundredths(value) for value in turn.logprobs]
    if texts is not None:
        pieces = texts.pieces(ids)
        said = "".join(pieces)
        # Another tokenizer than the one that sampled them would show texts that were never said.
        if turn.reply is None or turn.reply.strip() in said:
            record["lengths"] = [len(piece.encode("utf-16-le", "surrogatepass")) // 2 for piece in pieces]
            if said != turn.reply:
                record["said"] = said
    return record


def _hundredths(logprob: float) -> int | None:
    return round(-logprob * _PER_NAT) if math.isfinite(logprob) else None


def _generated(turns: Sequence[Turn]) -> int | None:
    """Tokens that a model has said in an episode, or None where nobody counted them."""
    counts = [
        len(turn.response_ids) if turn.response_ids is not None else turn.usage.generated if turn.usage else None
        for turn in turns
    ]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
