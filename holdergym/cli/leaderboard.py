"""``holdergym leaderboard``: a table of runs, a site of static pages, and a board that runs are handed in to."""

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from tqdm import tqdm

from ..agents.trajectory import Trajectory
from ..envs.errors import HolderGymError
from ..envs.wording import counted
from ..eval.prices import read_prices
from ..eval.run import folder_of
from ..leaderboards.csv_file import boards_as_csv
from ..leaderboards.latex import boards_as_latex
from ..leaderboards.markdown import boards_as_markdown
from ..leaderboards.page import boards_as_html
from ..leaderboards.reading import read_any_run
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
    "latex": boards_as_latex,
}


def _a_number(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Refuses what click takes for a number in any range."""
    if math.isnan(value):
        raise click.BadParameter("nan is not a number.", ctx, param)
    return value


_prices = click.option(
    "--prices", type=PATH, help="TOML file with what a million tokens cost, by model. [default: the runs' agent.prices]"
)


class _TableByDefault(click.Group):
    """Shows a table unless the first argument is the name of something else to do."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the table's name before arguments that name nothing else."""
        names = [*self.commands, *ctx.help_option_names]
        return super().parse_args(ctx, args if args and args[0] in names else ["table", *args])


@click.group(cls=_TableByDefault)
def command() -> None:
    """Show run folders as a table: a row a run, a column a task type, with counts and 95% intervals.

    The same runs can be built into a site of static pages, and handed in to a board that checks them.

    `holdergym leaderboard RUN...` is short for `holdergym leaderboard table RUN...`. A run folder whose own name is
    that of a command below is given with a path, as in ./build.

    \b
    Examples:
      holdergym eval --agent random --out runs/a
      holdergym eval --agent expert --out runs/b
      holdergym leaderboard runs/a runs/b --format md
      holdergym leaderboard build runs --out site
      holdergym leaderboard add runs/a --board board
    """


@command.command()
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN...")
@click.option("--format", "form", type=click.Choice(list(_FORMATS)), default="text", show_default=True)
@_prices
@click.option("--out", type=OUTPUT, help="File to write instead of standard output.")
def table(runs: tuple[Path, ...], form: str, prices: Path | None, out: Path | None) -> None:
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
    read = [read_any_run(folder_of(run)) for run in runs]
    text = _FORMATS[form](build_boards(read, read_prices(prices) if prices else None))
    if out is None:
        echo(text, nl=False)
        return
    write_output(out, text.encode())


@command.command()
@click.argument("places", nargs=-1, required=True, type=PATH, metavar="RUNS...")
@click.option("--out", type=PATH, required=True, help="Folder to write. One that holds a site is replaced, no other.")
@_prices
@click.option(
    "--episodes-mb",
    type=click.FloatRange(min=0, max=500),
    callback=_a_number,
    default=20.0,
    show_default=True,
    help="Most megabytes of a run's episodes that are shown turn by turn; 0 shows none.",
)
@click.option("--papers/--no-papers", default=True, show_default=True, help="Whether published tables have pages, too.")
@click.option("--leave-out-damaged", is_flag=True, help="Go on without runs that cannot be read; the site names them.")
def build(
    places: tuple[Path, ...],
    out: Path,
    prices: Path | None,
    episodes_mb: float,
    papers: bool,
    leave_out_damaged: bool,
) -> None:
    """Build a site of static pages from run folders, and from folders that hold some.

    The pages open from disk, on phones, in light and dark: rankings with ties by paired tests, a heat map of task
    types, pass@k, success against steps and tokens, the curves of training runs, a page a run with its episodes turn by
    turn and the command that makes it again, and the papers' tables with runs that lie at PAPER/TABLE/ROW/... beside
    the published rows. Tables need no script, and can be copied as Markdown and LaTeX. Equal runs give equal bytes.

    The curves are drawn by plotly.js, which the extra `site` brings.

    \b
    Examples:
      holdergym leaderboard build runs --out site
      holdergym leaderboard build board runs/training --out site --episodes-mb 5
    """
    from ..leaderboards.site.building import build_site
    from ..leaderboards.site.gathering import gather
    from ..leaderboards.site.writing import check_target, write_site

    check_target(out)
    began = time.perf_counter()
    gathered = gather(places, leave_out_damaged=leave_out_damaged)
    site = build_site(
        gathered,
        read_prices(prices) if prices else None,
        viewer_bytes=round(episodes_mb * 1e6),
        papers=places if papers else None,
    )
    write_site(site.files, out)
    for note in site.notes:
        echo(f"note: {note}", err=True)
    episodes = sum(len(named.run.results) for named in gathered.runs)
    size = sum(map(len, site.files.values()))
    echo(
        f"{out / 'index.html'}: {counted(len(gathered.runs), 'run')} with {counted(episodes, 'episode')}, "
        f"{counted(len(gathered.trainings), 'training run')}; {counted(len(site.files), 'file')}, {size / 1e6:.1f} MB, "
        f"in {time.perf_counter() - began:.1f} s"
    )


@command.command()
@click.argument("run", type=PATH, metavar="RUN")
@click.option("--board", type=PATH, default=Path("board"), show_default=True, help="Folder of the board.")
@click.option("--name", help="Name of the run on the board. [default: that of its folder]")
@click.option(
    "--replay", is_flag=True, help="Play the recorded actions again, and hold the answers against the record."
)
@click.option("--data", type=PATH, help="Games or problems for --replay, as for `holdergym eval`.")
def add(run: Path, board: Path, name: str | None, replay: bool, data: Path | None) -> None:
    """Check a run folder and put a copy of it on a board, or refuse it with the reason.

    It must be a whole panel, every task with as many samples as asked for, no episode failed or missing; hashes,
    outcomes and the summary are recomputed, and each outcome must follow from its turns. With --replay the recorded
    actions are played again in the engine, or the answers graded again: every observation, reward and outcome must be
    the recorded one. A board is a folder of runs, so that every verb that takes runs takes those in it.

    What no check can see: which of many runs was handed in, whether the model saw the tasks before, and whether
    somebody else than the named agent chose the actions.

    \b
    Examples:
      holdergym leaderboard add runs/a --replay
      holdergym leaderboard add runs/b --board board --name mine --replay --data DIR
      holdergym leaderboard build board --out site
    """
    from ..leaderboards.submissions.board import add_run

    if data is not None and not replay:
        raise HolderGymError("--data says where the games of --replay are: add --replay, or leave it out")
    with tqdm(desc="played again", unit=" episodes", file=sys.stderr, disable=not sys.stderr.isatty()) as bar:

        def count(played: Trajectory) -> None:
            bar.update()

        added = add_run(run, board, name=name, replay=replay, data=data, each=count)
    taken = f"{added.folder}: {counted(len(added.run.results), 'episode')} checked"
    if added.replayed is not None:
        taken += (
            f", {counted(added.replayed.episodes, 'episode')} with {counted(added.replayed.turns, 'turn')} played again"
        )
    echo(taken if added.replayed is not None else f"{taken}; --replay would also play its actions again")
