"""The first page: all rankings, with filters."""

from collections.abc import Sequence

from ...envs.wording import counted
from .entries import Ranking
from .gathering import LeftOut
from .markup import copies, safe, tags
from .ranking_table import ranking_as_html, ranking_as_table, ties_in_words
from .shell import page
from .standings import RULE

PATH = "index.html"


def index_page(
    rankings: Sequence[Ranking], trainings: int, left_out: Sequence[LeftOut], extra: Sequence[tuple[str, str]]
) -> str:
    """Makes the page.

    Args:
        rankings: All of them.
        trainings: Number of training runs.
        left_out: Runs that could not be read.
        extra: More pages for the navigation.
    """
    runs = sum(len(ranking.entries) for ranking in rankings)
    lead = (
        f"{counted(runs, 'run')} in {counted(len(rankings), 'ranking')}. A ranking holds runs over the very same "
        'tasks, played under the same conditions; <a href="#rule">ranks follow from paired tests</a>, so that a tie is '
        "shown as a tie."
    )
    missing = "".join(
        f'<p class="note warning">Left out, as it cannot be read: {safe(one.folder)}: {safe(one.reason)}</p>'
        for one in left_out
    )
    also = f' <a href="training.html">{counted(trainings, "training run")}</a>.' if trainings else ""
    body = [
        f'<h1>Leaderboard</h1>\n<p class="lead">{lead}{also}</p>{missing}',
        _filters(rankings) if rankings else "",
        *map(_section, rankings),
        '<p class="note" id="nothing" hidden>No run matches all filters.</p>',
        f'<h2 id="rule">How ranks are made</h2>\n<p class="note">{safe(RULE)}</p>' if rankings else "",
    ]
    return page("Leaderboard", "\n".join(body), at=PATH, extra=extra)


def _section(ranking: Ranking) -> str:
    board = ranking.board
    link = f"rankings/{ranking.slug}.html"
    return (
        f'<section data-panel="{safe(_panel(ranking))}" data-dialect="{safe(board.dialect or "none")}">\n'
        f'<h2><a href="{link}">{safe(ranking.title)}</a></h2>\n'
        f"{tags(_short(ranking))}\n{ranking_as_html(ranking, '')}\n"
        f'<p class="note">{ties_in_words(ranking.standings)}</p>\n'
        f'<p class="links"><a href="{link}">Task types, curves and paired tests</a></p>\n'
        f"{copies(ranking_as_table(ranking))}\n</section>"
    )


def _short(ranking: Ranking) -> list[tuple[str, str]]:
    """The conditions that tell rankings apart at a glance."""
    names = {"Tasks": "tasks", "Dialect": "dialect", "Engine": "engine", "Step limit": "steps at most"}
    found = [(names[name], text) for name, text in ranking.conditions if name in names]
    return [*found, ("sha256", ranking.board.panel_sha256[:12])]


def _panel(ranking: Ranking) -> str:
    return f"{ranking.board.env}: {ranking.board.panel}"


def _filters(rankings: Sequence[Ranking]) -> str:
    entries = [entry for ranking in rankings for entry in ranking.entries]
    choices = {
        "model": sorted({entry.model for entry in entries}),
        "method": sorted({entry.method for entry in entries}),
        "panel": sorted({_panel(ranking) for ranking in rankings}),
        "dialect": sorted({ranking.board.dialect or "none" for ranking in rankings}),
    }
    fields = "".join(
        f'<label>{name.capitalize()} <select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{safe(value)}">{safe(value)}</option>' for value in values)
        + "</select></label>"
        for name, values in choices.items()
    )
    return (
        f'<div class="filters" id="filters" role="search" aria-label="Filters" hidden>{fields}'
        '<output aria-live="polite"></output></div>'
    )
