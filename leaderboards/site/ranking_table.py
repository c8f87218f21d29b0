"""The table of a ranking: ranks, rates with their intervals, ties."""

from ..columns import capitalised, measures
from ..numbers import UNDEFINED, count, decimal, interval, percent
from ..side_tables import SideTable
from .entries import Entry, Ranking
from .markup import safe, scrolling
from .standings import Standings

NO_LETTERS = "The runs overlap in too many ways for letters; each run's page lists what it can be told apart from."


def ranking_as_html(ranking: Ranking, up: str) -> str:
    """The table as a page shows it.

    Args:
        ranking: The ranking.
        up: What leads from the page to the root of the site.
    """
    head = (
        '<th class="rank" scope="col">Rank</th><th class="l" scope="col">Run</th><th scope="col">Success</th>'
        '<th class="bar opt" scope="col"><span class="hidden">Interval as a picture</span></th>'
        '<th class="l" scope="col">Ties</th>'
        + "".join(
            f'<th class="opt" scope="col">{safe(capitalised(column.header))}</th>'
            for column in measures(ranking.board.env)
        )
    )
    cuts = _cuts(ranking)
    body = "\n".join(_row(ranking, entry, up, new=number in cuts) for number, entry in enumerate(ranking.entries))
    table = f'<table class="ranking">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
    note = f'<p class="note">{NO_LETTERS}</p>' if ranking.standings.letters is None else ""
    shared = "; ".join(ranking.shared_notes)
    all_runs = f'<p class="note">All runs: {safe(shared)}.</p>' if shared else ""
    return scrolling(table, f"Ranking of {ranking.title}") + all_runs + note


def ranking_as_table(ranking: Ranking) -> SideTable:
    """The same as texts."""
    rows = tuple(
        (
            "-" if entry.rank is None else str(entry.rank),
            entry.row.agent,
            entry.row.run,
            count(entry.row.overall),
            percent(entry.row.overall.success_rate),
            interval(entry.row.overall.interval),
            entry.letters or "-",
            decimal(entry.row.overall.mean_steps, 1),
        )
        for entry in ranking.entries
    )
    notes = tuple(
        f"{entry.row.agent} ({entry.row.run}): {'; '.join(entry.row.notes)}"
        for entry in ranking.entries
        if entry.row.notes
    )
    headers = ("rank", "agent", "run", "won", "success %", "95% interval", "ties", "steps")
    return SideTable(f"{ranking.title}, sha256 {ranking.board.panel_sha256[:12]}", 3, headers, rows, notes)


def ties_in_words(standings: Standings) -> str:
    """How many pairs were tested and told apart."""
    pairs = len(standings.pairings)
    if not pairs:
        return "One run: there is nothing to compare it with."
    apart = sum(found.different for found in standings.pairings.values())
    tested = standings.tests
    left = f"; {pairs - tested} not compared" if pairs > tested else ""
    return f"{apart} of {tested} tested pairs can be told apart{left}."


def _cuts(ranking: Ranking) -> set[int]:
    """Numbers of runs before which a line is drawn: each run above it can be told apart from each below."""
    if ranking.standings.letters is None:
        return set()
    letters = [set(entry.letters.split()) for entry in ranking.entries]
    return {
        number
        for number in range(1, len(letters))
        if not set().union(*letters[:number]) & set().union(*letters[number:])
    }


def _row(ranking: Ranking, entry: Entry, up: str, *, new: bool) -> str:
    row, overall = entry.row, entry.row.overall
    own = "; ".join(note for note in row.notes if note not in ranking.shared_notes)
    about = "".join(f"<small>{safe(text)}</small>" for text in (f"{row.run} · {entry.method}", own) if text)
    rank = UNDEFINED if entry.rank is None else str(entry.rank)
    letters = "".join(f'<span class="letter">{safe(letter)}</span>' for letter in entry.letters.split()) or UNDEFINED
    return (
        f'<tr class="{"next" if new else "same"}" data-key="{entry.slug}" data-model="{safe(entry.model)}" '
        f'data-method="{safe(entry.method)}">'
        f'<td class="rank">{rank}</td>'
        f'<th class="who" scope="row"><a href="{up}runs/{entry.slug}.html">{safe(entry.title)}</a>{about}</th>'
        f'<td class="rate"><b>{percent(overall.success_rate)}</b> %<small>{count(overall)}</small>'
        f"<small>{interval(overall.interval)}</small></td>"
        f'<td class="bar opt">{_bar(entry)}</td>'
        f'<td class="ties">{letters}</td>'
        + "".join(f'<td class="opt">{column.cell(overall)}</td>' for column in measures(ranking.board.env))
        + "</tr>"
    )


def _bar(entry: Entry) -> str:
    """The rate and its interval on a line from 0 to 100 %."""
    rate, ends = entry.row.overall.success_rate, entry.row.overall.interval
    if not rate.defined:
        return ""
    band = ""
    if not ends.cause:
        low, width = 100 * ends.low, 100 * (ends.high - ends.low)
        band = f'<rect class="range" x="{low:.2f}%" y="5" width="{width:.2f}%" height="6" rx="3"/>'
    return (
        '<svg aria-hidden="true"><rect class="ground" x="0" y="7.5" width="100%" height="1"/>'
        f'{band}<circle class="point" cx="{100 * rate.value:.2f}%" cy="8" r="4"/></svg>'
    )
