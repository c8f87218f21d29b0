"""The published tables of papers as pages of the site, each with what was measured beside it."""

from collections.abc import Sequence
from pathlib import Path

from ...envs.wording import counted
from ..audit import audit
from ..paper_tables import PaperTable, Placed, as_latex, as_markdown, paper_table, placed_below, section_as_html
from ..published import TABLES
from ..published.bibliography import papers
from .markup import copies_of, safe, scrolling
from .shell import page

PATH = "papers.html"


def papers_pages(places: Sequence[Path], extra: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Makes a page for each paper, and one that lists them.

    Args:
        places: Folders of runs; what lies at ``PAPER/TABLE/ROW/...`` in one belongs to that row.
        extra: More pages for the navigation.

    Returns:
        Pages by path.

    Raises:
        HolderGymError: If a table or row in such a folder is not known, or a run does not fit its row.
    """
    placed = [found for place in places if place.is_dir() for found in placed_below(place)]
    findings = audit()
    built = [paper_table(table.id, placed, findings) for table in TABLES]
    by_paper: dict[str, list[PaperTable]] = {}
    for table in built:
        by_paper.setdefault(table.table.paper, []).append(table)
    pages = {f"papers/{paper}.html": _paper(paper, tables, extra) for paper, tables in by_paper.items()}
    pages[PATH] = _all(by_paper, placed, extra)
    return pages


def _paper(paper: str, tables: Sequence[PaperTable], extra: Sequence[tuple[str, str]]) -> str:
    sections = "\n".join(
        section_as_html(table) + copies_of((("Markdown", as_markdown([table])), ("LaTeX", as_latex([table]))))
        for table in tables
    )
    contents = "".join(
        f'<li><a href="#{safe(table.table.id.replace("/", "-"))}">{safe(table.table.id)}: '
        f"{safe(table.table.title)}</a></li>"
        for table in tables
    )
    body = (
        f'<p class="kicker"><a href="../{PATH}">Papers</a></p>\n<h1>{safe(_title(paper))}</h1>\n'
        f'<p class="lead">{counted(len(tables), "published table")} in the paper\'s own layout: best bold, second '
        "underlined, a footnote wherever one is needed.</p>\n"
        f'<ul class="contents">{contents}</ul>\n{sections}'
    )
    return page(f"Tables of {paper}", body, at=f"papers/{paper}.html", extra=extra)


def _title(paper: str) -> str:
    known = papers()
    return known[paper].title if paper in known else paper


def _all(by_paper: dict[str, list[PaperTable]], placed: Sequence[Placed], extra: Sequence[tuple[str, str]]) -> str:
    measured = {found.table for found in placed}
    rows = "\n".join(
        f'<tr><th class="l wrap" scope="row"><a href="papers/{paper}.html">{safe(_title(paper))}</a></th>'
        f"<td>{len(tables)}</td><td>{sum(table.table.id in measured for table in tables)}</td></tr>"
        for paper, tables in by_paper.items()
    )
    head = '<th class="l" scope="col">paper</th><th scope="col">tables</th><th scope="col">measured here</th>'
    table = f'<table class="plain">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>'
    body = (
        '<h1>Papers</h1>\n<p class="lead">What papers have published, again in their own layout, with what was '
        "measured "
        "here beside it. Nobody's number is changed; what does not agree in a paper has a footnote that says so.</p>\n"
        f"{scrolling(table, 'Papers')}\n"
        '<p class="note">Published numbers are the papers\'. <code>holdergym table list</code> prints the commands '
        "that "
        "would measure a row, and where to put the runs.</p>"
    )
    return page("Papers", body, at=PATH, extra=extra)
