"""Paper tables as HTML: a section each, and a page of them that opens from disk, without scripts or links elsewhere."""

from collections.abc import Sequence
from html import escape

from ..numbers import plain
from .grid import BLOCK, OURS, PUBLISHED, Line, Shown, causes_of, lines_of
from .records import BEST, SECOND, PaperTable

STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .2rem; }
.place { margin: 0 0 .5rem; opacity: .75; }
.paper-table { overflow-x: auto; }
.paper-table table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
.paper-table th, .paper-table td { padding: .3rem .6rem; text-align: right; white-space: nowrap; }
.paper-table .label { background: Canvas; }
.paper-table th.label, .paper-table td.label { text-align: left; }
.paper-table .label:first-child { position: sticky; left: 0; z-index: 1; }
.paper-table tr.block span { position: sticky; left: .6rem; }
.paper-table thead th { border-top: 2px solid; border-bottom: 1px solid; }
.paper-table tbody:last-child tr:last-child > * { border-bottom: 2px solid; }
.paper-table tr.block th { text-align: left; font-style: italic; border-top: 1px solid #8888; }
.paper-table tr.measured td, .paper-table tr.interval td, .paper-table tr.delta td {
  background: linear-gradient(#4a86e81f, #4a86e81f), Canvas; }
.paper-table tr.measured td.label, .paper-table tr.interval td.label, .paper-table tr.delta td.label {
  padding-left: 1.6rem; }
.paper-table tr.interval td { font-size: .88em; opacity: .85; padding-top: 0; }
.paper-table tr.interval td.label { padding-left: 2.6rem; opacity: 1; }
.paper-table sup { font-size: .7em; line-height: 0; opacity: .75; }
.notes { font-size: .85rem; max-width: 60rem; padding-left: 1.6rem; overflow-wrap: anywhere; }
.notes li { margin: .15rem 0; }
.remarks { font-size: .85rem; max-width: 60rem; opacity: .8; overflow-wrap: anywhere; }
.remarks p { margin: .15rem 0; }
@media (max-width: 44rem) {
  body { margin: 1rem auto; }
  .paper-table th, .paper-table td { padding: .3rem .45rem; font-size: .9rem; }
  .paper-table .label { white-space: normal; overflow-wrap: anywhere; min-width: 4rem; }
  .paper-table .label:first-child { min-width: 7.4rem; border-right: 1px solid #8888; }
  .paper-table tr.measured td.label, .paper-table tr.interval td.label, .paper-table tr.delta td.label {
    padding-left: 1rem; }
}
@media print { .paper-table { overflow: visible; } }
""".strip()


def as_html(tables: Sequence[PaperTable]) -> str:
    """A whole page with one section a table."""
    sections = "\n".join(section_as_html(table) for table in tables)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Paper tables</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n"
        f"<h1>Paper tables</h1>\n{sections}\n</body>\n</html>\n"
    )


def section_as_html(table: PaperTable) -> str:
    """One table with its heading, footnotes and sources, to stand in a page that has ``STYLE``."""
    name = table.table.id.replace("/", "-")
    head = "".join(f'<th scope="col" class="label">{_safe(header)}</th>' for header in table.headers)
    head += "".join(f'<th scope="col">{_safe(column.title)}</th>' for column in table.table.columns)
    body = "\n".join(_line(line) for line in lines_of(table))
    notes = "\n".join(
        f'<li id="{name}-note-{number}">{_safe(text)}</li>' for number, text in enumerate(table.footnotes, 1)
    )
    remarks = "\n".join(f"<p>{_safe(remark)}</p>" for remark in (*table.remarks, *causes_of(table)))
    return (
        f'<section id="{name}">\n<h2>{_safe(table.table.id)}: {_safe(table.table.title)}</h2>\n'
        f'<p class="place">{_safe(table.table.place)}</p>\n'
        f'<div class="paper-table" role="region" aria-label="{_safe(table.table.id)}" tabindex="0"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>\n"
        + (f'<ol class="notes">\n{notes}\n</ol>\n' if notes else "")
        + (f'<div class="remarks">\n{remarks}\n</div>\n' if remarks else "")
        + "</section>"
    )


def _line(line: Line) -> str:
    if line.kind == BLOCK:
        width = len(line.labels) + len(line.cells)
        name = f"<span>{_safe(line.labels[0].text)}</span>"
        return f'<tr class="block"><th colspan="{width}" scope="rowgroup">{name}</th></tr>'
    kind = "" if line.kind == PUBLISHED else f' class="{line.kind}"'
    labels = "".join(f'<td class="label">{_cell(label)}</td>' for label in line.labels)
    cells = "".join(f"<td>{_cell(cell, strong=line.kind == OURS)}</td>" for cell in line.cells)
    return f"<tr{kind}>{labels}{cells}</tr>"


def _cell(cell: Shown, *, strong: bool = False) -> str:
    text = _safe(cell.text)
    if cell.rank == BEST:
        text = f"<b>{text}</b>"
    elif cell.rank == SECOND:
        text = f"<u>{text}</u>"
    elif strong and text:
        text = f"<span>{text}</span>"
    marks = ",".join(map(str, cell.notes))
    return f"{text}<sup>{marks}</sup>" if marks else text


def _safe(text: str) -> str:
    return escape(plain(text))
