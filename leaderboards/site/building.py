"""Builds the site: every page as bytes, from runs alone, so that equal runs give equal bytes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...agents.usage import Prices
from ...envs.wording import counted
from ...eval.viewer.page import cut_page
from ..csv_file import boards_as_csv
from ..latex import boards_as_latex
from ..markdown import boards_as_markdown
from .entries import Entry, Ranking, make_rankings
from .gathering import Gathered, NamedTraining
from .index_page import PATH as INDEX
from .index_page import index_page
from .markup import safe, table_as_markdown
from .pairs_table import all_pairs
from .papers_pages import PATH as PAPERS
from .papers_pages import papers_pages
from .plotly_file import plotly_script
from .ranking_page import path_of as path_of_ranking
from .ranking_page import ranking_page
from .ranking_table import ranking_as_table
from .reading_page import PATH as READING
from .reading_page import reading_page
from .run_page import path_of as path_of_run
from .run_page import run_page
from .shell import PLOTLY
from .training_pages import PATH as TRAINING
from .training_pages import path_of as path_of_training
from .training_pages import training_page, trainings_page

VIEWER_BYTES = 20 * 10**6
"""Most bytes of the episodes of a run that the site shows turn by turn."""


class Site(NamedTuple):
    """A site before it is written.

    Attributes:
        files: Contents by path, with ``/`` between folders.
        notes: What is not in it, a line each.
    """

    files: Mapping[str, bytes]
    notes: tuple[str, ...]


class _Episodes(NamedTuple):
    """The page of a run's episodes, if there is one, and what the run's page says of it, as HTML."""

    page: str | None
    told: str
    note: str


def build_site(
    gathered: Gathered,
    prices: Mapping[str, Prices] | None = None,
    *,
    viewer_bytes: int = VIEWER_BYTES,
    papers: Sequence[Path] | None = None,
) -> Site:
    """Makes all files.

    Args:
        gathered: The runs.
        prices: What a million tokens cost, by model.
        viewer_bytes: Most bytes of the episodes of a run that are shown turn by turn; 0 shows none.
        papers: Folders of runs that may belong to rows of published tables, which then have pages too; None leaves
            published tables out.

    Raises:
        MissingExtraError: If the chart library is not installed.
        HolderGymError: If a file cannot be read, or a price is of a model that played no run.
    """
    library = plotly_script()
    rankings = make_rankings(gathered.runs, gathered.trainings, prices)
    extra = () if papers is None else (("Papers", PAPERS),)
    pages = {} if papers is None else papers_pages(papers, extra)
    notes = [f"left out: {one.folder}: {one.reason}" for one in gathered.left_out]
    for ranking in rankings:
        pages[path_of_ranking(ranking)] = ranking_page(ranking, extra)
        pages |= _copies(ranking)
        for number, entry in enumerate(ranking.entries):
            episodes = _episodes(entry, viewer_bytes)
            if episodes.page is not None:
                pages[f"episodes/{entry.slug}.html"] = episodes.page
            if episodes.note:
                notes.append(episodes.note)
            pages[path_of_run(entry)] = run_page(ranking, number, episodes.told, extra)
            pages[f"runs/{entry.slug}.toml"] = entry.run.config.to_toml()
    entries = [entry for ranking in rankings for entry in ranking.entries]
    for named in gathered.trainings:
        pages[path_of_training(named)] = training_page(named, _played(named, entries), extra)
    pages[INDEX] = index_page(rankings, len(gathered.trainings), gathered.left_out, extra)
    pages[TRAINING] = trainings_page(gathered.trainings, extra)
    pages[READING] = reading_page(extra)
    files = {path: text.encode("utf-8", "replace") for path, text in pages.items()}
    files |= {f"training/{named.slug}.toml": named.training.config for named in gathered.trainings}
    files[PLOTLY] = library
    return Site(dict(sorted(files.items())), tuple(notes))


def _copies(ranking: Ranking) -> dict[str, str]:
    """The tables of a ranking as files of their own."""
    texts = [table_as_markdown(ranking_as_table(ranking)), boards_as_markdown([ranking.board])]
    if ranking.standings.pairings:
        texts.append(table_as_markdown(all_pairs(ranking)))
    return {
        f"tables/{ranking.slug}.md": "\n".join(texts),
        f"tables/{ranking.slug}.tex": boards_as_latex([ranking.board]),
        f"tables/{ranking.slug}.csv": boards_as_csv([ranking.board]),
    }


def _episodes(entry: Entry, most: int) -> _Episodes:
    """The viewer's page of a run, cut to a size, and what is said of it."""
    total = len(entry.run.results)
    local = f"<code>holdergym view {safe(entry.row.run)}</code> shows all of them"
    if not total:
        return _Episodes(None, '<p class="note">None has been played.</p>', "")
    if not most:
        return _Episodes(None, f'<p class="note">The site was built without episodes; {local}.</p>', "")
    try:
        shown = cut_page(entry.run, most)
    except (ValueError, OverflowError):
        # Written by a stranger: the evaluator writes finite numbers.
        told = "A turn holds a number that is not finite, so that the episodes cannot be shown."
        return _Episodes(None, f'<p class="note warning">{told}</p>', f"{entry.row.run}: {told}")
    link = f'<p class="links"><a href="../episodes/{entry.slug}.html">Read the episodes turn by turn</a></p>'
    if shown.left_out:
        told = f"{counted(shown.left_out, 'episode')} of {total:,} left out"
        cut = (
            f'<p class="note">{told}: the page holds {most / 1e6:g} MB of them, in the order of the panel; {local}.</p>'
        )
        return _Episodes(shown.text, link + cut, f"{entry.row.run}: {told} of its page of episodes (--episodes-mb)")
    return _Episodes(shown.text, link, "")


def _played(named: NamedTraining, entries: Sequence[Entry]) -> list[Entry]:
    """Evaluations of a training run's checkpoints."""
    name = named.training.folder.resolve().name
    return [entry for entry in entries if entry.model.startswith(f"{name}/")]
