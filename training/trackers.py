"""Where the numbers of a run go besides ``metrics.jsonl``: TensorBoard, Weights & Biases, trackio and MLflow.

A run that goes on later goes on in the same place: what each service calls the run stands in ``trackers.json`` in its
folder. Rounds that are played again after a kill replace those of before in TensorBoard; the other three keep what they
were given first, or both.
"""

import contextlib
import io
import json
import math
import sqlite3
import time
import tomllib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from ..envs.errors import HolderGymError
from ..envs.files import replace_file
from ..envs.settings import keys_of

if TYPE_CHECKING:
    from types import TracebackType

TrackerName = Literal["tensorboard", "wandb", "trackio", "mlflow"]

TRACKERS = "trackers.json"
_PROJECT = "holdergym"


class TrackerError(HolderGymError):
    """A service that cannot be opened or does not take a round."""


class TrackedRun(NamedTuple):
    """A run as a service is told of it.

    Attributes:
        folder: Its folder.
        settings: Its settings, in groups.
        after: The round that it goes on after; None if it begins.
        known: What the service called it before; empty if it begins.
    """

    folder: Path
    settings: Mapping[str, object]
    after: int | None
    known: str

    @property
    def id(self) -> str:
        """What it is called from now on, where the service leaves that to us."""
        return self.known or uuid.uuid4().hex[:12]


class Tracker(Protocol):
    """A service that takes numbers.

    Attributes:
        id: What it calls the run.
    """

    id: str

    def log(self, number: int, metrics: Mapping[str, float]) -> None:
        """Takes a round's numbers, all finite.

        Raises:
            TrackerError: If it does not.
        """

    def close(self, *, finished: bool) -> None:
        """Sends what is left, and leaves the run.

        Args:
            finished: Whether the run has come to its end.

        Raises:
            TrackerError: If it does not take it.
        """


class TensorBoard:
    """Event files in the folder ``tensorboard`` of the run."""

    def __init__(self, run: TrackedRun) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.id = "tensorboard"
        first = 0 if run.after is None else run.after + 1  # what is there of later rounds is played again
        with _complaints("tensorboard", OSError):
            self._writer = SummaryWriter(str(run.folder / "tensorboard"), purge_step=first)

    def log(self, number: int, metrics: Mapping[str, float]) -> None:
        """Writes a round to the disk."""
        with _complaints("tensorboard", OSError):
            for name, value in metrics.items():
                self._writer.add_scalar(name, value, number)
            self._writer.flush()

    def close(self, *, finished: bool) -> None:
        """Closes the file."""
        with _complaints("tensorboard", OSError):
            self._writer.close()


class WandB:
    """Weights & Biases. ``WANDB_MODE=offline`` needs no account and writes to the folder of the run."""

    def __init__(self, run: TrackedRun) -> None:
        import wandb

        self.id, self._error = run.id, wandb.errors.Error
        with self._complaints():
            self._run = wandb.init(
                project=_PROJECT,
                id=self.id,
                name=run.folder.name,
                dir=str(run.folder),
                config=dict(run.settings),
                resume="allow",
                settings=wandb.Settings(silent=True),
            )

    def log(self, number: int, metrics: Mapping[str, float]) -> None:
        """Hands a round over; it is sent in the background."""
        with self._complaints():
            self._run.log(dict(metrics), step=number, commit=True)

    def close(self, *, finished: bool) -> None:
        """Waits until all is sent."""
        with self._complaints():
            self._run.finish(exit_code=0 if finished else 1)

    @contextmanager
    def _complaints(self) -> Iterator[None]:
        with _complaints("wandb", self._error, OSError, hint="; log in with `wandb login`, or set WANDB_MODE=offline"):
            yield


class Trackio:
    """trackio keeps runs in a database on this machine; ``trackio show`` opens them."""

    def __init__(self, run: TrackedRun) -> None:
        import trackio

        self.id, self._trackio = run.known or f"{run.folder.name}-{run.id}", trackio
        with _complaints("trackio", OSError, ValueError, sqlite3.Error), _quiet():
            trackio.init(project=_PROJECT, name=self.id, config=_flat(run.settings), resume="allow", embed=False)

    def log(self, number: int, metrics: Mapping[str, float]) -> None:
        """Hands a round over; it is written in the background."""
        with _complaints("trackio", OSError, ValueError, RuntimeError, sqlite3.Error), _quiet():
            self._trackio.log(dict(metrics), step=number)

    def close(self, *, finished: bool) -> None:
        """Waits until all is written."""
        with _complaints("trackio", OSError, RuntimeError, sqlite3.Error), _quiet():
            self._trackio.finish()


