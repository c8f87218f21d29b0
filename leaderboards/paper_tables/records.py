"""A published table with what was measured here beside it, before it is written in any form."""

from dataclasses import dataclass

from ...eval.intervals import Interval
from ...eval.run import Run
from ...eval.value import Value
from ..published.layout import Table
from ..published.record import Published

BEST, SECOND = "best", "second"


@dataclass(frozen=True)
class Source:
    """The run that a number of ours is from.

    Attributes:
        run: The run.
        name: How the table names it.
        notes: What a reader must know before comparing, a phrase each.
    """

    run: Run
    name: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """A number of ours, never without its count, interval, panel and run.

    Attributes:
        value: A share.
        interval: Its 95% interval.
        method: How the interval was made.
        won: Episodes won; None where the number is no plain rate.
        total: Episodes, or tasks where the number is no plain rate.
        sources: The runs: one, or one a benchmark for an average.
        delta: This minus the published number, as a share; undefined with its cause where they cannot be compared.
        delta_interval: Its 95% interval.
        published_exact: Whether the interval takes the published number as exact, as its number of problems is not
            stated.
    """

    value: float
    interval: Interval
    method: str
    won: int | None
    total: int
    sources: tuple[Source, ...]
    delta: Value
    delta_interval: Interval
    published_exact: bool = False

    @property
    def whole(self) -> bool:
        """Whether all tasks of the panel, or all draws, were played."""
        runs = [source.run for source in self.sources]
        return all(run.complete and not (run.panel.partial and run.panel.draws is None) for run in runs)


@dataclass(frozen=True)
class TableCell:
    """A cell.

    Attributes:
        published: What the paper prints; None where it has no such cell.
        rank: ``best`` or ``second`` among the published numbers of its column and group; else empty.
        measured: What was measured here; None where there is no run.
        notes: Numbers of the footnotes, from 1.
        difference_notes: Numbers of those of the interval of the difference.
    """

    published: Published | None
    rank: str = ""
    measured: Measured | None = None
    notes: tuple[int, ...] = ()
    difference_notes: tuple[int, ...] = ()


@dataclass(frozen=True)
class TableRow:
    """A row.

    Attributes:
        name: Its name, as in ``Published.row``.
        group: The group within which ranks are given, and under whose name it stands; empty for none.
        labels: What names it, in the order of the headers.
        cells: In the order of the columns.
        notes: Numbers of the footnotes of the row.
        measured_notes: Numbers of those of our numbers in it.
    """

    name: str
    group: str
    labels: tuple[str, ...]
    cells: tuple[TableCell, ...]
    notes: tuple[int, ...] = ()
    measured_notes: tuple[int, ...] = ()

    @property
    def has_measured(self) -> bool:
        """Whether something was measured here."""
        return any(cell.measured is not None for cell in self.cells)


@dataclass(frozen=True)
class PaperTable:
    """The whole table.

    Attributes:
        table: What it is.
        headers: Headers of the labels.
        rows: In the order of the paper.
        footnotes: Their texts; number 1 is the first.
        remarks: What stands below all, unnumbered: sources, marks, how intervals were made.
    """

    table: Table
    headers: tuple[str, ...]
    rows: tuple[TableRow, ...]
    footnotes: tuple[str, ...]
    remarks: tuple[str, ...]
