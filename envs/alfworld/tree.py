"""The official folder tree, as ``alfworld-download`` makes it: ``json_2.1.1/SPLIT/TASK/TRIAL/game.tw-pddl``."""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import GameError, HolderGymError, UnknownNameError
from .domain import DOMAIN, game_entries, grammar
from .game import Game
from .problem import Problem, TaskType

VERSION_FOLDER = "json_2.1.1"
GAME_FILE = "game.tw-pddl"
NO_GAME = f"no {GAME_FILE}"

# The stock engine leaves these out by the same test on the folder's name (`AlfredTWEnv.collect_game_files`).
_LEFT_OUT_NAMES = ("movable", "Sliced")

# Where `alfworld-generate` puts the task, in the grammar that stands in the folder logic.
_UNKNOWN_TASK = "Your task is to: UNKNOWN GOAL."


class LeftOut(NamedTuple):
    """A trial folder whose game is not in the panel, as in the stock engine, and why."""

    folder: Path
    reason: str


class Listing(NamedTuple):
    """The game files of a split, sorted folder by folder, and the trial folders that give no game."""

    files: tuple[Path, ...]
    left_out: tuple[LeftOut, ...]


def find_root(path: Path) -> Path:
    """Finds the folder ``json_2.1.1`` of a tree.

    Args:
        path: The folder that holds ``json_2.1.1``, or ``json_2.1.1`` itself.

    Raises:
        HolderGymError: If it is elsewhere (the message says where, if it is near) or nowhere.
    """
    path = path.absolute()
    if path.name == VERSION_FOLDER and path.is_dir():
        return path
    if (path / VERSION_FOLDER).is_dir():
        return path / VERSION_FOLDER
    for folder in path.parents:
        if folder.name == VERSION_FOLDER:
            raise HolderGymError(f"{path} is inside a tree of games: give its root, --data {folder.parent}")
    below = [str(folder) for folder in _subfolders(path) if (folder / VERSION_FOLDER).is_dir()]
    if below:
        raise HolderGymError(f"no folder {VERSION_FOLDER} in {path}: give --data {' or '.join(below[:3])}")
    raise HolderGymError(
        f"no folder {VERSION_FOLDER} in {path}: give the folder that `alfworld-download` filled, or a file "
        "made by `holdergym games pack`"
    )


def list_splits(root: Path) -> tuple[str, ...]:
    """Names the splits of a tree, sorted.

    Args:
        root: The folder ``json_2.1.1``.

    Raises:
        HolderGymError: If there is none.
    """
    splits = tuple(folder.name for folder in _subfolders(root))
    odd = next((split for split in splits if not split.isprintable()), None)
    if odd is not None:
        raise GameError(f"{str(root / odd)!r}: the folder's name is not plain UTF-8 text: rename it")
    if not splits:
        raise HolderGymError(f"{root} is empty: run `alfworld-download` again, or give another --data")
    return splits


def list_games(root: Path, split: str) -> Listing:
    """Finds the game files of a split. Looks exactly two folders deep, so links cannot lead it in a circle.

    Raises:
        UnknownNameError: If there is no such split.
        GameError: If a game file is not two folders deep, or a folder name cannot be part of a task id.
    """
    folder = root / split
    splits = list_splits(root)
    if split not in splits:
        raise UnknownNameError(f"panel of {root}:", split, splits)
    files: list[Path] = []
    left_out: list[LeftOut] = []
    for task in _subfolders(folder):
        if os.path.lexists(task / GAME_FILE):
            raise GameError(f"{task / GAME_FILE}: stands one folder too high: move it to TASK/TRIAL/{GAME_FILE}")
        for trial in _subfolders(task):
            if not (task.name + trial.name).isprintable():
                raise GameError(f"{str(trial)!r}: the folder's name is not plain UTF-8 text: rename it")
            if any(word in str(trial.relative_to(root)) for word in _LEFT_OUT_NAMES):
                left_out.append(LeftOut(trial, "movable receptacle or sliced object, as in the stock engine"))
            elif os.path.lexists(trial / GAME_FILE):
                files.append(trial / GAME_FILE)
            else:
                left_out.append(LeftOut(trial, NO_GAME))
    return Listing(tuple(files), tuple(left_out))


def write_games(path: Path, games: Iterable[Game]) -> int:
    """Writes games as a tree that ``open_games`` and the stock engine read, and counts them.

    Beside each ``game.tw-pddl`` stand ``initial_state.pddl`` and a ``traj_data.json`` with what the stock engine's
    loader and hand-coded expert look up; ``logic/`` gets the domain and the grammar.

    Args:
        path: The root: ``json_2.1.1/SPLIT/TASK/TRIAL/`` are made below it from the task ids.
        games: Games of dialect 0.4.

    Each split appears at once when all its games are written, so that a killed process leaves no partial panel.

    Raises:
        HolderGymError: If a file cannot be written, or a split is there already.
    """
    count = 0
    staged: dict[Path, Path] = {}
    try:
        for name, text in (("alfred.pddl", DOMAIN), ("alfred.twl2", grammar(_UNKNOWN_TASK))):
            if not (path / "logic" / name).exists():  # another release's rules are left as they are
                _write(path / "logic" / name, text)
        for game in games:
            _, split, task, trial = game.task.id.split("/")
            target = path / VERSION_FOLDER / split
            if target not in staged:
                # A hidden folder is no split: what a killed process leaves is not taken for a smaller panel.
                staged[target] = target.with_name(f".{split}.new")
                shutil.rmtree(staged[target], ignore_errors=True)
            folder = staged[target] / task / trial
            entries = game_entries(game)
            _write(folder / GAME_FILE, json.dumps(entries))
            _write(folder / "initial_state.pddl", str(entries["pddl_problem"]))
            _write(folder / "traj_data.json", json.dumps(_trajectory(trial, game.problem)))
            count += 1
        for target, staging in staged.items():
            staging.rename(target)
    except OSError as error:
        raise HolderGymError(f"{error.filename}: cannot be written ({error.strerror}): choose another --out") from None
    return count


def type_in_name(task_id: str) -> TaskType | None:
    """The task type that the folder's name claims (``pick_and_place_simple-Mug-None-Desk-301``), if any."""
    claimed = task_id.split("/")[-2].partition("-")[0]
    return TaskType(claimed) if claimed in set(TaskType) else None


def _subfolders(path: Path) -> list[Path]:
    """The folders in a folder, sorted by name; hidden ones are no part of a data set."""
    found = []
    try:
        for entry in os.scandir(path):
            if entry.name.startswith("."):
                continue
            if entry.is_symlink() and not os.path.exists(entry):
                raise GameError(f"{entry.path}: is a link that leads nowhere: mend or remove it")
            if entry.is_dir():
                found.append(entry.name)
    except OSError as error:
        raise HolderGymError(f"{path}: cannot be listed ({error.strerror}): give another --data") from None
    return [path / name for name in sorted(found)]


def _trajectory(trial: str, problem: Problem) -> dict[str, object]:
    """What ``AlfredTWEnv`` and ``HandCodedTWAgent`` read from a ``traj_data.json``."""
    kind, thing, target = problem.goal
    thing, target = thing.removesuffix("type"), target.removesuffix("type")
    lamp = kind is TaskType.LOOK_AT
    parameters = {
        "mrecep_target": "",
        "object_sliced": False,
        "object_target": thing,
        "parent_target": "" if lamp else target,
        "toggle_target": target if lamp else "",
    }
    return {"task_id": trial, "task_type": str(kind), "pddl_params": parameters}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
