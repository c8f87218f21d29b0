"""Paper tables as text for a terminal: ``*`` behind the best number, ``~`` behind the second, footnotes in brackets."""

import textwrap
from collections.abc import Sequence

from ..numbers import plain
from .assembling import RANKS
from .grid import BLOCK, PUBLISHED, Line, Shown, causes_of, lines_of
from .records import BEST, SECOND, PaperTable

_MARKS = {BEST: "*", SECOND: "~", "": ""}
_RANKS = "Best published number of a column with *, second with ~"
_WIDTH = 110
# A cell as its text and its marks, which stand in columns of their own so that numbers are aligned.
_Cell = tuple[str, str]


def as_text(tables: Sequence[PaperTable]) -> str:
    """One table after another, each with its footnotes below it."""
    return "\n\n".join(_table(table) for table in tables) + "\n"


def _table(table: PaperTable) -> str:
    left = len(table.headers)
    headers = [(plain(header), "") for header in (*table.headers, *(column.title for column in table.table.columns))]
    lines = _aligned([headers, *(_line(line) for line in lines_of(table))], left)
    out = [
        f"{table.table.id}: {table.table.title} ({table.table.place})",
        "",
        lines[0],
        "-" * max(map(len, lines)),
        *lines[1:],
        "",
    ]
    for number, text in enumerate(table.footnotes, 1):
        mark = f"[{number}] "
        out += textwrap.wrap(plain(text), _WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark))
    for remark in (*table.remarks, *causes_of(table)):
        out += textwrap.wrap(plain(remark.replace(RANKS, _RANKS)), _WIDTH)
    return "\n".join(out)


def _line(line: Line) -> list[_Cell]:
    if line.kind == BLOCK:
        return [(plain(line.labels[0].text), ""), *[("", "")] * (len(line.labels) + len(line.cells) - 1)]
    labels = [_cell(label) for label in line.labels]
    text, marks = labels[0]
    labels[0] = (f"{'  ' if line.kind == PUBLISHED else '    '}{text}", marks)
    return [*labels, *(_cell(cell) for cell in line.cells)]


def _cell(cell: Shown) -> _Cell:
    return plain(cell.text), _MARKS[cell.rank] + "".join(f"[{number}]" for number in cell.notes)


def _aligned(rows: Sequence[Sequence[_Cell]], left: int) -> list[str]:
    """Rows as lines: names to the left with their marks behind them, numbers to the right with theirs outside."""
    lines = [""] * len(rows)
    for number in range(len(rows[0])):
        column = [row[number] for row in rows]
        if number < left:
            texts = [f"{text}{marks}" for text, marks in column]
            width = max(map(len, texts))
            parts = [text.ljust(width) for text in texts]
        else:
            wide, marked = (max(len(cell[part]) for cell in column) for part in (0, 1))
            parts = [f"{text.rjust(wide)}{marks.ljust(marked)}" for text, marks in column]
        lines = [f"{line}  {part}" if number else part for line, part in zip(lines, parts, strict=True)]
    return [line.rstrip() for line in lines]
