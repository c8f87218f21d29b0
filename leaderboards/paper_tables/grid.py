"""A paper's table as lines of texts, the same for every form that it is written in."""

from dataclasses import dataclass
from typing import Final

from ..comparison_words import point_interval, points
from ..numbers import interval
from ..published.record import Published
from .records import Measured, PaperTable, TableCell, TableRow

# What a line holds: a group's name, published numbers, ours, their intervals, and their distance from the published.
BLOCK, PUBLISHED, OURS, INTERVAL, DELTA = "block", "published", "measured", "interval", "delta"
NOT_FOUND: Final = "n/f"


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell as text, not yet escaped.

    Attributes:
        text: What it holds; empty for an empty cell.
        rank: ``best``, ``second`` or empty.
        notes: Numbers of footnotes.
    """

    text: str
    rank: str = ""
    notes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table.

    Attributes:
        kind: What it holds.
        labels: What names it, one a label column; the first also holds the name of a block.
        cells: One a column.
    """

    kind: str
    labels: tuple[Shown, ...]
    cells: tuple[Shown, ...]


def lines_of(table: PaperTable) -> list[Line]:
    """The lines, row by row: a row that was measured has four more below it."""
    lines: list[Line] = []
    group = ""
    width = len(table.table.columns)
    for row in table.rows:
        if row.group and row.group != group:
            group = row.group
            lines.append(Line(BLOCK, _labels(table, Shown(group)), (Shown(""),) * width))
        lines.append(_published(table, row))
        if row.has_measured:
            lines += _measured(table, row)
    return lines


def published_text(result: Published) -> str:
    """A published number as the paper prints it."""
    if not result.found:
        return NOT_FOUND
    text = f"{result.qualifier} {result.value}" if result.qualifier == "about" else f"{result.qualifier}{result.value}"
    return f"{text} ± {result.sd}" if result.sd else text


def measured_text(measured: Measured) -> str:
    """A number of ours with its count: ``36.7 (11/30)``; where it is no plain rate, with its number of tasks."""
    rate = f"{100 * measured.value:.1f}"
    return f"{rate} ({measured.won}/{measured.total})" if measured.won is not None else f"{rate} (n={measured.total})"


def _labels(table: PaperTable, first: Shown) -> tuple[Shown, ...]:
    return (first, *(Shown("") for _ in table.headers[1:]))


def _published(table: PaperTable, row: TableRow) -> Line:
    names = [Shown(label) for label in row.labels]
    names[0] = Shown(names[0].text, "", row.notes)
    return Line(
        PUBLISHED,
        tuple(names),
        tuple(
            Shown("") if cell.published is None else Shown(published_text(cell.published), cell.rank, cell.notes)
            for cell in row.cells
        ),
    )


def _measured(table: PaperTable, row: TableRow) -> list[Line]:
    ours = [cell.measured for cell in row.cells]
    blank = Shown("")
    return [
        Line(
            OURS,
            _labels(table, Shown("measured here", "", row.measured_notes)),
            tuple(blank if each is None else Shown(measured_text(each)) for each in ours),
        ),
        Line(
            INTERVAL,
            _labels(table, Shown("95% interval")),
            tuple(blank if each is None else Shown(interval(each.interval)) for each in ours),
        ),
        Line(
            DELTA,
            _labels(table, Shown("minus published")),
            tuple(blank if each is None else Shown(points(each.delta)) for each in ours),
        ),
        Line(
            INTERVAL,
            _labels(table, Shown("95% interval")),
            tuple(_difference_interval(cell) for cell in row.cells),
        ),
    ]


def _difference_interval(cell: TableCell) -> Shown:
    measured = cell.measured
    if measured is None or not measured.delta.defined:
        return Shown("")
    return Shown(point_interval(measured.delta_interval), "", cell.difference_notes)


def causes_of(table: PaperTable) -> list[str]:
    """Why deltas are undefined, a sentence each."""
    found: list[str] = []
    for row in table.rows:
        for column, cell in zip(table.table.columns, row.cells, strict=True):
            if cell.measured is not None and not cell.measured.delta.defined:
                found.append(f"{row.name}, {column.title}: no difference, as {cell.measured.delta.cause}.")
    return found