class MLflow:
    """MLflow, wherever ``MLFLOW_TRACKING_URI`` says, or its own default."""

    def __init__(self, run: TrackedRun) -> None:
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param
        from mlflow.exceptions import MlflowException

        self._metric, self._error = Metric, MlflowException
        with self._complaints():
            self._client = MlflowClient()
            if run.known:
                self.id = run.known
                self._client.set_terminated(self.id, "RUNNING")
                return
            experiment = self._client.get_experiment_by_name(_PROJECT)
            number = self._client.create_experiment(_PROJECT) if experiment is None else experiment.experiment_id
            self.id = self._client.create_run(number, run_name=run.folder.name).info.run_id
            params = [Param(name, str(value)[:500]) for name, value in _flat(run.settings).items()]
            for start in range(0, len(params), 100):  # as many as it takes at once
                self._client.log_batch(self.id, params=params[start : start + 100])

    def log(self, number: int, metrics: Mapping[str, float]) -> None:
        """Sends a round."""
        now = int(time.time() * 1000)
        with self._complaints():
            self._client.log_batch(
                self.id, metrics=[self._metric(name, value, now, number) for name, value in metrics.items()]
            )

    def close(self, *, finished: bool) -> None:
        """Says that the run has ended."""
        with self._complaints():
            self._client.set_terminated(self.id, "FINISHED" if finished else "KILLED")

    @contextmanager
    def _complaints(self) -> Iterator[None]:
        with _complaints("mlflow", self._error, OSError, hint="; look at MLFLOW_TRACKING_URI"):
            yield


_KINDS: Mapping[TrackerName, Callable[[TrackedRun], Tracker]] = {
    "tensorboard": TensorBoard,
    "wandb": WandB,
    "trackio": Trackio,
    "mlflow": MLflow,
}


class Trackers:
    """All services that a run is to be logged to. One that does not take a round holds nothing up.

    Args:
        opened: The services, by name.
        say: Told in one line what a service did not take.
    """

    def __init__(self, opened: Mapping[TrackerName, Tracker], say: Callable[[str], None]) -> None:
        self._opened = opened
        self._say = say

    def log(self, number: int, metrics: Mapping[str, float]) -> None:
        """Hands a round to all services; undefined numbers are left out."""
        finite = {name: float(value) for name, value in metrics.items() if math.isfinite(value)}
        for one in self._opened.values():
            try:
                one.log(number, finite)
            except TrackerError as error:
                self._say(f"round {number} is in metrics.jsonl, but {error}")


def require_trackers(names: Sequence[TrackerName]) -> None:
    """Checks that the packages are there.

    Raises:
        TrackerError: If one is not.
    """
    for name in names:
        if find_spec(name) is None:
            raise TrackerError(f"log_to has {name!r}, which is not installed: pip install {name}, or leave it out")


@contextmanager
def open_trackers(
    names: Sequence[TrackerName], folder: Path, settings: str, after: int | None, say: Callable[[str], None]
) -> Iterator[Trackers]:
    """Opens services for a run.

    Args:
        names: Which.
        folder: The folder of the run.
        settings: Its settings, as TOML.
        after: The round that it goes on after; None if it begins.
        say: Told in one line what a service did not take.

    Raises:
        TrackerError: If one cannot be opened.
    """
    path, opened = folder / TRACKERS, dict[TrackerName, Tracker]()
    ids = _read_ids(path) if names else {}

    def leave(kind: "type[BaseException] | None", error: BaseException | None, trace: "TracebackType | None") -> None:
        for one in opened.values():
            try:
                one.close(finished=kind is None)
            except TrackerError as trouble:
                say(f"all rounds are in metrics.jsonl, but {trouble}")

    with ExitStack() as leaving:
        leaving.push(leave)
        for name in dict.fromkeys(names):
            run = TrackedRun(folder, tomllib.loads(settings), after, ids.get(name, ""))
            opened[name] = _KINDS[name](run)
            ids[name] = opened[name].id
        if names:
            try:
                replace_file(path, (json.dumps(ids, indent=2) + "\n").encode())
            except OSError as error:
                raise TrackerError(f"cannot write {path}: {error.strerror}") from None
        yield Trackers(opened, say)


def _read_ids(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TrackerError(f"cannot read {path} ({error}): remove it, and the services begin a new run") from None
    if not (isinstance(found, dict) and all(isinstance(value, str) for value in found.values())):
        raise TrackerError(f"{path} is damaged: remove it, and the services begin a new run")
    return found


def _flat(settings: Mapping[str, object]) -> dict[str, str]:
    """Settings by their dotted names."""
    flat = {}
    for key in keys_of(settings):
        value: object = settings
        for part in key.split("."):
            assert isinstance(value, Mapping)
            value = value[part]
        flat[key] = str(value)
    return flat


@contextmanager
def _complaints(name: str, *errors: type[Exception], hint: str = "") -> Iterator[None]:
    try:
        yield
    except errors as error:
        raise TrackerError(f"{name} says: {' '.join(str(error).split())[:200]}{hint}") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps greetings off the standard output."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
