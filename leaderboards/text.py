"""Boards and runs as text for a terminal."""

from collections.abc import Sequence

from ..envs.wording import counted
from ..eval.bootstrap import FEW
from ..eval.failures import failure_lines
from ..eval.metrics import WILSON, Metrics
from ..eval.run import Run
from .columns import Column, measures, shown_types
from .endings import ending_notes
from .numbers import count, interval, percent, plain
from .rows import Board, Row, build_boards, sorted_types, type_label
from .side_tables import SideTable, side_tables


def boards_as_text(boards: Sequence[Board]) -> str:
    """One table a board: a row a run, with a second line for the 95% intervals."""
    return "\n\n".join(_board_as_text(board) for board in boards) + "\n"


def run_as_text(run: Run) -> str:
    """The table of one run: a row a task type, and one for all."""
    from tabulate import tabulate

    (board,) = build_boards([run])
    overall, by_type = board.rows[0].overall, board.rows[0].by_type
    columns = measures(run.config.env, with_goals=True)
    named = [(plain(type_label(task_type)), by_type[task_type]) for task_type in sorted_types(by_type)]
    total = [("all types" if "all" in by_type else "all", overall)] if len(named) > 1 else []
    rows = [[name, *_cells(metrics, columns)] for name, metrics in [*named, *total]]
    headers = ["type", "won", "rate %", "95% interval", *(column.header for column in columns)]
    table = tabulate(rows, headers, disable_numparse=True, colalign=("left", *["right"] * (len(headers) - 1)))
    lines = [heading(run.config.env, run.panel.label, len(run.panel.tasks), run.panel.sha256), "", table]
    if overall.failed:
        failed = f"{overall.failed} of {overall.expected} episodes failed (error or timeout)"
        lines.append(f"{failed}: left out of the rates; --resume plays them again")
        lines += [f"  {plain(reason)}" for reason in failure_lines(run.results)]
    lines += ending_notes(run.results)
    if overall.missing:
        lines.append(f"incomplete: {overall.missing} of {overall.expected} episodes are missing")
    if overall.method != WILSON:
        lines += [
            f"{_repeated(run)}: intervals by a bootstrap of whole tasks, as samples of one task are alike;",
            f"  where fewer than {FEW} tasks have a success, or a failure, Wilson's with each task as one attempt",
        ]
    for side in side_tables(board):
        lines += ["", _side(side, with_names=False)]
    return "\n".join(lines) + "\n"


def _repeated(run: Run) -> str:
    return f"{run.config.samples} samples a task" if run.config.samples > 1 else "some tasks were drawn several times"


def _side(table: SideTable, *, with_names: bool) -> str:
    """A table below another one; the names are left out where there is but one run."""
    from tabulate import tabulate

    first = 0 if with_names else table.left
    align = ["left"] * (table.left - first) + ["right"] * (len(table.headers) - table.left)
    rows = [row[first:] for row in table.rows]
    text = tabulate(rows, table.headers[first:], disable_numparse=True, colalign=align)
    return "\n".join([f"{table.title}\n", text, *table.notes])


def heading(env: str, panel: str, size: int, sha256: str) -> str:
    """What the numbers below were measured on."""
    return f"{plain(env)}, panel {plain(panel)}: {counted(size, 'task')}, sha256 {sha256[:12]}"


def _board_as_text(board: Board) -> str:
    from tabulate import tabulate

    types = [plain(type_label(kind)) for kind in shown_types(board.types)]
    headers = ["agent", "success % (95%)", *types, *(column.header for column in measures(board.env)), "run"]
    rows = [_row(board, row) for row in board.rows]
    align = ("left", "left", *["right"] * (len(headers) - 3), "left")
    lines = [
        heading(board.env, board.panel, board.size, board.panel_sha256),
        "",
        tabulate(rows, headers, disable_numparse=True, colalign=align),
    ]
    for row in board.rows:
        if row.notes:
            lines.append(f"{plain(row.agent)} ({plain(row.run)}): {'; '.join(row.notes)}")
        lines += [f"  {plain(reason)}" for reason in row.failures]
    for side in side_tables(board):
        lines += ["", _side(side, with_names=True)]
    return "\n".join(lines)


def _row(board: Board, row: Row) -> list[str]:
    overall = row.overall
    of_types = [row.by_type[kind] for kind in shown_types(board.types)]
    return [
        plain(row.agent),
        f"{percent(overall.success_rate)} {interval(overall.interval)}\n{count(overall)}",
        *(f"{count(metrics)}\n{interval(metrics.interval, 0)}" for metrics in of_types),
        *(column.cell(overall) for column in measures(board.env)),
        plain(row.run),
    ]


def _cells(metrics: Metrics, columns: Sequence[Column]) -> list[str]:
    rate = [count(metrics), percent(metrics.success_rate), interval(metrics.interval)]
    return rate + [column.cell(metrics) for column in columns]
