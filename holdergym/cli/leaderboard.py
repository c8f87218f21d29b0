"""``holdergym leaderboard``: a table of runs."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from ..envs.errors import HolderGymError
from ..eval.prices import read_prices
from ..eval.run import folder_of, read_run
from ..leaderboards.csv_file import boards_as_csv
from ..leaderboards.markdown import boards_as_markdown
from ..leaderboards.page import boards_as_html
from ..leaderboards.rows import Board, build_boards
from ..leaderboards.text import boards_as_text
from .output import write_output
from .paths import OUTPUT, PATH
from .terminal import echo

_FORMATS: dict[str, Callable[[Sequence[Board]], str]] = {
    "text": boards_as_text,
    "md": boards_as_markdown,
    "csv": boards_as_csv,
    "html": boards_as_html,
}


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN...")
@click.option("--format", "form", type=click.Choice(list(_FORMATS)), default="text", show_default=True)
@click.option(
    "--prices", type=PATH, help="TOML file with what a million tokens cost, by model. [default: the runs' agent.prices]"
)
@click.option("--out", type=OUTPUT, help="File to write instead of standard output.")
def command(runs: tuple[Path, ...], form: str, prices: Path | None, out: Path | None) -> None:
    """Show run folders as a table: a row a run, a column a task type, with counts and 95% intervals.

    A run is its folder, or any of the files in it. Runs on different panels go into different tables. A part of a
    panel, an unfinished run, failed episodes and repeated samples are named as such. Runs with several samples a task
    have a second table with pass@k, pass^k and avg@k, language models one with tokens, seconds and, given prices,
    costs.

    \b
    Example:
      holdergym eval --agent random --limit 6 --out runs/a
      holdergym eval --agent expert --limit 6 --out runs/b
      holdergym leaderboard runs/a runs/b --format md

    \b
    A file of prices:
      ["my-model"]
      prompt = 0.15
      cached = 0.075
      generated = 0.6
    """
    folders = [os.path.realpath(folder_of(run)) for run in runs]
    for number, folder in enumerate(folders):
        if folder in folders[:number]:
            raise HolderGymError(f"the run folder {runs[number]} is given twice: a run has one row")
    text = _FORMATS[form](build_boards([read_run(run) for run in runs], read_prices(prices) if prices else None))
    if out is None:
        echo(text, nl=False)
        return
    write_output(out, text.encode())
