"""The pages of training runs: all of them, and one each."""

import shlex
from collections.abc import Sequence

from ...envs.wording import counted
from ..side_tables import SideTable
from .charts import Chart, overlay_chart, training_charts
from .entries import Entry
from .gathering import NamedTraining
from .markup import copies, facts, plain_table, safe, scrolling
from .ranking_page import AT_FIRST
from .shell import figures, page
from .training_log import CURVES, Training

PATH = "training.html"


def path_of(named: NamedTraining) -> str:
    """Where the page of a training run stands in the site."""
    return f"training/{named.slug}.html"


def trainings_page(trainings: Sequence[NamedTraining], extra: Sequence[tuple[str, str]]) -> str:
    """Makes the page of all training runs."""
    if not trainings:
        body = (
            '<h1>Training</h1>\n<p class="lead">No training run is part of this site. Give <code>holdergym leaderboard '
            "build</code> the folders of some beside those of evaluations.</p>"
        )
        return page("Training", body, at=PATH, extra=extra)
    chart = overlay_chart(trainings)
    charts = [chart] if chart.series else []
    table = _overview(trainings)
    cells = "\n".join(
        f'<tr><th class="l wrap" scope="row"><a href="{path_of(named)}">{safe(row[0])}</a></th>'
        + "".join(f'<td class="{"l wrap" if n == 0 else ""}">{safe(cell)}</td>' for n, cell in enumerate(row[1:]))
        + "</tr>"
        for named, row in zip(trainings, table.rows, strict=True)
    )
    head = "".join(
        f'<th class="{"l" if n < 2 else ""}" scope="col">{safe(text)}</th>' for n, text in enumerate(table.headers)
    )
    html = scrolling(
        f'<table class="plain">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{cells}\n</tbody></table>', table.title
    )
    few = f" At first {AT_FIRST} curves are drawn." if len(trainings) > AT_FIRST else ""
    body = (
        f'<h1>Training</h1>\n<p class="lead">{counted(len(trainings), "training run")}, each with its curves on a '
        "page of "
        f"its own.</p>\n{html}{copies(table)}\n"
        '<h2>Together</h2>\n<p class="note">Training runs differ in more than their method; a picture is no '
        f"test.{few}</p>"
        f"{_chips([(one.key, one.label, one.style) for one in chart.series])}"
        f"{figures(charts, [_numbers(one.numbers) for one in charts])}"
    )
    return page("Training", body, at=PATH, charts=charts, extra=extra)


def training_page(named: NamedTraining, played: Sequence[Entry], extra: Sequence[tuple[str, str]]) -> str:
    """Makes the page of one training run.

    Args:
        named: The training run.
        played: Evaluations of its checkpoints.
        extra: More pages for the navigation.
    """
    training = named.training
    charts = training_charts(training)
    missing = [CURVES[name] for name in ("p", "collapsed_groups", "entropy", "kl") if name not in training.curves]
    note = f'<p class="note">Not in the log: {", ".join(missing)}.</p>' if missing else ""
    evaluated = "".join(
        f'<a href="../runs/{entry.slug}.html">{safe(entry.title)} · {safe(entry.row.run)}</a>' for entry in played
    )
    config = f"{named.slug}.toml"
    parts = [
        f'<p class="kicker"><a href="../{PATH}">Training</a></p>\n<h1>{safe(_name(training))}</h1>',
        f'<p class="lead">{safe(training.method)}, {counted(training.rounds, "round")} in the log.</p>',
        f"{figures(charts, [_legend(chart) + _numbers(chart.numbers) for chart in charts])}{note}"
        if charts
        else '<p class="note">No round has ended yet, so there is nothing to draw.</p>',
        f'<h2>Evaluations of its checkpoints</h2><p class="links">{evaluated}</p>' if played else "",
        f"<h2>Settings</h2>\n{facts(training.settings)}",
        f'<h2>Make it again</h2>\n<p class="note">With its settings, <a href="{safe(config)}" '
        f"download>{safe(config)}</a>; "
        "where they name a model by its folder, that folder is needed.</p>"
        f'<pre class="command">{safe(_command(training, config))}</pre>',
    ]
    return page(
        _name(training), "\n".join(part for part in parts if part), at=path_of(named), charts=charts, extra=extra
    )


def _command(training: Training, config: str) -> str:
    if not any(name == "method" for name, _ in training.settings):
        return f"# a warm start: holdergym.training.sft.warm_start with the settings in {shlex.quote(config)}"
    return f"holdergym train --config {shlex.quote(config)} --out runs/again"


def _legend(chart: Chart) -> str:
    return _chips([(f"{chart.name}/{s.key}", s.label, s.style) for s in chart.series])


def _chips(names: Sequence[tuple[str, str, int]]) -> str:
    """What switches curves on and off: key, label and number of the colour of each."""
    chips = "".join(
        f'<button type="button" class="chip" data-chip="{safe(key)}" '
        f'aria-pressed="{"true" if number < AT_FIRST else "false"}"><svg aria-hidden="true" viewBox="0 0 22 8">'
        f'<line class="k{style % 8}" x1="0" y1="4" x2="22" y2="4"/></svg>{safe(label)}</button>'
        for number, (key, label, style) in enumerate(names)
    )
    return f'<div class="chips" role="group" aria-label="Curves in the picture" hidden>{chips}</div>' if chips else ""


def _numbers(table: SideTable) -> str:
    return f"<details><summary>Numbers</summary>{plain_table(table)}{copies(table)}</details>"


def _overview(trainings: Sequence[NamedTraining]) -> SideTable:
    rows = []
    for _, training in trainings:
        settings = dict(training.settings)
        rows.append(
            (
                _name(training),
                training.method,
                f"{training.rounds:,}",
                *(_last(training, name) for name in ("success", "validation/success")),
                *(_last(training, name, shares=False) for name in ("p", "entropy", "kl")),
                _last(training, "collapsed_groups"),
                settings.get("seed", "-"),
            )
        )
    headers = ("run", "method", "rounds", "success %", "validation %", "p", "entropy", "KL", "ACR %", "seed")
    return SideTable("Training runs, at their last round", 2, headers, tuple(rows))


def _last(training: Training, metric: str, *, shares: bool = True) -> str:
    points = training.curves.get(metric, ())
    if not points:
        return "-"
    return f"{100 * points[-1].value:.1f}" if shares else f"{points[-1].value:.3g}"


def _name(training: Training) -> str:
    return training.folder.resolve().name
