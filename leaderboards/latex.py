"""Tables as LaTeX, for the package booktabs."""

import re
from collections.abc import Sequence

from ..envs.wording import counted
from ..eval.metrics import Metrics
from .columns import capitalised, measures, shown_types
from .numbers import count, interval, percent, plain
from .rows import Board, Row, type_label
from .side_tables import SideTable, side_tables

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "\\textquotedbl{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
# A hyphen before a number is a minus sign; two hyphens would become a dash.
_MINUS = re.compile(r"(?<![^\s\[(])-(?=\d)")
_DASH = re.compile(r"-(?=-)")


def escape(text: str) -> str:
    """A text as LaTeX shows it: whatever it holds, it is no command, no comment and no new cell."""
    return _DASH.sub("-{}", "".join(_SPECIAL.get(character, character) for character in plain(text)))


def boards_as_latex(boards: Sequence[Board]) -> str:
    """One table a board, and one for each table below it."""
    return "\n".join(_board(board) for board in boards)


def table_as_latex(table: SideTable) -> str:
    """A table of texts, with its title as the caption and its notes below."""
    align = "l" * table.left + "r" * (len(table.headers) - table.left)
    return _table(align, table.headers, table.rows, table.title, table.notes)


def _board(board: Board) -> str:
    headers = ["Agent", "n", "Success %", "95% interval", *(type_label(kind) for kind in shown_types(board.types))]
    headers += [capitalised(column.header) for column in measures(board.env)]
    caption = f"{board.env}, panel {board.panel}: {counted(board.size, 'task')}, sha256 {board.panel_sha256[:12]}"
    caption += f", dialect {board.dialect}" if board.dialect else ""
    notes = [f"{row.agent} ({row.run}): {'; '.join(row.notes)}" for row in board.rows if row.notes]
    main = _table("l" + "r" * (len(headers) - 1), headers, [_cells(board, row) for row in board.rows], caption, notes)
    return "\n".join([main, *(table_as_latex(table) for table in side_tables(board))])


def _cells(board: Board, row: Row) -> list[str]:
    overall = row.overall
    return [
        row.agent,
        str(overall.finished),
        percent(overall.success_rate),
        interval(overall.interval),
        *(_rate(row.by_type[task_type]) for task_type in shown_types(board.types)),
        *(column.cell(overall) for column in measures(board.env)),
    ]


def _rate(metrics: Metrics) -> str:
    return f"{percent(metrics.success_rate)} ({count(metrics)})"


def _table(
    align: str, headers: Sequence[str], rows: Sequence[Sequence[str]], caption: str, notes: Sequence[str] = ()
) -> str:
    lines = [
        r"\begin{table}",
        r"\centering",
        f"\\caption{{{escape(caption)}}}",
        f"\\begin{{tabular}}{{{align}}}",
        r"\toprule",
        f"{' & '.join(map(escape, headers))} \\\\",
        r"\midrule",
        *(f"{' & '.join(map(_cell, row))} \\\\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if notes:
        lines.append(r"\par\smallskip\footnotesize " + r"\\ ".join(map(escape, notes)))
    return "\n".join([*lines, r"\end{table}", ""])


def _cell(text: str) -> str:
    """A cell; one that begins with ``[`` or ``*`` would be an argument of the line before it."""
    escaped = _MINUS.sub("$-$", escape(text))
    return f"{{}}{escaped}" if text.startswith(("[", "*")) else escaped
