"""``holdergym acr``: how many groups of a run had nothing to compare."""

import math
from pathlib import Path

import click
from tabulate import tabulate

from ..envs.errors import HolderGymError
from ..eval.collapse import collapse_of, findings, windowed
from ..eval.intervals import wilson
from ..eval.run import read_run
from .paths import PATH
from .terminal import echo

_LINES = 12


@click.command()
@click.argument("run", type=PATH)
@click.option(
    "--window", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Rounds to average over."
)
def command(run: Path, window: int) -> None:
    """Report the advantage collapse rate of a training run, or of an evaluation with several samples a task.

    A group collapses when all its episodes are won or all are lost: GRPO learns nothing from it. The thresholds are
    what AVSPO's authors saw in their runs (arXiv 2605.21125), not laws.

    \b
    Example:
      holdergym acr DIR
    """
    if (run / "metrics.jsonl").is_file():
        _of_training(run, window)
    else:
        _of_evaluation(run)


def _of_training(folder: Path, window: int) -> None:
    from ..training.metrics_log import read_metrics

    lines = [line for line in read_metrics(folder) if line.get("collapsed_groups") is not None]
    if not lines:
        raise HolderGymError(f"{folder}: no round with rollouts has ended yet, so no group can have collapsed")
    rates = [float(line["collapsed_groups"]) for line in lines]
    means = windowed(rates, window)
    echo(f"{folder}: {len(rates)} rounds")
    shown = sorted({round(place * (len(rates) - 1) / max(1, _LINES - 1)) for place in range(_LINES)})
    rows = [(int(lines[place]["round"]), f"{rates[place]:.2f}", f"{means[place]:.2f}") for place in shown]
    echo(tabulate(rows, headers=("round", "ACR", f"mean of {window}"), tablefmt="plain", disable_numparse=True))
    echo(f"mean of all rounds: {sum(rates) / len(rates):.3f}")
    for one in findings(rates):
        if math.isnan(one.value):
            echo(f"- {one.measured}: the run is too short to say")
            continue
        against = "above" if one.above else "not above"
        echo(
            f"- {one.measured}: {one.value:.3g}, {against} {one.threshold:g}"
            + (f" (the authors report of runs above it: {one.reported})" if one.above else "")
        )


def _of_evaluation(folder: Path) -> None:
    run = read_run(folder)
    found = collapse_of(run.results)
    if not found.groups:
        raise HolderGymError(
            f"{folder}: no task has two finished samples, so there are no groups: play it with --samples 8, for example"
        )
    interval = wilson(found.wrong + found.right, found.groups)
    echo(f"{folder}: {found.groups} groups of up to {run.config.samples} samples")
    echo(f"ACR {found.rate:.3f} (95% interval {interval.low:.3f} to {interval.high:.3f})")
    echo(f"- all lost: {found.wrong} ({found.wrong / found.groups:.1%})")
    echo(f"- all won: {found.right} ({found.right / found.groups:.1%})")
    if found.lonely:
        echo(f"- left out with fewer than two finished samples: {found.lonely}")
