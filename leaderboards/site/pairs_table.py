"""Paired comparisons as tables: all pairs of a ranking, and those of one run."""

from ..comparison_words import p_value, point_interval, points
from ..numbers import UNDEFINED
from ..side_tables import SideTable
from .entries import Entry, Ranking
from .markup import safe, scrolling
from .standings import left_out_note, why_not_compared

MOST_SQUARE = 16
"""Runs of which all pairs fit into a square that can be read."""


def square(ranking: Ranking, up: str) -> str:
    """Each run against each other one: the difference of their rates, in points.

    Args:
        ranking: The ranking.
        up: What leads from the page to the root of the site.
    """
    entries = ranking.entries
    head = "".join(f'<th scope="col">{number}</th>' for number in range(1, len(entries) + 1))
    rows = []
    for first, entry in enumerate(entries):
        cells = "".join(_cell(ranking, first, second) for second in range(len(entries)))
        rows.append(
            f'<tr data-key="{entry.slug}" data-model="{safe(entry.model)}" data-method="{safe(entry.method)}">'
            f'<th class="who" scope="row"><a href="{up}runs/{entry.slug}.html">{first + 1}. {safe(entry.title)}</a>'
            f"<small>{safe(entry.row.run)}</small></th>{cells}</tr>"
        )
    body = "\n".join(rows)
    table = (
        f'<table class="pairs">\n<thead><tr><th class="who" scope="col">Run</th>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>"
    )
    return scrolling(table, "Each run against each other one")


def all_pairs(ranking: Ranking) -> SideTable:
    """Every pair as a row of texts."""
    rows = []
    for first, second in sorted(ranking.standings.pairings):
        names = (_name(ranking.entries[number]) for number in (first, second))
        rows.append((*names, *_numbers(ranking, first, second)))
    return SideTable(
        "Paired comparisons",
        2,
        ("run", "against", "tasks", "difference", "95% interval", "p", "p (Holm)", "verdict"),
        tuple(rows),
    )


def pairs_of(ranking: Ranking, number: int) -> SideTable:
    """One run against each other one."""
    rows, notes = [], []
    for other, entry in enumerate(ranking.entries):
        if other == number:
            continue
        name = _name(entry)
        rows.append((name, *_numbers(ranking, number, other)))
        found = ranking.standings.of(number, other)
        sampling = (
            found.sampling
            if number < other
            else [each._replace(first=each.second, second=each.first) for each in found.sampling]
        )
        # A scripted agent has no such settings.
        told = [str(each) for each in sampling if "not set" not in (each.first, each.second)]
        differing = "; ".join(told) if found.paired is not None else ""
        for note in (
            f"not compared: {why_not_compared(found)}" if found.paired is None else left_out_note(found),
            f"the agents' settings differ: {differing}" if differing else "",
        ):
            if note:
                notes.append(f"{name}: {note}")
    return SideTable(
        "Against the other runs",
        1,
        ("against", "tasks", "difference", "95% interval", "p", "p (Holm)", "verdict"),
        tuple(rows),
        tuple(notes),
    )


def _name(entry: Entry) -> str:
    return f"{entry.title} ({entry.row.run})"


def _numbers(ranking: Ranking, first: int, second: int) -> tuple[str, ...]:
    """The cells of a pair; the difference is that of the first from the second."""
    found = ranking.standings.of(first, second)
    if found.paired is None:
        return ("-", "-", "-", "-", "-", "not compared")
    turned = first < second
    difference, interval = found.paired.difference, found.paired.interval
    if turned:
        difference = difference._replace(value=-difference.value)
        interval = interval._replace(low=-interval.high, high=-interval.low)
    return (
        str(found.paired.tasks),
        points(difference),
        point_interval(interval),
        p_value(found.paired.p),
        p_value(found.adjusted_p),
        _verdict(ranking, first, second),
    )


def _verdict(ranking: Ranking, first: int, second: int) -> str:
    found = ranking.standings.of(first, second)
    if not found.adjusted_p.defined:
        return UNDEFINED
    sign = found.better if first < second else -found.better
    return "better" if sign > 0 else "worse" if sign < 0 else "cannot tell apart"


def _cell(ranking: Ranking, first: int, second: int) -> str:
    if first == second:
        return '<td class="self"></td>'
    found = ranking.standings.of(first, second)
    if found.paired is None:
        return f'<td class="even" title="not compared: {safe(why_not_compared(found))}">n/c</td>'
    cells = _numbers(ranking, first, second)
    kind = {"better": "up", "worse": "down"}.get(cells[-1], "even")
    mark = {"up": "▲ ", "down": "▼ ", "even": "= "}[kind]
    return f'<td class="{kind}" title="{safe(cells[-1])}, p after Holm {cells[4]}">{mark}{cells[1]}</td>'
