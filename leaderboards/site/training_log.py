"""What the site reads of a training run's folder: its settings and the curves of its log.

Leaderboards do not import the trainer, so this reads the two files by their form alone: ``config.toml``, and
``metrics.jsonl`` with a JSON object a round. Both may come from a stranger.
"""

import json
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...envs.errors import HolderGymError
from ...envs.files import open_file

CONFIG, METRICS = "config.toml", "metrics.jsonl"
MOST_BYTES = 64 * 2**20
"""A log of a hundred thousand rounds is smaller."""
MOST_CONFIG_BYTES = 2**20

# Metrics that are shown, by the names that the trainer writes, and what they are called.
CURVES = {
    "success": "success in training",
    "validation/success": "success in validation, greedy",
    "reward": "reward",
    "p": "Hölder exponent p",
    "collapsed_groups": "collapsed groups (ACR)",
    "entropy": "entropy",
    "kl": "KL to the reference",
}
# Settings that say what was trained and how, in the order in which they are shown.
_SETTINGS = {
    "method": ("method", "name"),
    "model": ("agent", "model"),
    "environment": ("env",),
    "panel": ("panel",),
    "task type": ("task_type",),
    "rounds asked for": ("rounds",),
    "groups a round": ("groups",),
    "episodes a group": ("group_size",),
    "optimiser steps a round": ("updates",),
    "learning rate": ("optimiser", "learning_rate"),
    "seed": ("seed",),
}


class TrainingLogError(HolderGymError):
    """The folder of a training run that cannot be read."""


class Point(NamedTuple):
    """A metric in a round."""

    round: int
    value: float


@dataclass(frozen=True)
class Training:
    """A training run.

    Attributes:
        folder: Where it is.
        method: Name of the method; ``warm start`` for a run without one.
        settings: What was trained and how, pairs of a name and a text.
        rounds: The last round in the log.
        curves: The points of each metric of ``CURVES`` that the log has.
        config: The bytes of ``config.toml``.
    """

    folder: Path
    method: str
    settings: tuple[tuple[str, str], ...]
    rounds: int
    curves: Mapping[str, tuple[Point, ...]]
    config: bytes


def is_training(folder: Path) -> bool:
    """Whether a folder is that of a training run."""
    return (folder / CONFIG).is_file() and (folder / METRICS).is_file()


def read_training(folder: Path) -> Training:
    """Reads a training run, finished or not. A half-written last line of the log is left out.

    Raises:
        TrainingLogError: If a file is missing, too large or damaged.
    """
    config = _read(folder / CONFIG, MOST_CONFIG_BYTES)
    try:
        settings = tomllib.loads(config.decode())
    except (ValueError, RecursionError) as error:
        raise TrainingLogError(f"{folder / CONFIG} is damaged: {str(error)[:200]}") from None
    rounds, curves = _read_log(folder / METRICS)
    shown = [(name, text) for name, keys in _SETTINGS.items() if (text := _setting(settings, keys)) is not None]
    method = _setting(settings, ("method", "name")) or "warm start"
    return Training(folder, method, tuple(shown), rounds, curves, config)


def _setting(settings: object, keys: tuple[str, ...]) -> str | None:
    for key in keys:
        settings = settings.get(key) if isinstance(settings, Mapping) else None
    return str(settings)[:500] if isinstance(settings, str | int | float) else None


def _read_log(path: Path) -> tuple[int, dict[str, tuple[Point, ...]]]:
    found: dict[str, list[Point]] = {name: [] for name in CURVES}
    last = 0
    # What stands behind the last newline was not written to its end.
    for number, line in enumerate(_read(path, MOST_BYTES).split(b"\n")[:-1], start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise TrainingLogError(f"line {number} of {path} is damaged") from None
        if not isinstance(record, dict) or type(record.get("round")) is not int or not 0 <= record["round"] < 2**53:
            raise TrainingLogError(f"line {number} of {path} is not of a round")
        if number > 1 and record["round"] <= last:
            raise TrainingLogError(f"line {number} of {path} is of round {record['round']}, after round {last}")
        last = record["round"]
        for name, points in found.items():
            value = _number(record.get(name))
            if value is not None:
                points.append(Point(last, value))
    return last, {name: tuple(points) for name, points in found.items() if points}


def _number(value: object) -> float | None:
    """A finite number that a picture can hold, or None: what is undefined is null in the log."""
    if type(value) is int:
        return float(value) if abs(value) < 2**53 else None
    return value if isinstance(value, float) and math.isfinite(value) else None


def _read(path: Path, most: int) -> bytes:
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise TrainingLogError(f"{path} has {size:,} bytes, more than the {most:,} that are read")
            return file.read()
    except FileNotFoundError:
        raise TrainingLogError(f"there is no {path}: {path.parent} is not the folder of a training run") from None
    except OSError as error:
        raise TrainingLogError(f"cannot read {path}: {error.strerror}") from None
