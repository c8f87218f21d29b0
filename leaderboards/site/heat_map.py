"""The heat map: success rates by task type, shaded."""

import math

from ...eval.metrics import Metrics
from ..columns import shown_types
from ..numbers import count, interval, percent
from ..rows import type_label
from ..side_tables import SideTable
from .entries import Entry, Ranking
from .markup import safe, scrolling

_SHADES = 20


def heat_map(ranking: Ranking, up: str) -> str:
    """The map as HTML, readable without its colours; nothing where there is but one type.

    Args:
        ranking: The ranking.
        up: What leads from the page to the root of the site.
    """
    types = _types(ranking)
    if not types:
        return ""
    names = [type_label(kind) for kind in types]
    head = "".join(f'<th scope="col">{safe(name)}</th>' for name in (*names, "All"))
    body = "\n".join(_row(entry, types, up) for entry in ranking.entries)
    table = (
        f'<table class="heat">\n<thead><tr><th class="who" scope="col">Run</th>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>"
    )
    return scrolling(table, "Success by task type")


def heat_table(ranking: Ranking) -> SideTable:
    """The same as texts."""
    types = _types(ranking)
    headers = ("agent", "run", *(type_label(kind) for kind in types), "all")
    rows = tuple(
        (
            entry.row.agent,
            entry.row.run,
            *(_text(entry.row.by_type[kind]) for kind in types),
            _text(entry.row.overall),
        )
        for entry in ranking.entries
    )
    return SideTable("Success by task type, % (won/finished)", 2, headers, rows)


def _types(ranking: Ranking) -> tuple[str, ...]:
    types = shown_types(ranking.board.types)
    return types if len(types) > 1 else ()


def _row(entry: Entry, types: tuple[str, ...], up: str) -> str:
    cells = "".join(_cell(entry.row.by_type[kind]) for kind in types) + _cell(entry.row.overall, "all ")
    return (
        f'<tr data-key="{entry.slug}" data-model="{safe(entry.model)}" data-method="{safe(entry.method)}">'
        f'<th class="who" scope="row"><a href="{up}runs/{entry.slug}.html">{safe(entry.title)}</a>'
        f"<small>{safe(entry.row.run)}</small></th>{cells}</tr>"
    )


def _cell(metrics: Metrics, kind: str = "") -> str:
    rate = metrics.success_rate.value
    shade = "" if math.isnan(rate) else f"h{round(_SHADES * rate)}"
    return (
        f'<td class="{kind}{shade}" title="95% interval {interval(metrics.interval)}">'
        f"<b>{percent(metrics.success_rate)}</b><small>{count(metrics)}</small></td>"
    )


def _text(metrics: Metrics) -> str:
    return f"{percent(metrics.success_rate)} ({count(metrics)})"
