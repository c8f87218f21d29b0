"""``holdergym compare``: runs against each other, task by task."""

from collections.abc import Callable
from pathlib import Path

import click

from ..eval.compare import Report, compare_runs
from ..eval.run import read_run
from ..leaderboards.comparison_json import report_as_json
from ..leaderboards.comparison_markdown import report_as_markdown
from ..leaderboards.comparison_text import SHOWN, report_as_text
from .output import write_output
from .paths import OUTPUT, PATH
from .terminal import echo

_FORMATS: dict[str, Callable[[Report, int], str]] = {
    "text": report_as_text,
    "md": report_as_markdown,
    "json": lambda report, shown: report_as_json(report),
}


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN RUN...")
@click.option("--anyway", is_flag=True, help="Compare runs that were played under different conditions, and say so.")
@click.option(
    "--discordant", type=click.IntRange(min=0), default=SHOWN, show_default=True, help="Most discordant tasks to list."
)
@click.option("--format", "form", type=click.Choice(list(_FORMATS)), default="text", show_default=True)
@click.option("--out", type=OUTPUT, help="File to write instead of standard output.")
def command(runs: tuple[Path, ...], anyway: bool, discordant: int, form: str, out: Path | None) -> None:
    """Compare runs task by task: who wins more often, by how much, and is it more than chance?

    Both runs must have played the same tasks under the same conditions. Where each task was played once, the test is
    McNemar's exact one; with several samples a task, a permutation test that keeps the samples of a task together.
    With more than two runs every pair is compared, and the p-values are corrected by Holm's method; so are those by
    task type. The interval of the difference, and each task with which the two did not do equally well, are shown.

    \b
    Example:
      holdergym eval --agent random --limit 12 --out runs/a
      holdergym eval --agent expert --limit 12 --out runs/b
      holdergym compare runs/a runs/b
    """
    text = _FORMATS[form](compare_runs([read_run(run) for run in runs], anyway=anyway), discordant)
    if out is None:
        echo(text, nl=False)
        return
    write_output(out, text.encode())
