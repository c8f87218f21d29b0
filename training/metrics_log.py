"""``metrics.jsonl``: one line a round, appended, and read back by whoever plots or resumes."""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from ..envs.errors import HolderGymError
from ..envs.files import hint_inside, replace_file

METRICS = "metrics.jsonl"


class MetricsError(HolderGymError):
    """A log of metrics that cannot be written or read."""


class MetricsLog:
    """The log of a run.

    Args:
        folder: The run's folder.
        rounds: The round of the checkpoint that the run goes on from; None if it begins. Lines of later rounds, which
            a killed process left, are cut off: these rounds are played again.

    Raises:
        MetricsError: If it cannot be written.
    """

    def __init__(self, folder: Path, rounds: int | None) -> None:
        self._path = folder / METRICS
        kept = []
        if rounds is not None and self._path.exists():
            kept = [line for line in read_metrics(folder) if line["round"] <= rounds]
        try:
            replace_file(self._path, "".join(json.dumps(line) + "\n" for line in kept).encode())
            self._file = self._path.open("a", encoding="utf-8")
        except OSError as error:
            raise MetricsError(f"cannot write {self._path}: {error.strerror}") from None

    def append(self, round: int, metrics: Mapping[str, float], seconds: Mapping[str, float]) -> None:
        """Adds a round. A number that is undefined is null.

        Raises:
            MetricsError: If the disk is full.
        """
        try:
            self._write({"round": round, **metrics, **seconds_by_stage(seconds)})
        except OSError as error:
            raise MetricsError(f"cannot write {self._path}: {error.strerror}") from None

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, record: Mapping[str, float | None]) -> None:
        finite = {
            key: value if value is None or isinstance(value, int) or math.isfinite(value) else None
            for key, value in record.items()
        }
        self._file.write(json.dumps(finite) + "\n")
        self._file.flush()


def seconds_by_stage(seconds: Mapping[str, float]) -> dict[str, float]:
    """The wall times of a round, by their names in the log."""
    return {f"seconds/{stage}": value for stage, value in seconds.items()}


def read_metrics(folder: Path) -> list[dict[str, float]]:
    """The lines of a run's log, in order; a half-written last line is left out.

    Raises:
        MetricsError: If there is none or a line is damaged.
    """
    path = folder / METRICS
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        hint = hint_inside(folder, path.name)
        raise MetricsError(f"there is no {path}: {folder} is not the folder of a training run{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise MetricsError(f"cannot read {path}: {error}") from None
    found = []
    # What stands behind the last newline was not written to its end.
    for number, line in enumerate(lines[:-1], start=1):
        try:
            record = json.loads(line)
        except ValueError:
            raise MetricsError(f"line {number} of {path} is damaged") from None
        if not isinstance(record, dict) or not isinstance(record.get("round"), int):
            raise MetricsError(f"line {number} of {path} is not of a round")
        found.append(record)
    return found
