"""Why episodes failed, in few lines: failures of one cause are told apart from each other only by the task."""

from collections import Counter
from collections.abc import Iterable

from ..envs.wording import counted
from .results import Result

SHOWN = 3


def failure_lines(results: Iterable[Result], shown: int = SHOWN) -> list[str]:
    """One line for each reason for which episodes ended as ``error`` or ``timeout``, the most frequent first.

    Args:
        results: Episodes of a run.
        shown: How many reasons are written out; a last line counts the others.
    """
    failed = [result for result in results if not result.outcome.finished]
    reasons = Counter(f"{result.outcome.value}: {result.reason.replace(result.task_id, 'ID')}" for result in failed)
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{count} x {reason}" for reason, count in ranked[:shown]]
    others = ranked[shown:]
    if others:
        lines.append(f"{counted(len(others), 'other reason')}, see the field reason in episodes.jsonl")
    return lines
