"""Boards as Markdown tables."""

import re
from collections.abc import Sequence

from ..envs.wording import counted
from ..eval.metrics import Metrics
from .columns import capitalised, measures, shown_types
from .numbers import count, interval, percent, plain
from .rows import Board, Row, type_label
from .side_tables import SideTable, side_tables


def boards_as_markdown(boards: Sequence[Board]) -> str:
    """One table a board, under a line that names its panel and hash."""
    return "\n".join(_board(board) for board in boards)


def escape(text: str) -> str:
    """A name as it is in Markdown: whatever it holds, it is neither markup nor a new cell or row.

    Markup characters get a backslash; ``<``, ``>`` and ``&`` become entities, as raw HTML is Markdown too.
    """
    text = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]()#+!|~$:@])", r"\\\1", text)


def _board(board: Board) -> str:
    headers = [
        "Agent",
        "n",
        "Success %",
        "95% interval",
        *(escape(type_label(kind)) for kind in shown_types(board.types)),
    ]
    headers += [*(capitalised(column.header) for column in measures(board.env)), "Run"]
    lines = [
        f"**{escape(board.env)}, panel {escape(board.panel)}**: {counted(board.size, 'task')}, "
        f"sha256 `{board.panel_sha256[:12]}`" + (f", dialect {escape(board.dialect)}" if board.dialect else ""),
        "",
        _line(headers),
        _line(["---", *["---:"] * (len(headers) - 2), "---"]),
        *(_line(_cells(board, row)) for row in board.rows),
        "",
        *(f"- {escape(row.agent)} ({escape(row.run)}): {'; '.join(row.notes)}" for row in board.rows if row.notes),
    ]
    for table in side_tables(board):
        lines += ["", f"{escape(table.title)}:", "", *_side(table)]
        lines += ["", *(f"- {escape(note)}" for note in table.notes)] if table.notes else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _side(table: SideTable) -> list[str]:
    rule = ["---" if number < table.left else "---:" for number in range(len(table.headers))]
    rows = [[escape(cell) if number < table.left else cell for number, cell in enumerate(row)] for row in table.rows]
    return [_line(cells) for cells in ([escape(header) for header in table.headers], rule, *rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(board: Board, row: Row) -> list[str]:
    overall = row.overall
    return [
        escape(row.agent),
        str(overall.finished),
        percent(overall.success_rate),
        interval(overall.interval),
        *(_type_cell(row.by_type[task_type]) for task_type in shown_types(board.types)),
        *(column.cell(overall) for column in measures(board.env)),
        escape(row.run),
    ]


def _type_cell(metrics: Metrics) -> str:
    return f"{percent(metrics.success_rate)} ({count(metrics)}) {interval(metrics.interval)}"
