"""What the runs of a row say of its cells, and how far that is from what is published."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...agents.language_model_settings import LanguageModelSettings
from ...envs.errors import HolderGymError
from ...envs.math.published import PUBLISHED
from ...eval.intervals import Interval, wilson, wilson_rate
from ...eval.metrics import Metrics
from ...eval.run import Run
from ...eval.summary import Breakdown, break_down
from ...eval.value import Value
from ..published.benchmarks import AVERAGE, BENCHMARKS, PANEL_SIZES
from ..published.layout import Column, Table
from ..published.record import Published
from ..rate_differences import Part, combined
from .placing import Placed
from .records import Measured, Source

MOVER = "mover"
NO_CELL = "the paper has no number there"
_AT_K = "pass@"


class _Rate(NamedTuple):
    value: Value
    interval: Interval
    method: str
    won: int | None
    total: int


def measured_cells(
    table: Table, columns: Sequence[Column], published: Mapping[str, Published], placed: Sequence[Placed]
) -> dict[str, Measured]:
    """The numbers of ours for one row, by benchmark.

    Args:
        table: The table.
        columns: Its columns, with the metric of the row.
        published: The row's published numbers, by benchmark.
        placed: The runs of the row.

    Raises:
        HolderGymError: If a run fills no cell of the row, or two runs fill the same.
    """
    found: dict[str, Measured] = {}
    about = next(iter(published.values()), None)
    for each in placed:
        filled = _filled(table, columns, each, about)
        for column, rate, source in filled:
            if column.benchmark in found:
                other = found[column.benchmark].sources[0].name
                raise HolderGymError(
                    f"{each.name} and {other} both fill {column.benchmark} in row {each.row} of {table.id}: leave one "
                    "of them out"
                )
            delta, interval, exact = _delta(rate, source, published.get(column.benchmark))
            found[column.benchmark] = Measured(
                rate.value.value, rate.interval, rate.method, rate.won, rate.total, (source,), delta, interval, exact
            )
    average = _average(columns, published, found)
    if average is not None:
        found[AVERAGE] = average
    return found


def _filled(
    table: Table, columns: Sequence[Column], placed: Placed, about: Published | None
) -> list[tuple[Column, _Rate, Source]]:
    run = placed.run
    if not isinstance(run.config.agent, LanguageModelSettings):
        raise HolderGymError(
            f"{placed.name} was played by {run.manifest.agent}, which is no language model, and a row of {table.id} is "
            "about one: leave the run out"
        )
    mine = [column for column in columns if _panel(column) == run.panel.name]
    if not table.env or run.config.env.split("_")[0] != table.env or not mine:
        wanted = sorted({_panel(column) for column in columns} - {""})
        raise HolderGymError(
            f"{placed.name} played {run.config.env}, panel {run.panel.name}, and {table.id} has no cell for it"
            + (f": its cells are for {', '.join(wanted)}" if wanted else "")
        )
    _require_set(placed)
    pieces = break_down(run)
    filled = []
    for column in mine:
        rate = _rate(column, pieces, run)
        if rate is None:
            continue
        notes = (*_notes(table, column, run, pieces.overall), *_other_model(run.config.agent.model, about))
        source = Source(run, placed.name, notes)
        filled.append((column, rate, source))
    if not filled:
        metrics = " and ".join(sorted({column.metric for column in mine}))
        raise HolderGymError(
            f"{placed.name} has no {metrics} for {table.id}: it played {run.config.samples} samples of each task, or "
            "no episode is finished"
        )
    return filled


def _panel(column: Column) -> str:
    return BENCHMARKS[column.benchmark].panel if column.benchmark in BENCHMARKS else ""


def _require_set(placed: Placed) -> None:
    """Refuses a panel that has the name of a published set and is another one."""
    panel = placed.run.panel
    size = PANEL_SIZES.get(panel.name)
    if size is not None and panel.full_size != size:
        raise HolderGymError(
            f"{placed.name}: its panel {panel.name} has {panel.full_size} games, and the official one {size}"
        )
    known = PUBLISHED.get(panel.name)
    if known is None:
        return
    whole = not panel.partial and panel.draws is None
    if panel.full_size != known.rows or (whole and panel.sha256 != known.sha256):
        raise HolderGymError(
            f"{placed.name}: its panel {panel.name} (sha256 {panel.sha256[:12]}) is not the published set "
            f"(sha256 {known.sha256[:12]}): play that, or leave the run out"
        )


def _rate(column: Column, pieces: Breakdown, run: Run) -> _Rate | None:
    task_type = BENCHMARKS[column.benchmark].task_type
    metrics: Metrics | None = pieces.by_type.get(task_type) if task_type else pieces.overall
    if metrics is None or not metrics.finished:
        return None
    k = column.metric.removeprefix(_AT_K)
    if column.metric.startswith(_AT_K) and k != "1":
        estimate = next((at.estimates[column.metric] for at in metrics.at_k if column.metric in at.estimates), None)
        if estimate is None or not estimate.value.defined:
            return None
        return _Rate(estimate.value, estimate.interval, "cluster_bootstrap", None, metrics.tasks)
    return _Rate(metrics.success_rate, metrics.interval, metrics.method, metrics.won, metrics.finished)


def _notes(table: Table, column: Column, run: Run, overall: Metrics) -> tuple[str, ...]:
    notes = []
    if run.panel.partial and run.panel.draws is None:
        notes.append(f"part of the panel, {run.panel.label}")
    if overall.missing:
        notes.append(f"incomplete, {overall.expected - overall.missing} of {overall.expected} episodes played")
    if overall.failed:
        notes.append(f"{overall.failed} failed episodes left out")
    if run.config.samples > 1:
        notes.append(f"{run.config.samples} samples a task")
    options = dict(table.evaluation).get(column.metric, "").split()
    wanted = options[options.index("--protocol") + 1] if "--protocol" in options else None
    if wanted is not None and run.config.protocol != wanted:
        ours = f"protocol {run.config.protocol}" if run.config.protocol else "no protocol"
        notes.append(f"{ours}, and {wanted} is the paper's")
    return tuple(notes)


def _other_model(played: str, about: Published | None) -> tuple[str, ...]:
    """A remark where an untrained model's row was measured with a model of another name."""
    if about is None or about.method not in ("Base", "Instruct"):
        return ()
    wanted = about.label if about.method == "Instruct" else about.model
    same = played.rstrip("/").rpartition("/")[2].casefold() == wanted.casefold()
    return () if same else (f"model {played}, and the row is about {wanted}",)


