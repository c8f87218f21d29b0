"""Finds the run folders of evaluations and training runs below the places that a user gives, and reads them."""

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...envs.errors import HolderGymError
from ...envs.files import read_file
from ...eval.errors import RunError
from ...eval.run import MANIFEST, Run, folder_of
from ..reading import read_any_run
from .training_log import METRICS, Training, is_training, read_training

MOST_DEPTH = 6
"""Folders below a given one in which runs are looked for."""
MOST_FOLDERS = 20_000


class LeftOut(NamedTuple):
    """A run folder that could not be read, and why."""

    folder: str
    reason: str


class NamedRun(NamedTuple):
    """A run and the name that its files in the site begin with."""

    slug: str
    run: Run


class NamedTraining(NamedTuple):
    """A training run and the name that its files in the site begin with."""

    slug: str
    training: Training


class Gathered(NamedTuple):
    """What was found, in the order of the names."""

    runs: tuple[NamedRun, ...]
    trainings: tuple[NamedTraining, ...]
    left_out: tuple[LeftOut, ...]


def gather(places: Sequence[Path], *, leave_out_damaged: bool = False) -> Gathered:
    """Reads all runs at some places: run folders, files in them, or folders with run folders somewhere below.

    Links to folders and names that begin with a dot are not followed, below a given place.

    Args:
        places: Where to look.
        leave_out_damaged: Whether to go on without a run that cannot be read, and say so.

    Raises:
        HolderGymError: If there is no run, a run cannot be read, or one is there twice.
    """
    folders: dict[str, Path] = {}
    for place in places:
        for folder in _run_folders(folder_of(place)):
            folders.setdefault(os.path.realpath(folder), folder)
    runs, trainings, left_out = [], [], []
    for folder in folders.values():
        try:
            if (folder / MANIFEST).is_file():
                runs.append(NamedRun(_slug(folder, MANIFEST), read_any_run(folder)))
            else:
                trainings.append(NamedTraining(_slug(folder, METRICS), read_training(folder)))
        except HolderGymError as error:
            if not leave_out_damaged:
                raise RunError(f"{error} (with --leave-out-damaged the site is built without it)") from None
            left_out.append(LeftOut(folder.resolve().name, str(error)))
    if not runs and not trainings:
        raise RunError(
            f"there is no run in {', '.join(map(str, places))}: give run folders, or a folder that holds some"
        )
    _refuse_copies(runs, trainings)
    return Gathered(tuple(sorted(runs, key=_name_of)), tuple(sorted(trainings, key=_name_of)), tuple(sorted(left_out)))


def _run_folders(place: Path) -> list[Path]:
    """The run folders at and below a place, sorted by path."""
    if not place.is_dir():
        raise RunError(f"{place} does not exist" if not place.exists() else f"{place} is not a run folder")
    found, waiting, seen = [], [(place, 0)], 0
    while waiting:
        folder, depth = waiting.pop()
        if (folder / MANIFEST).is_file() or is_training(folder):
            found.append(folder)
            continue
        if depth == MOST_DEPTH:
            continue
        try:
            inside = [Path(one.path) for one in os.scandir(folder) if one.is_dir(follow_symlinks=False)]
        except OSError as error:
            raise RunError(f"cannot read {folder}: {error.strerror}") from None
        below = [(one, depth + 1) for one in inside if not one.name.startswith(".")]
        seen += len(below)
        if seen > MOST_FOLDERS:
            raise RunError(f"{place} holds more than {MOST_FOLDERS:,} folders: give the folder that the runs are in")
        waiting += below
    return sorted(found)


def _slug(folder: Path, marker: str) -> str:
    """A name of small letters, digits and hyphens, that no path can hide in, and that tells apart runs of one name."""
    words = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")[:40].strip("-")
    try:
        digest = hashlib.sha256(read_file(folder / marker)).hexdigest()[:10]
    except OSError as error:
        raise RunError(f"cannot read {folder / marker}: {error.strerror}") from None
    return f"{words}-{digest}" if words else digest


def _name_of(named: NamedRun | NamedTraining) -> tuple[str, str]:
    return named[1].folder.resolve().name, named.slug


def _refuse_copies(runs: Sequence[NamedRun], trainings: Sequence[NamedTraining]) -> None:
    """A copied run would be counted twice."""
    seen: dict[str, Path] = {}
    for digest, folder in [
        *((slug[-10:], run.folder) for slug, run in runs),
        *((slug[-10:], training.folder) for slug, training in trainings),
    ]:
        if digest in seen:
            raise RunError(f"{seen[digest]} and {folder} are copies of one run: give one of them")
        seen[digest] = folder
