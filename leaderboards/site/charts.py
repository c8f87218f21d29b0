"""Charts as records: what the page's script hands to the chart library, and what stands in the table below."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...eval.repeated import Estimate
from ..numbers import UNDEFINED
from ..side_tables import SideTable
from .entries import Entry, Ranking
from .reach import Reach, within_steps, within_tokens
from .training_log import CURVES, Point, Training

_BUDGETS = 6
_TABLE_ROWS = 24
MOST_POINTS = 1500
"""Rounds of a training curve in a page; longer ones are thinned."""

JsonObject = dict[str, object]


class Series(NamedTuple):
    """A curve.

    Attributes:
        key: What it belongs to: the slug of a run, or the name of a metric.
        label: What a reader is told that it is.
        xs: Where.
        ys: How much.
        lows: Lower ends of a band around it, or nothing.
        highs: Its upper ends.
        style: Number of its colour.
        stepped: Whether it keeps its height until the next point.
        right: Whether it is measured by the axis on the right.
    """

    key: str
    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    lows: Sequence[float] = ()
    highs: Sequence[float] = ()
    style: int = 0
    stepped: bool = False
    right: bool = False


class Chart(NamedTuple):
    """A coordinate system.

    Attributes:
        name: Its id in the page.
        title: What it shows.
        note: How to read it, a sentence or two.
        across: What the axis below says.
        up: What the axis on the left says.
        series: The curves.
        numbers: The same as a table.
        right: What the axis on the right says, or nothing.
        doubling: Whether each step to the right doubles.
        percent: Whether heights are shares, shown in percent.
    """

    name: str
    title: str
    note: str
    across: str
    up: str
    series: tuple[Series, ...]
    numbers: SideTable
    right: str = ""
    doubling: bool = False
    percent: bool = False

    def record(self) -> JsonObject:
        """As the page's script reads it."""
        return {
            "name": self.name,
            "across": self.across,
            "up": self.up,
            "right": self.right,
            "doubling": self.doubling,
            "percent": self.percent,
            "series": [_record(series) for series in self.series],
        }


def ranking_charts(ranking: Ranking) -> list[Chart]:
    """The charts of a ranking that have something to show."""
    charts = [_pass_at_k(ranking), _steps(ranking), _tokens(ranking)]
    return [chart for chart in charts if chart.series]


def _pass_at_k(ranking: Ranking) -> Chart:
    series, rows = [], []
    for style, entry in enumerate(ranking.entries):
        estimates = [(at.k, at.estimates[f"pass@{at.k}"]) for at in entry.row.overall.at_k]
        known = [(k, estimate) for k, estimate in estimates if estimate.value.defined]
        if not known:
            continue
        ks = [float(k) for k, _ in known]
        values = [estimate.value.value for _, estimate in known]
        lows = [_end(estimate, estimate.interval.low) for _, estimate in known]
        highs = [_end(estimate, estimate.interval.high) for _, estimate in known]
        series.append(Series(entry.slug, entry.title, ks, values, lows, highs, style))
        rows += [(entry.title, entry.row.run, str(k), *_cells(estimate)) for k, estimate in known]
    return Chart(
        "pass-at-k",
        "pass@k",
        "The chance that at least one of k samples of a task is won, a mean over tasks. Bands are 95% intervals by a "
        "bootstrap of whole tasks.",
        "k, samples of each task",
        "pass@k",
        tuple(series),
        SideTable("pass@k, %", 2, ("agent", "run", "k", "pass@k", "95% interval"), tuple(rows)),
        doubling=True,
        percent=True,
    )


def _steps(ranking: Ranking) -> Chart:
    reaches = [(style, entry, within_steps(entry.run.results)) for style, entry in enumerate(ranking.entries)]
    return _reach_chart(
        "steps",
        "Success against steps",
        "The share of finished episodes that were won within so many commands. Each curve ends at the run's success "
        "rate, where its longest episode ended.",
        "commands given",
        [(style, entry, reach) for style, entry, reach in reaches if reach is not None],
    )


def _tokens(ranking: Ranking) -> Chart:
    reaches = [(style, entry, within_tokens(entry.run.results)) for style, entry in enumerate(ranking.entries)]
    return _reach_chart(
        "tokens",
        "Success against tokens",
        "The share of finished episodes that were won before the model had said so many tokens. Only runs of language "
        "models whose tokens were counted.",
        "tokens generated in an episode",
        [(style, entry, reach) for style, entry, reach in reaches if reach is not None],
    )


def _reach_chart(name: str, title: str, note: str, across: str, reaches: Sequence[tuple[int, Entry, Reach]]) -> Chart:
    most = max((reach.costs[-1] for _, _, reach in reaches), default=0)
    budgets = sorted({max(1, round(most * part / _BUDGETS)) for part in range(1, _BUDGETS + 1)}) if most else []
    rows = [
        (entry.title, entry.row.run, *(f"{100 * reach.at(budget):.1f}" for budget in budgets))
        for _, entry, reach in reaches
    ]
    series = [
        Series(entry.slug, entry.title, reach.costs, reach.shares, style=style, stepped=True)
        for style, entry, reach in reaches
    ]
    headers = ("agent", "run", *(f"within {budget:,}" for budget in budgets))
    return Chart(
        name,
        title,
        note,
        across,
        "episodes won",
        tuple(series) if most else (),
        SideTable(f"{title}, % won", 2, headers, tuple(rows)),
        percent=True,
    )


