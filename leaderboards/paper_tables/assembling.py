"""Puts a published table together: its rows and marks, our numbers, the audit's findings, and where all is from."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal

from ...eval.intervals import LEVEL
from ..audit import Finding, audit
from ..audit.book import cell as place_of
from ..published.benchmarks import AVERAGE
from ..published.catalogue import find_table
from ..published.data import results_of
from ..published.layout import Column, Table
from ..published.record import Published
from .measuring import measured_cells
from .placing import Placed, of_table
from .records import BEST, SECOND, PaperTable, Source, TableCell, TableRow

_EXACT = "so the interval of the difference takes its number as exact, and is narrower than it should be."
EXACT = f"The paper states no number of problems here, {_EXACT}"
EXACT_AVERAGE = f"The paper does not state the number of problems of each column that it averages over, {_EXACT}"
RANKS = "Best published number of a column bold, second underlined"
_SHOWN = 12


def paper_table(table_id: str, placed: Iterable[Placed] = (), findings: Sequence[Finding] | None = None) -> PaperTable:
    """A published table in its own layout, with our rows beside the published ones.

    Args:
        table_id: For example ``holderpo/2``.
        placed: Runs with the rows that they belong to; those of other tables are left alone.
        findings: What the audit found; None lets it look.

    Raises:
        UnknownNameError: If there is no such table.
        HolderGymError: If a run does not fit its row.
    """
    table = find_table(table_id)
    results = results_of(table_id)
    notes = _Footnotes()
    for finding in audit() if findings is None else findings:
        notes.found(finding, table_id)
    by_row: dict[str, list[Published]] = {}
    for result in results:
        by_row.setdefault(result.row, []).append(result)
    mine = of_table(placed, table_id)
    rows = [_row(table, name, row, [each for each in mine if each.row == name], notes) for name, row in by_row.items()]
    rows = _ranked(table, rows)
    return PaperTable(
        table=table,
        headers=tuple(header for header, field in table.rows if field != table.rank),
        rows=tuple(rows),
        footnotes=tuple(notes.texts),
        remarks=tuple(_remarks(table, results, rows)),
    )


class _Footnotes:
    """Numbers texts in the order in which they are asked for; the same text has one number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._of_cells: dict[tuple[str, str], list[str]] = {}

    def found(self, finding: Finding, table_id: str) -> None:
        """Remembers a finding of the audit for its cells in a table."""
        text = f"Audit, {finding.severity}, {finding.rule}: {finding.message}."
        for cell in finding.cells:
            if cell.table == table_id:
                texts = self._of_cells.setdefault((cell.row, cell.column), [])
                if text not in texts:
                    texts.append(text)

    def of(self, row: str, column: str) -> tuple[int, ...]:
        """Numbers of the findings about a cell, or about a row for an empty column."""
        return tuple(self.number(text) for text in self._of_cells.get((row, column), ()))

    def number(self, text: str) -> int:
        """The number of a text."""
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1


def _row(
    table: Table, name: str, results: Sequence[Published], placed: Sequence[Placed], notes: _Footnotes
) -> TableRow:
    first = results[0]
    columns = [column if column.metric else replace(column, metric=first.metric) for column in table.columns]
    published = {(result.benchmark, result.metric): result for result in results}
    rates = {
        column.benchmark: published[column.benchmark, column.metric]
        for column in columns
        if (column.benchmark, column.metric) in published and column.unit == "%"
    }
    ours = measured_cells(table, [column for column in columns if column.unit == "%"], rates, placed) if placed else {}
    of_row = [notes.of(name, "")] + ([(notes.number(f"{first.note}."),)] if first.found and first.note else [])
    cells = []
    for column in columns:
        result = published.get((column.benchmark, column.metric))
        marks: tuple[int, ...] = ()
        if result is not None:
            where = place_of(result)
            marks = notes.of(name, where.column) if where.column else ()
            if (not result.found and result.note) or (result.note and result.note != first.note):
                marks = (*marks, notes.number(f"{result.note}."))
        measured = ours.get(column.benchmark) if column.unit == "%" else None
        cells.append(TableCell(result, "", measured, tuple(sorted(set(marks)))))
    # An average has the sources of all columns once more.
    provenance = dict.fromkeys(_provenance(source) for measured in ours.values() for source in measured.sources)
    measured_notes = tuple(notes.number(text) for text in provenance)
    return TableRow(
        name=name,
        group=str(getattr(first, table.rank)) if table.rank not in ("", "all") else "",
        labels=tuple(str(getattr(first, field)) for _, field in table.rows if field != table.rank),
        cells=tuple(_with_mark(column, cell, notes) for column, cell in zip(columns, cells, strict=True)),
        notes=tuple(number for numbers in of_row for number in numbers),
        measured_notes=measured_notes,
    )


