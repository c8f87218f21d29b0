"""Which tables are known, how much of each is published and measured, and the command for each row that is missing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...envs.wording import counted
from ..numbers import plain
from ..published.benchmarks import AVERAGE, panel_of
from ..published.catalogue import TABLES, find_table
from ..published.data import results_of
from ..published.layout import Table
from ..published.record import Published
from .assembling import paper_table
from .commands import Commands, commands_of
from .placing import Placed, of_table


@dataclass(frozen=True, slots=True)
class RowState:
    """How far a row is measured.

    Attributes:
        row: Its published cells.
        wanted: Columns that a run of ours could fill and none does with all of its panel.
        measured: Columns that a run fills, with a remark where it is only a part.
        commands: What would produce the wanted ones; None where nothing is wanted.
    """

    row: tuple[Published, ...]
    wanted: tuple[str, ...]
    measured: tuple[str, ...]
    commands: Commands | None


@dataclass(frozen=True, slots=True)
class TableState:
    """How far a table is known and measured."""

    table: Table
    found: int
    missing: int
    rows: tuple[RowState, ...]

    @property
    def measured(self) -> int:
        """Rows with a number of ours."""
        return sum(bool(row.measured) for row in self.rows)


def state_of(table_id: str, placed: Sequence[Placed] = ()) -> TableState:
    """What is published and measured of a table.

    Raises:
        UnknownNameError: If there is no such table.
        HolderGymError: If a run does not fit its row.
    """
    table = find_table(table_id)
    results = results_of(table_id)
    shown = paper_table(table_id, placed, findings=())
    rows = []
    for row in shown.rows:
        cells = tuple(result for result in results if result.row == row.name)
        columns = [replace(column, metric=column.metric or cells[0].metric) for column in table.columns]
        ours = {
            column.benchmark: cell.measured.whole
            for column, cell in zip(columns, row.cells, strict=True)
            if cell.measured is not None
        }
        published = {(cell.benchmark, cell.metric) for cell in cells}
        wanted = [
            column
            for column in columns
            if (column.benchmark, column.metric) in published
            and column.unit == "%"
            and column.benchmark != AVERAGE
            and panel_of(column.benchmark)
            and not ours.get(column.benchmark)
        ]
        commands = commands_of(table, cells, wanted) if wanted and table.env else None
        rows.append(
            RowState(
                cells,
                tuple(column.benchmark for column in wanted) if table.env else (),
                tuple(name if whole else f"{name} (in part)" for name, whole in ours.items()),
                commands,
            )
        )
    found = sum(result.found for result in results)
    return TableState(table, found, len(results) - found, tuple(rows))


def overview_as_text(placed: Sequence[Placed] = ()) -> str:
    """One line a table: numbers published and missing, rows, rows measured."""
    from tabulate import tabulate

    states = [state_of(table.id, placed) for table in TABLES]
    rows = [
        (
            state.table.id,
            state.found,
            state.missing or "",
            len(state.rows),
            state.measured or "" if state.table.env else "-",
            state.table.title,
        )
        for state in states
    ]
    headers = ("table", "numbers", "not found", "rows", "measured", "what it shows")
    text = tabulate(rows, headers, colalign=("left", "right", "right", "right", "right", "left"))
    return f"{text}\n\nrows and the commands for them: holdergym table list TABLE...\n"


def tables_as_text(tables: Iterable[str], placed: Sequence[Placed] = ()) -> str:
    """The rows of tables, what is measured of each, and the commands for what is not."""
    return "\n".join(_table(state_of(table_id, placed), placed) for table_id in tables)


def _table(state: TableState, placed: Sequence[Placed]) -> str:
    table = state.table
    lines = [
        f"{table.id}: {table.title} ({table.place})",
        f"  {counted(state.found, 'number')} published"
        + (f", {state.missing} not found" if state.missing else "")
        + (f"; {counted(len(of_table(placed, table.id)), 'run')} of ours" if placed else ""),
    ]
    for row in state.rows:
        lines += ["", f"  {row.row[0].row}"]
        if row.measured:
            lines.append(f"    measured: {', '.join(row.measured)}")
        if row.commands is None:
            lines += [] if row.measured else ["    nothing of ours is measured like this"]
            continue
        lines.append(f"    not measured: {', '.join(row.wanted)}")
        for name, command in (("train", row.commands.train), ("eval", row.commands.evaluate)):
            lines += [f"      {name}: {plain(command)}"] if command else []
        lines += [f"      {row.commands.remark}"] if row.commands.remark else []
    return "\n".join(lines) + "\n"
