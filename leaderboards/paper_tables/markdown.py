"""Paper tables as Markdown. Underlining is ``<ins>``, which GitHub keeps; footnotes are ``<sup>`` numbers."""

from collections.abc import Iterable, Sequence

from ..markdown import escape
from ..numbers import plain
from .grid import BLOCK, PUBLISHED, Line, Shown, causes_of, lines_of
from .records import BEST, SECOND, PaperTable


def as_markdown(tables: Sequence[PaperTable]) -> str:
    """One section a table: a heading, the table, its footnotes and where all is from."""
    return "\n".join(_section(table) for table in tables)


def _section(table: PaperTable) -> str:
    headers = [*table.headers, *(column.title for column in table.table.columns)]
    left = len(table.headers)
    rule = ["---" if number < left else "---:" for number in range(len(headers))]
    out = [
        f"### {escape(table.table.id)}: {escape(table.table.title)}",
        "",
        f"{escape(table.table.place)}.",
        "",
        _row(map(escape, headers)),
        _row(rule),
        *(_row(_line(line)) for line in lines_of(table)),
        "",
    ]
    out += [f"<sup>{number}</sup> {escape(text)}  " for number, text in enumerate(table.footnotes, 1)]
    out += [""] if table.footnotes else []
    out += [f"{escape(remark)}  " for remark in (*table.remarks, *causes_of(table))]
    return "\n".join(out).rstrip() + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _line(line: Line) -> list[str]:
    if line.kind == BLOCK:
        return [f"***{escape(line.labels[0].text)}***", *("" for _ in (*line.labels[1:], *line.cells))]
    labels = [_cell(label) for label in line.labels]
    if line.kind != PUBLISHED:
        labels[0] = f"↳ {labels[0]}"
    return [*labels, *(_cell(cell) for cell in line.cells)]


def _cell(cell: Shown) -> str:
    text = escape(plain(cell.text))
    if cell.rank == BEST:
        text = f"**{text}**"
    elif cell.rank == SECOND:
        text = f"<ins>{text}</ins>"
    marks = ",".join(map(str, cell.notes))
    return f"{text}<sup>{marks}</sup>" if marks else text