def _delta(rate: _Rate, source: Source, published: Published | None) -> tuple[Value, Interval, bool]:
    """Ours minus theirs; undefined where the tasks are not the same or there is nothing to subtract."""
    cause = _incomparable(source, published)
    if cause or published is None or published.number is None:
        return Value.undefined(cause), Interval(math.nan, math.nan, cause), False
    theirs = float(published.number) / 100
    part = _published_part(published)
    exact = part is None
    other = part or Part(-1.0, theirs, Interval(theirs, theirs))
    difference, interval = combined([Part(1.0, rate.value.value, rate.interval), other])
    return Value(difference), interval, exact


def _incomparable(source: Source, published: Published | None) -> str:
    if published is None or published.number is None or published.unit != "%":
        return NO_CELL
    run = source.run
    if run.panel.partial and run.panel.draws is None:
        return "only a part of the panel was played"
    if not run.complete:
        return "the run is not complete"
    size = run.panel.full_size
    if published.problems and published.problems != size and run.panel.draws is None and run.config.env != "alfworld":
        return f"the paper's set has {published.problems} problems and panel {run.panel.name} {size}"
    return ""


def _published_part(published: Published) -> Part | None:
    """The published rate with Wilson's interval for its stated number of problems, each as one attempt."""
    if published.number is None or not published.problems:
        return None
    rate = float(published.number) / 100
    if not 0.0 <= rate <= 1.0:
        return None
    won = round(rate * published.problems)
    close = abs(won / published.problems - rate) < 0.0005
    interval = wilson(won, published.problems) if close else wilson_rate(rate, published.problems)
    return Part(-1.0, rate, interval)


def _average(
    columns: Sequence[Column], published: Mapping[str, Published], found: Mapping[str, Measured]
) -> Measured | None:
    """The mean of the columns, where all were measured; independent sets, so their intervals combine."""
    names = [column.benchmark for column in columns if column.benchmark != AVERAGE and column.unit == "%"]
    if all(column.benchmark != AVERAGE for column in columns) or not names or any(name not in found for name in names):
        return None
    weight = 1 / len(names)
    ours = [Part(weight, found[name].value, found[name].interval) for name in names]
    value, interval = combined(ours)
    sources = tuple(source for name in names for source in found[name].sources)
    total = sum(found[name].total for name in names)
    printed = published.get(AVERAGE)
    causes = [found[name].delta.cause for name in names if not found[name].delta.defined]
    cause = NO_CELL if printed is None or printed.number is None else causes[0] if causes else ""
    if cause or printed is None or printed.number is None:
        undefined = Interval(math.nan, math.nan, cause)
        return Measured(value, interval, MOVER, None, total, sources, Value.undefined(cause), undefined)
    parts = [_published_part(published[name]) for name in names]
    known = [part._replace(weight=-weight) for part in parts if part is not None]
    theirs = float(printed.number) / 100
    exact = len(known) < len(names)
    if exact:
        other = Part(-1.0, theirs, Interval(theirs, theirs))
    else:
        # The interval's width is the components'; its middle is what the paper prints.
        total_of, (low, high, _) = combined([part._replace(weight=weight) for part in known])
        other = Part(-1.0, theirs, Interval(theirs - (total_of - low), theirs + (high - total_of)))
    difference, ends = combined([Part(1.0, value, interval), other])
    return Measured(value, interval, MOVER, None, total, sources, Value(difference), ends, exact)
