"""Boards as one HTML page that opens from disk: no script, no link to elsewhere."""

from collections.abc import Sequence
from html import escape

from ..envs.wording import counted
from ..eval.metrics import Metrics
from .columns import capitalised, measures, shown_types
from .numbers import count, interval, percent, plain
from .rows import Board, Row, type_label
from .side_tables import SideTable, side_tables

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .2rem; }
p { margin: .2rem 0; opacity: .8; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .55rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap; }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
.side th:last-child, .side td:last-child { text-align: right; }
.side th:nth-child(2), .side td:nth-child(2) { text-align: left; }
small { display: block; opacity: .7; }
code { font-size: .9em; overflow-wrap: anywhere; }
""".strip()


_INTERVALS = "intervals are 95%: Wilson's where each task was played once, else a bootstrap of whole tasks"


def boards_as_html(boards: Sequence[Board]) -> str:
    """A whole page with one table a board."""
    sections = "\n".join(_section(board) for board in boards)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>HölderGym leaderboard</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n"
        f"<h1>HölderGym leaderboard</h1>\n{sections}\n</body>\n</html>\n"
    )


def _section(board: Board) -> str:
    played = [capitalised(column.header) for column in measures(board.env)]
    headers = ["Agent", "Success %", *map(type_label, shown_types(board.types)), *played, "Run"]
    head = "".join(f'<th scope="col">{_safe(header)}</th>' for header in headers)
    body = "\n".join(f"<tr>{_cells(board, row)}</tr>" for row in board.rows)
    notes = "\n".join(
        f"<p>{_safe(row.agent)} ({_safe(row.run)}): {_safe('; '.join(row.notes))}</p>"
        for row in board.rows
        if row.notes
    )
    return (
        f"<h2>{_safe(board.env)}, panel {_safe(board.panel)}</h2>\n"
        f"<p>{counted(board.size, 'task')}, sha256 <code>{_safe(board.panel_sha256)}</code>, "
        + (f"dialect {_safe(board.dialect)}, " if board.dialect else "")
        + f"{_INTERVALS}</p>\n"
        f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>\n'
        f"{notes}\n" + "\n".join(map(_side, side_tables(board)))
    ).rstrip()


def _side(table: SideTable) -> str:
    head = "".join(f'<th scope="col">{_safe(header)}</th>' for header in table.headers)
    body = "\n".join(f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return (
        f'<h3>{_safe(table.title)}</h3>\n<div class="scroll"><table class="side">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
        + "".join(f"\n<p>{_safe(note)}</p>" for note in table.notes)
    )


def _cells(board: Board, row: Row) -> str:
    overall = row.overall
    rates = [_rate(overall), *(_rate(row.by_type[task_type]) for task_type in shown_types(board.types))]
    rest = [*(column.cell(overall) for column in measures(board.env)), _safe(row.run)]
    agent = f'<td title="{_safe(row.agent_fingerprint)}">{_safe(row.agent)}</td>'
    return agent + "".join(f"<td>{cell}</td>" for cell in [*rates, *rest])


def _rate(metrics: Metrics) -> str:
    return f"{percent(metrics.success_rate)}<small>{count(metrics)}</small><small>{interval(metrics.interval)}</small>"


def _safe(text: str) -> str:
    return escape(plain(text))
