"""``holdergym games``: list, verify, pack and generate ALFWorld games."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from tabulate import tabulate
from tqdm import tqdm

from ..envs.alfworld.games import (
    BUILTIN_PANELS,
    RELEASED,
    Games,
    find_data,
    open_games,
    panel_names,
)
from ..envs.alfworld.generator import DIFFICULTIES, generate_games
from ..envs.alfworld.pack import PackedPanel, write_pack
from ..envs.alfworld.problem import TaskType
from ..envs.alfworld.tree import VERSION_FOLDER, LeftOut, find_root, list_games, write_games
from ..envs.alfworld.verify import Verdict, verify_files, verify_stored
from ..envs.errors import GameError, HolderGymError
from ..envs.wording import counted
from .paths import OUTPUT, PATH
from .terminal import echo, visible

_data = click.option(
    "--data",
    type=PATH,
    help="Folder with json_2.1.1, or a packed file. Default: what ALFWORLD_DATA names.",
)
_panels = click.option(
    "--panel", "panels", multiple=True, metavar="NAME", help="Only this panel; may be given several times."
)


@click.group()
def command() -> None:
    """List, verify, pack and generate ALFWorld games.

    \b
    Example:
      holdergym games list --panel builtin_valid
    """


@command.command("list")
@_data
@_panels
@click.option("--tasks", is_flag=True, help="Print one line for each game: id, type, dialect.")
def list_(data: Path | None, panels: tuple[str, ...], tasks: bool) -> None:
    """Count the games of each panel by type, with dialect and panel hash.

    \b
    Example:
      holdergym games list --panel builtin_valid
    """
    if data is None and not panels and not os.environ.get("ALFWORLD_DATA"):
        panels = BUILTIN_PANELS
    failed = []
    rows = []
    for name in panels or panel_names(data):
        try:
            games = open_games(name, _data_of(name, data))
        except HolderGymError as error:
            failed.append(str(error))
            continue
        _warn_of_gaps(games)
        if tasks:
            for task in games.panel.tasks:
                echo(f"{task.id}\t{task.type}\t{task.metadata['dialect']}")
        rows.append(_row(games))
    if rows and not tasks:
        headers = ["panel", "games", *(kind.name.lower() for kind in TaskType), "dialect", "sha256"]
        echo(tabulate(rows, headers, disable_numparse=True, colalign=_ALIGNED))
    _end(failed, "panel cannot be opened", "panels cannot be opened")


@command.command()
@_data
@_panels
def verify(data: Path | None, panels: tuple[str, ...]) -> None:
    """Read every game, replay its walkthrough and prove it solvable; print each problem on one line.

    \b
    Example:
      holdergym games verify --panel builtin_valid
    """
    problems: list[str] = []
    for name in panels or panel_names(data):
        verdicts, count = _verdicts(name, _data_of(name, data))
        found = 0
        for verdict in tqdm(verdicts, desc=visible(name), total=count, unit="game", leave=False, disable=None):
            found += bool(verdict.problems)
            for problem in verdict.problems:
                tqdm.write(visible(problem))
            problems += verdict.problems
        echo(f"{name}: {count - found} of {count} games can be played and solved")
    _end(problems, "problem found", "problems found", shown=True)


@command.command()
@_data
@_panels
@click.option("--out", type=OUTPUT, required=True, help="The file to write.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
def pack(data: Path | None, panels: tuple[str, ...], out: Path, force: bool) -> None:
    """Write panels into one small file that opens in milliseconds.

    \b
    Example:
      holdergym games pack --panel builtin_valid --out builtin.games
    """
    if out.exists() and not force:
        raise HolderGymError(f"{out} is there already: give --force to replace it")
    opened = [open_games(name, _data_of(name, data)) for name in dict.fromkeys(panels) or panel_names(data)]
    for games in opened:
        _warn_of_gaps(games)
    write_pack(out, [PackedPanel(games.panel, games.stored) for games in opened])
    count = sum(map(len, opened))
    echo(f"{out}: {counted(count, 'game')} in {out.stat().st_size:,} bytes")


@command.command()
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the first game; the next ones count up.",
)
@click.option("--count", default=60, show_default=True, help="Number of games; the six task types by turns.")
@click.option("--out", type=PATH, required=True, help="The folder that gets json_2.1.1.")
@click.option(
    "--difficulty",
    default="full",
    show_default=True,
    help=f"Size of the rooms: {', '.join(DIFFICULTIES)}, or a number from 0 to 1.",
)
@click.option("--panel", default="generated", show_default=True, help="Name of the split to write.")
def generate(seed: int, count: int, out: Path, difficulty: str, panel: str) -> None:
    """Generate solvable games in the official format, which the stock engine plays too.

    \b
    Example:
      holdergym games generate --seed 0 --count 60 --out my_games
    """
    if panel in RELEASED or panel in BUILTIN_PANELS or not _PANEL_NAME.fullmatch(panel):
        taken = ", ".join((*RELEASED, *BUILTIN_PANELS))
        raise HolderGymError(
            f"--panel {panel!r} cannot be used: give letters, digits, '_', '-' and '.', and none of {taken}"
        )
    if count > _MOST_GAMES:
        raise HolderGymError(
            f"--count {count} is more than {_MOST_GAMES:,}: generate several panels, with other seeds and names"
        )
    folder = out / VERSION_FOLDER / panel
    if folder.exists():
        raise HolderGymError(f"{folder} is there already: choose another --out or --panel")
    games = generate_games(seed, count, _number_or_name(difficulty), panel=panel)
    written = write_games(out, tqdm(games, total=count, unit="game", leave=False, disable=None))
    echo(f"{folder}: {counted(written, 'game')}, sha256 {open_games(panel, out).panel.sha256}")


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _data_of(panel: str, data: Path | None) -> Path | None:
    """The data of a panel: none for the generated ones, unless the data hold a copy of them."""
    return None if panel in BUILTIN_PANELS and (data is None or panel not in panel_names(data)) else data


def _verdicts(panel: str, data: Path | None) -> tuple[Iterator[Verdict], int]:
    """The verdicts on a panel and their number. Files of a tree are read one by one, however bad some are."""
    if panel in BUILTIN_PANELS or (path := find_data(data)).is_file():
        games = open_games(panel, data)
        _warn_of_gaps(games)
        return verify_stored(games.stored), len(games)
    listing = list_games(find_root(path), panel)
    if not listing.files:
        raise GameError(f"{find_root(path) / panel} holds no game: run `alfworld-download` again")
    _warn_of_left_out(panel, listing.left_out)
    _warn_of_count(panel, len(listing.files))
    return verify_files(listing.files), len(listing.files)


# Three times what the largest released split has; as a tree they take some 15 GB.
_MOST_GAMES = 100_000
_PANEL_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_ALIGNED = ("left", "right", *["right"] * len(TaskType), "left", "left")


def _row(games: Games) -> list[str]:
    panel = games.panel
    types = Counter(task.type for task in panel.tasks)
    dialects = sorted({task.metadata["dialect"] for task in panel.tasks})
    size = f"{len(games)} of {panel.full_size}" if panel.partial else str(len(games))
    return [panel.name, size, *(str(types[kind]) for kind in TaskType), ", ".join(dialects), panel.sha256[:16]]


def _warn_of_gaps(games: Games) -> None:
    _warn_of_left_out(games.panel.name, games.left_out)
    _warn_of_count(games.panel.name, len(games))


def _warn_of_left_out(panel: str, left_out: tuple[LeftOut, ...]) -> None:
    for reason, count in sorted(Counter(item.reason for item in left_out).items()):
        folders = "trial folder" if count == 1 else "trial folders"
        echo(f"note: {panel}: {count} {folders} left out: {reason}", err=True)


def _warn_of_count(panel: str, count: int) -> None:
    released = RELEASED.get(panel, count)
    if count != released:
        what = "is partial" if count < released else "is not the released split"
        echo(f"warning: {panel} {what}: {counted(count, 'game')} here, {released} in the release", err=True)


def _end(problems: list[str], one: str, many: str, *, shown: bool = False) -> None:
    """Ends with exit code 2 if there were problems; the last line on standard error counts or is them."""
    if not problems:
        return
    if len(problems) == 1 and not shown:
        raise GameError(problems[0])
    if not shown:
        for problem in problems:
            echo(problem, err=True)
    raise GameError(f"{len(problems)} {one if len(problems) == 1 else many}: see the lines above")