def _with_mark(column: Column, cell: TableCell, notes: _Footnotes) -> TableCell:
    """The cell with a mark at its difference's interval, where that leaves the noise of the published number out."""
    if cell.measured is None or not cell.measured.published_exact:
        return cell
    text = EXACT_AVERAGE if column.benchmark == AVERAGE else EXACT
    return replace(cell, difference_notes=(notes.number(text),))


def _provenance(source: Source) -> str:
    """One sentence with all that a number of ours needs beside it."""
    run = source.run
    parts = [
        f"Measured here: run {source.name}",
        f"agent {run.manifest.agent_fingerprint}",
        f"panel {run.panel.label} (sha256 {run.panel.sha256[:_SHOWN]})",
        f"settings {run.manifest.config_sha256[:_SHOWN]}",
        *source.notes,
    ]
    return "; ".join(parts) + "."


def _ranked(table: Table, rows: Sequence[TableRow]) -> list[TableRow]:
    """Marks the best and the second best published number of each column, within each group."""
    if not table.rank:
        return list(rows)
    marked = [list(row.cells) for row in rows]
    for number, column in enumerate(table.columns):
        groups: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            groups.setdefault(row.group, []).append(index)
        for members in groups.values():
            for index, rank in _ranks(column, [(index, marked[index][number]) for index in members]).items():
                marked[index][number] = replace(marked[index][number], rank=rank)
    return [replace(row, cells=tuple(cells)) for row, cells in zip(rows, marked, strict=True)]


def _ranks(column: Column, cells: Sequence[tuple[int, TableCell]]) -> dict[int, str]:
    """Ties are all best, or all second; a column with one number has none."""
    if not column.better:
        return {}
    numbers: dict[int, Decimal] = {
        index: cell.published.number
        for index, cell in cells
        if cell.published is not None and cell.published.number is not None and not cell.published.qualifier
    }
    order = sorted(set(numbers.values()), reverse=column.better == "high")
    if len(order) < 2:
        return {}
    ranks = {order[0]: BEST, order[1]: SECOND}
    return {index: ranks[number] for index, number in numbers.items() if number in ranks}


def _remarks(table: Table, results: Sequence[Published], rows: Sequence[TableRow]) -> list[str]:
    remarks = [f"{table.note[:1].upper()}{table.note[1:]}."] if table.note else []
    if any(cell.rank for row in rows for cell in row.cells):
        remarks.append(f"{RANKS}{f', by {table.rank}' if table.rank not in ('', 'all') else ''}.")
    sources: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.found:
            rows_of = sources.setdefault((result.source, result.evidence), [])
            if result.row not in rows_of:
                rows_of.append(result.row)
    for (source, evidence), of in sources.items():
        whole = len(sources) == 1
        remarks.append(f"Published{'' if whole else ' (' + _counted_rows(of) + ')'}: {source} [{evidence}].")
    if any(not result.found for result in results):
        remarks.append("n/f: the paper has a number there, or should, and it was not found; the footnote says why.")
    if any(row.has_measured for row in rows):
        remarks.append(_how_measured())
    return remarks


def _counted_rows(rows: Sequence[str]) -> str:
    return rows[0] if len(rows) == 1 else f"{len(rows)} rows"


def _how_measured() -> str:
    return (
        f"Measured here: won of played, {LEVEL:.0%} interval (Wilson's where each task was played once, else a "
        "bootstrap of whole tasks), and the difference to the published number with an interval by MOVER for two "
        "independent samples."
    )
