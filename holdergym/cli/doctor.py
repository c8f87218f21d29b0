"""``holdergym doctor``: what is installed, which games are found, and what to do about what is missing."""

import importlib.metadata
import os
import platform
import re
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import click

from ..envs.alfworld.games import BUILTIN_PANELS, RELEASED, find_data, open_games, panel_names
from ..envs.alfworld.planner import shortest_plan
from ..envs.alfworld.tree import find_root, list_games
from ..envs.errors import HolderGymError
from ..envs.wording import counted
from ..eval.provenance import hardware
from ..version import __version__
from .paths import PATH_TEXT
from .terminal import echo

# What each extra is for. An extra that is not named here is for developers of this package.
_EXTRAS = {
    "alfworld": "the stock text engine (engine=textworld)",
    "train": "language models and training",
    "math": "the grader of answers that are not plain numbers",
    "hub": "problems from hub data sets",
    "vllm": "fast rollouts on a GPU",
    "site": "pictures of leaderboard sites",
    "openai": "models behind a server that speaks like OpenAI's",
}


@click.command()
@click.option(
    "--data", type=PATH_TEXT, help="Folder with json_2.1.1, or a packed file. [default: what ALFWORLD_DATA names]"
)
def command(data: str | None) -> int:
    """Say what is installed, which games are found, and what to do about what is missing.

    The exit code is 1 when a line begins with "problem", else 0: what is missing or partial is no problem.

    \b
    Example:
      holdergym doctor
    """
    machine = hardware()
    memory = "" if machine.memory_gib is None else f", {machine.memory_gib} GiB of memory"
    echo(f"holdergym {__version__}, Python {platform.python_version()}, {platform.platform()}")
    echo(f"{machine.cores} cores{memory}: {machine.processor}")
    _report_packages()
    well = (_report_games(data), _report_engine())
    return 0 if all(well) else 1


def _report_packages() -> None:
    for extra, names in _requirements().items():
        title = "needed packages" if not extra else f"extra {extra}: {_EXTRAS[extra]}"
        echo(f"\n{title}")
        versions = {name: _version(name) for name in names}
        for name, version in versions.items():
            echo(f"  {'missing' if version is None else 'ok':8} {name} {version or ''}".rstrip())
        if None in versions.values():
            advice = f"pip install 'holdergym[{extra}]'" if extra else "pip install --force-reinstall holdergym"
            echo(f"  to get what is missing: {advice}")


def _requirements() -> Mapping[str, list[str]]:
    """The packages that this one asks for, by extra; the plain needs under an empty name."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in importlib.metadata.requires("holdergym") or []:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"""extra == ["']([\w-]+)["']""", line)
        key = extra[1] if extra else ""
        if name and (key == "" or key in _EXTRAS):
            found[key].append(name[0])
    return found


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _report_games(data: str | None) -> bool:
    """Says which games there are, and returns whether all that is there can be opened."""
    echo("\ngames")
    echo(f"  ok       {', '.join(BUILTIN_PANELS)} (generated, no download)")
    if data is None and not os.environ.get("ALFWORLD_DATA"):
        echo("  missing  official games: pip install 'holdergym[alfworld]', run `alfworld-download`,")
        echo("           then set ALFWORLD_DATA to the folder that it filled, or give --data")
        return True
    try:
        path = find_data(data)
        names = panel_names(data)
    except HolderGymError as error:
        echo(f"  problem  {error}")
        return False
    echo(f"  ok       official games in {path}")
    well = True
    for name in names:
        try:
            count = _count_games(path, name)
        except HolderGymError as error:
            echo(f"  problem  {name}: {error}")
            well = False
            continue
        missing = RELEASED.get(name, 0) - count
        partial = f", {missing} fewer than the release has" if missing > 0 else ""
        echo(f"  {'partial' if partial else 'ok':8} {name}: {counted(count, 'game')}{partial}")
    echo("  to read every game and prove it solvable: holdergym games verify")
    return well


def _count_games(path: Path, panel: str) -> int:
    """Counts the games of a panel. The files of a tree are not read: all of them would take half a minute."""
    return len(open_games(panel, path)) if path.is_file() else len(list_games(find_root(path), panel).files)


def _report_engine() -> bool:
    """Plays a shortest plan in a built-in game: proof that generator, planner and engine work here."""
    echo("\nself-test")
    began = time.perf_counter()
    games = open_games(BUILTIN_PANELS[-1])
    state = games.world(next(iter(games))).initial_state()
    plan = shortest_plan(state) or ()
    for action in plan:
        state.step(action)
    seconds = time.perf_counter() - began
    verdict = "ok" if state.won else "problem"
    echo(f"  {verdict:8} a built-in game {'won' if state.won else 'NOT won'} in {len(plan)} commands, {seconds:.2f} s")
    return state.won
