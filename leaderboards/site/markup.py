"""Pieces of pages: texts, tables and copies. Every text goes through ``safe`` on its way into a page."""

from collections.abc import Iterable, Sequence
from html import escape

from ..latex import table_as_latex
from ..markdown import escape as escape_markdown
from ..numbers import plain
from ..side_tables import SideTable

MOST_CHARACTERS = 2_000
"""Of a text from a run folder: a longer one is cut, and ends with an ellipsis."""


def safe(text: str) -> str:
    """A text as HTML shows it, in an element or an attribute: whatever it holds, it is no markup."""
    text = plain(text.encode("utf-8", "replace").decode())
    return escape(text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…")


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and texts as a list of facts."""
    items = "".join(f"<dt>{safe(name)}</dt><dd>{safe(text)}</dd>" for name, text in rows)
    return f'<dl class="facts">{items}</dl>'


def tags(rows: Iterable[tuple[str, str]]) -> str:
    """Names and short texts in a row."""
    items = "".join(f"<li>{safe(name)} <b>{safe(text)}</b></li>" for name, text in rows)
    return f'<ul class="tags">{items}</ul>'


def plain_table(table: SideTable) -> str:
    """A table of texts."""
    head = "".join(f'<th{_left(table, n)} scope="col">{safe(text)}</th>' for n, text in enumerate(table.headers))
    body = "\n".join(
        "<tr>" + "".join(f"<td{_left(table, n)}>{safe(cell)}</td>" for n, cell in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    notes = "".join(f'<p class="note">{safe(note)}</p>' for note in table.notes)
    return (
        scrolling(
            f'<table class="plain">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>', table.title
        )
        + notes
    )


def scrolling(table: str, name: str) -> str:
    """A table that scrolls sideways where the screen is narrow, with the keyboard too."""
    return f'<div class="scroll" role="region" aria-label="{safe(name)}" tabindex="0">{table}</div>'


def copies(table: SideTable) -> str:
    """The table's Markdown and LaTeX, folded."""
    return copies_of((("Markdown", table_as_markdown(table)), ("LaTeX", table_as_latex(table))))


def copies_of(texts: Sequence[tuple[str, str]]) -> str:
    """Texts to be copied, folded; not cut, as they are meant to be whole."""
    blocks = "".join(f"<h4>{safe(name)}</h4><pre>{escape(text, quote=False)}</pre>" for name, text in texts)
    return f'<details class="copies"><summary>Copy as Markdown or LaTeX</summary>{blocks}</details>'


def table_as_markdown(table: SideTable) -> str:
    """A table of texts as Markdown, under its title."""
    rule = ["---" if number < table.left else "---:" for number in range(len(table.headers))]
    rows = [[_markdown_cell(table, n, cell) for n, cell in enumerate(row)] for row in table.rows]
    lines = [f"| {' | '.join(cells)} |" for cells in ([escape_markdown(text) for text in table.headers], rule, *rows)]
    notes = ["", *(f"- {escape_markdown(note)}" for note in table.notes)] if table.notes else []
    return "\n".join([f"**{escape_markdown(table.title)}**", "", *lines, *notes]) + "\n"


def _markdown_cell(table: SideTable, number: int, cell: str) -> str:
    return escape_markdown(cell) if number < table.left else cell.replace("|", "\\|")


def _left(table: SideTable, number: int) -> str:
    return ' class="l"' if number < table.left else ""
