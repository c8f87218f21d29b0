"""The page of a ranking: ranks, heat map, curves and paired tests."""

from collections.abc import Sequence

from ...envs.wording import counted
from ..side_tables import SideTable, side_tables
from .charts import ranking_charts
from .entries import Ranking
from .heat_map import heat_map, heat_table
from .markup import copies, facts, plain_table, safe
from .pairs_table import MOST_SQUARE, all_pairs, square
from .ranking_table import ranking_as_html, ranking_as_table, ties_in_words
from .shell import figures, page
from .standings import RULE

AT_FIRST = 8
"""Curves that are drawn when a page opens; the others are switched on by their names."""
MOST_OPEN = 12
"""Rows of a table that stands open."""
_DASHES = ("", "6 3", "2 3", "9 3 2 3", "4 2", "1 2", "8 2 1 2")


def path_of(ranking: Ranking) -> str:
    """Where the page stands in the site."""
    return f"rankings/{ranking.slug}.html"


def ranking_page(ranking: Ranking, extra: Sequence[tuple[str, str]]) -> str:
    """Makes the page."""
    up = "../"
    charts = ranking_charts(ranking)
    parts = [
        f'<p class="kicker"><a href="{up}index.html">Leaderboard</a></p>\n<h1>{safe(ranking.title)}</h1>',
        f'<p class="lead">{counted(len(ranking.entries), "run")} over {counted(ranking.board.size, "task")}. '
        f"{ties_in_words(ranking.standings)}</p>",
        ranking_as_html(ranking, up),
        copies(ranking_as_table(ranking)),
        f'<p class="note"><strong>How ranks are made.</strong> {safe(RULE)}</p>',
        _heat(ranking, up),
        _curves(ranking),
        figures(charts, [_numbers(chart.numbers) for chart in charts]),
        _pairs(ranking, up),
        *(
            f"<h2>{safe(heading_of(table.title))}</h2>\n{folded(table)}{copies(table)}"
            for table in side_tables(ranking.board)
        ),
        "<h2>What all runs have in common</h2>",
        facts(ranking.conditions),
        f'<p class="links"><a href="{up}tables/{ranking.slug}.md">Markdown</a><a '
        f'href="{up}tables/{ranking.slug}.tex">LaTeX</a>'
        f'<a href="{up}tables/{ranking.slug}.csv">CSV, in full precision</a></p>',
    ]
    return page(
        ranking.title, "\n".join(part for part in parts if part), at=path_of(ranking), charts=charts, extra=extra
    )


def _numbers(table: SideTable) -> str:
    return f"<details><summary>Numbers</summary>{plain_table(table)}{copies(table)}</details>"


def _heat(ranking: Ranking, up: str) -> str:
    found = heat_map(ranking, up)
    if not found:
        return ""
    return (
        '<h2>Task types</h2>\n<p class="note">Success in percent, with episodes won of those finished; the stronger '
        "the "
        f"shade, the higher. A cell's title has its 95% interval.</p>\n{found}{copies(heat_table(ranking))}"
    )


def _curves(ranking: Ranking) -> str:
    """The names of the curves, which switch them on and off in all pictures at once."""
    chips = "".join(
        f'<button type="button" class="chip" data-chip="{entry.slug}" '
        f'aria-pressed="{"true" if number < AT_FIRST else "false"}">'
        f'<svg aria-hidden="true" viewBox="0 0 22 8"><line class="k{number % 8}" x1="0" y1="4" x2="22" y2="4" '
        f'stroke-dasharray="{_DASHES[number // 8 % len(_DASHES)]}"/></svg>{safe(entry.title)} <span '
        f'class="kicker">{safe(entry.row.run)}</span></button>'
        for number, entry in enumerate(ranking.entries)
    )
    few = f" At first the {AT_FIRST} best are drawn." if len(ranking.entries) > AT_FIRST else ""
    return (
        f'<h2>Curves</h2>\n<p class="note">Switch runs on and off; it holds for all pictures.{few}</p>\n'
        f'<div class="chips" role="group" aria-label="Runs in the pictures" id="chips" hidden>{chips}</div>'
    )


def _pairs(ranking: Ranking, up: str) -> str:
    if len(ranking.entries) < 2:
        return ""
    text = (
        '<h2>Paired comparisons</h2>\n<p class="note">Rate of the run on the left minus that of the run above, in '
        "points, "
        "over the tasks that both finished. ▲ wins more often, ▼ less often, = cannot be told apart, n/c not compared: "
        "played under conditions that forbid it.</p>\n"
    )
    if len(ranking.entries) > MOST_SQUARE:
        return (
            '<h2>Paired comparisons</h2>\n<p class="note">So many runs have too many pairs for one table: each run\'s '
            "page "
            f'lists its own, and <a href="{up}tables/{ranking.slug}.md">the Markdown file</a> has them all.</p>'
        )
    return text + square(ranking, up) + copies(all_pairs(ranking))


def folded(table: SideTable) -> str:
    """A table, folded where it is long."""
    if len(table.rows) <= MOST_OPEN:
        return plain_table(table)
    return f"<details><summary>Show the {len(table.rows)} rows</summary>{plain_table(table)}</details>"


def heading_of(text: str) -> str:
    """A title as a heading; a letter that stands for a number stays as it is."""
    return text if text[1:2] == " " else text[:1].upper() + text[1:]
