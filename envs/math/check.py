"""What is wrong with a problem file: golds that are empty or cannot be graded, repeated problems, and overlaps."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .files import Row, read_rows
from .grader import GoldProblem, Grader

_ABSENT = frozenset({"none", "null", "nan", "n/a"})
_NOT_LETTERS = re.compile(r"[\W_]+")


class Repeat(NamedTuple):
    """Rows that state one problem.

    Attributes:
        ids: Their ids, in the order of the file.
        agree: Whether their golds are the same text.
    """

    ids: tuple[str, ...]
    agree: bool


@dataclass(frozen=True, slots=True)
class Overlap:
    """The rows of a file whose problems another file holds too.

    Attributes:
        against: The other file.
        same: (id here, id there) of statements that are equal but for blanks.
        alike: The same for statements with equal letters and digits, otherwise different.
    """

    against: Path
    same: tuple[tuple[str, str], ...]
    alike: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FileReport:
    """The findings on one problem file.

    Attributes:
        path: The file.
        rows: Number of rows.
        empty: Ids of rows whose gold is empty.
        absent: Ids of rows whose gold is a word for nothing: ``None``, ``null``.
        ungradable: Golds that are not equal to themselves when graded.
        repeats: Problems that stand in the file more than once, by statements equal but for blanks.
        overlaps: What the file shares with others.
    """

    path: Path
    rows: int
    empty: tuple[str, ...]
    absent: tuple[str, ...]
    ungradable: tuple[GoldProblem, ...]
    repeats: tuple[Repeat, ...]
    overlaps: tuple[Overlap, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.empty or self.absent or self.ungradable or self.repeats or self.overlapping)

    @property
    def overlapping(self) -> int:
        """Number of rows that another file holds too, however closely worded."""
        return len({id_ for overlap in self.overlaps for pairs in (overlap.same, overlap.alike) for id_, _ in pairs})


def check_file(path: Path, against: Sequence[Path], grader: Grader) -> FileReport:
    """Checks a problem file.

    Args:
        path: The file.
        against: Files that it should share no problem with: test sets, for a training set.
        grader: Judges the golds against themselves.

    Raises:
        ProblemError: If a file cannot be read.
        GraderError: If the grader's workers do not start.
    """
    rows = read_rows(path)
    others = [(other, read_rows(other)) for other in against]
    empty = [row.id for row in rows if not any(gold.strip() for gold in row.golds)]
    absent = [row.id for row in rows if any(gold.strip().lower() in _ABSENT for gold in row.golds)]
    missing = {*empty, *absent}
    golds = {row.id: row.golds for row in rows if row.id not in missing}
    return FileReport(
        path,
        len(rows),
        tuple(empty),
        tuple(absent),
        tuple(grader.gold_problems(golds)),
        _repeats(rows),
        tuple(_overlap(rows, other, theirs) for other, theirs in others),
    )


def same_wording(statement: str) -> str:
    """A statement with its blanks made single: equal texts ask the same in the same words."""
    return " ".join(statement.split())


def letters_and_digits(statement: str) -> str:
    """The letters and digits of a statement, in lower case: what is left when typesetting differs."""
    return _NOT_LETTERS.sub("", unicodedata.normalize("NFKC", statement).lower())


def _repeats(rows: Sequence[Row]) -> tuple[Repeat, ...]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[same_wording(row.statement)].append(row)
    return tuple(
        Repeat(tuple(row.id for row in group), len({row.golds for row in group}) == 1)
        for group in groups.values()
        if len(group) > 1
    )


def _overlap(rows: Sequence[Row], other: Path, theirs: Sequence[Row]) -> Overlap:
    worded = {same_wording(row.statement): row.id for row in theirs}
    spelled = {letters_and_digits(row.statement): row.id for row in theirs}
    same, alike = [], []
    for row in rows:
        wording = same_wording(row.statement)
        spelling = letters_and_digits(row.statement)
        if wording in worded:
            same.append((row.id, worded[wording]))
        elif spelling in spelled:
            alike.append((row.id, spelled[spelling]))
    return Overlap(other, tuple(same), tuple(alike))
