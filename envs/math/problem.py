"""A mathematics problem: a task with its statement and gold answers."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import HolderGymError
from ..task import Task


class ProblemError(HolderGymError):
    """A problem file or set that cannot be used as it is."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem.

    Attributes:
        task: Its id (``math/PANEL/ROW``), type (subject or family) and digest.
        statement: What is asked, as the source words it.
        golds: The gold answers; one of them suffices. Several *parts* of an answer are one gold: ``1, 2``.
    """

    task: Task
    statement: str
    golds: tuple[str, ...]


def make_problem(
    panel: str, row: str, statement: str, golds: Sequence[str], type_: str, metadata: Mapping[str, str]
) -> Problem:
    """Makes a problem; its digest covers the statement and the golds, exactly as they are."""
    text = "\0".join((statement, *golds))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Problem(Task(f"math/{panel}/{row}", type_, digest, metadata), statement, tuple(golds))