def training_charts(training: Training) -> list[Chart]:
    """The charts of a training run that have something to show."""
    found = [
        _training_chart(
            training,
            "success",
            "Success and reward",
            "Success is the share of episodes won: in training as they were sampled, in validation greedily.",
            "share, or reward",
            ("success", "validation/success", "reward"),
        ),
        _training_chart(
            training,
            "exponent",
            "p, ACR, entropy and KL",
            "One axis of rounds: the Hölder exponent p and the share of collapsed groups (ACR) by the scale on the "
            "left, "
            "entropy and the divergence from the reference policy in nats by the scale on the right.",
            "p and ACR",
            ("p", "collapsed_groups", "entropy", "kl"),
            right=("entropy", "kl"),
        ),
    ]
    return [chart for chart in found if chart.series]


def overlay_chart(trainings: Sequence[tuple[str, Training]]) -> Chart:
    """Success of several training runs in one picture: in validation where there is any, else in training."""
    series, rows = [], []
    for style, (slug, training) in enumerate(trainings):
        name = "validation/success" if "validation/success" in training.curves else "success"
        points = _thinned(training.curves.get(name, ()))
        label = training.folder.resolve().name
        if points:
            series.append(_curve(slug, f"{label}, {CURVES[name]}", points, style))
            rows.append((label, CURVES[name], str(points[-1].round), f"{100 * points[-1].value:.1f}"))
    return Chart(
        "all",
        "Success in training",
        "The share of episodes won after so many rounds: in validation where there was one, else in training.",
        "round",
        "episodes won",
        tuple(series),
        SideTable("Success at the end, %", 2, ("run", "measured", "round", "success"), tuple(rows)),
        percent=True,
    )


def _training_chart(
    training: Training,
    name: str,
    title: str,
    note: str,
    up: str,
    metrics: tuple[str, ...],
    right: tuple[str, ...] = (),
) -> Chart:
    there = [metric for metric in metrics if metric in training.curves]
    series = [
        _curve(metric, CURVES[metric], _thinned(training.curves[metric]), style, right=metric in right)
        for style, metric in enumerate(metrics)
        if metric in training.curves
    ]
    by_round: dict[int, dict[str, float]] = {}
    for metric in there:
        for point in training.curves[metric]:
            by_round.setdefault(point.round, {})[metric] = point.value
    rounds = sorted(by_round)
    last = len(rounds) - 1
    shown = rounds
    if len(rounds) > _TABLE_ROWS:
        shown = sorted({rounds[place * last // (_TABLE_ROWS - 1)] for place in range(_TABLE_ROWS)})
        note += f" The table has {len(shown)} of {len(rounds):,} rounds, spread evenly."
    if any(len(training.curves[metric]) > MOST_POINTS for metric in there):
        note += f" The curves have {MOST_POINTS:,} points of each metric, spread evenly."
    rows = [(str(number), *(_significant(by_round[number].get(metric)) for metric in there)) for number in shown]
    headers = ("round", *(CURVES[metric] for metric in there))
    return Chart(
        name,
        title,
        note,
        "round",
        up,
        tuple(series),
        SideTable(title, 1, headers, tuple(rows)),
        right="nats" if any(metric in right for metric in there) else "",
    )


def _curve(key: str, label: str, points: Sequence[Point], style: int, *, right: bool = False) -> Series:
    return Series(key, label, [p.round for p in points], [p.value for p in points], style=style, right=right)


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    if len(points) <= MOST_POINTS:
        return points
    last = len(points) - 1
    return [points[place * last // (MOST_POINTS - 1)] for place in range(MOST_POINTS)]


def _record(series: Series) -> JsonObject:
    record: JsonObject = {
        "key": series.key,
        "label": series.label,
        "x": [_short(value) for value in series.xs],
        "y": [_short(value) for value in series.ys],
        "style": series.style,
    }
    if series.lows:
        record["low"] = [_short(value) for value in series.lows]
        record["high"] = [_short(value) for value in series.highs]
    if series.stepped:
        record["stepped"] = True
    if series.right:
        record["right"] = True
    return record


def _end(estimate: Estimate, end: float) -> float:
    """The end of an interval, or the number itself where there is no interval."""
    return estimate.value.value if math.isnan(end) else end


def _cells(estimate: Estimate) -> tuple[str, str]:
    low, high, cause = estimate.interval
    ends = UNDEFINED if cause else f"[{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * estimate.value.value:.1f}", ends


def _short(value: float) -> float:
    """Six digits: a picture shows no more."""
    return value if isinstance(value, int) else float(f"{value:.6g}")


def _significant(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.4g}"
