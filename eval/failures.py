"""Why episodes failed, in few lines: failures of one cause are told apart from each other only by the task."""

from collections.abc import Iterable, Sequence

from ..envs.wording import counted
from .results import Result

SHOWN = 3


def failure_lines(results: Iterable[Result], shown: int = SHOWN) -> list[str]:
    """One line for each reason for which episodes ended as ``error`` or ``timeout``, the most frequent first.

    Reasons that differ only by the id of their task are one, with ``…`` for the id and the first task as an example.

    Args:
        results: Episodes of a run.
        shown: How many reasons are written out; a last line counts the others.
    """
    failed = [result for result in results if not result.outcome.finished]
    alike: dict[str, list[Result]] = {}
    for result in failed:
        alike.setdefault(f"{result.outcome.value}: {result.reason.replace(result.task_id, '…')}", []).append(result)
    ranked = sorted(alike.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [f"{len(of_one)} x {_shown(reason, of_one)}" for reason, of_one in ranked[:shown]]
    others = ranked[shown:]
    if others:
        lines.append(f"{counted(len(others), 'other reason')}, see the field reason in episodes.jsonl")
    return lines


def _shown(reason: str, results: Sequence[Result]) -> str:
    first = results[0]
    if len(results) == 1:
        return f"{first.outcome.value}: {first.reason}"
    return f"{reason} (as in {first.task_id})" if first.task_id in first.reason else reason
