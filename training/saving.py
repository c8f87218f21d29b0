"""Checkpoints of a training run: whole or not there, and with all that the run goes on from."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import NamedTuple

import torch
from safetensors import SafetensorError

from ..envs.errors import HolderGymError
from .learner import Learner
from .trainer import Progress

SCHEMA = 2
_STATE, _TENSORS, _MODEL = "state.json", "tensors.pt", "model"


class CheckpointError(HolderGymError):
    """A checkpoint that cannot be written, or not be gone on from."""


class Restored(NamedTuple):
    """What a checkpoint holds besides the models that the evaluator loads.

    Attributes:
        progress: How far the run was.
        learners: For each learner the trained parameters by name (``weights``) and the state of its ``optimiser``.
        best: Success rate of the best validation so far, and its round; None before the first.
    """

    progress: Progress
    learners: Mapping[str, Mapping[str, Mapping[str, object]]]
    best: tuple[float, int] | None


@dataclass(frozen=True)
class Checkpoints:
    """The folder ``checkpoints`` of a run.

    Attributes:
        folder: Where they are.
        keep_last: How many are kept besides the best.
    """

    folder: Path
    keep_last: int

    def latest(self) -> Path | None:
        """The newest whole checkpoint."""
        found = self._found()
        return found[-1] if found else None

    def save(
        self,
        progress: Progress,
        learners: Sequence[Learner],
        best: tuple[float, int] | None,
    ) -> Path:
        """Writes a checkpoint, then removes those that are no longer wanted.

        Args:
            progress: How far the run is.
            learners: What learns: each one's model for the evaluator, its trained parameters and its optimiser.
            best: Success rate and round of the best validation so far.

        Raises:
            CheckpointError: If the disk is full or cannot be written; earlier checkpoints are untouched.
        """
        path = self.folder / _name(progress.round)
        new = self.folder / f".{path.name}.new"
        state: dict[str, object] = {
            "schema": SCHEMA,
            "round": progress.round,
            "update": progress.update,
            "stage": {name: dict(remembered) for name, remembered in progress.stage.items()},
            "best": best,
        }
        tensors = {
            one.name: {"weights": _trained(one.policy.model), "optimiser": one.optimiser.state()} for one in learners
        }
        try:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            for place, one in enumerate(learners):
                one.policy.save(new / (_MODEL if place == 0 else one.name))
            torch.save({"learners": tensors}, new / _TENSORS)
            # torch does not notice a flipped bit.
            state["sha256"] = _digest(new / _TENSORS)
            (new / _STATE).write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
            for file in sorted(new.rglob("*")):
                if file.is_file():
                    _to_disk(file)
            _to_disk(new)
            shutil.rmtree(path, ignore_errors=True)  # of a round that is played again after a kill
            os.replace(new, path)
            _to_disk(self.folder)
        except (OSError, RuntimeError, SafetensorError) as error:
            raise CheckpointError(f"cannot write the checkpoint {path}: {_brief(error)}") from None
        self._clean(best)
        return path

    def restore(self, path: Path) -> Restored:
        """Reads a checkpoint.

        Raises:
            CheckpointError: If it is damaged or of another version.
        """
        try:
            state = json.loads((path / _STATE).read_text(encoding="utf-8"))
            if state["schema"] > SCHEMA:
                raise CheckpointError(
                    f"{path} has version {state['schema']}, and this version of holdergym reads up to {SCHEMA}"
                )
            if state["sha256"] != _digest(path / _TENSORS):
                raise ValueError(f"{_TENSORS} is not what was written")
            tensors = torch.load(path / _TENSORS, weights_only=True, map_location="cpu")
            best = None if state["best"] is None else (float(state["best"][0]), int(state["best"][1]))
            if state["schema"] < 2:  # no stage remembered anything then, and there was one learner
                return Restored(Progress(state["round"], state["update"]), {"policy": tensors}, best)
            return Restored(Progress(state["round"], state["update"], state["stage"]), tensors["learners"], best)
        except (OSError, ValueError, LookupError, TypeError, RuntimeError, EOFError, UnpicklingError) as error:
            raise CheckpointError(
                f"the checkpoint {path} is damaged ({_brief(error)}): remove it, and the one before is gone on from"
            ) from None

    def model_of(self, round: int) -> Path:
        """The model of a round's checkpoint, for the evaluator."""
        return self.folder / _name(round) / _MODEL

    def _found(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        return sorted(one for one in self.folder.iterdir() if (one / _STATE).is_file() and not one.name.startswith("."))

    def _clean(self, best: tuple[float, int] | None) -> None:
        kept = {path.name for path in self._found()[-self.keep_last :]}
        if best is not None:
            kept.add(_name(best[1]))
        for path in self._found():
            if path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)


def load_learner(learner: Learner, restored: Restored, path: Path) -> None:
    """Puts the weights and the optimiser's state of a checkpoint into a learner.

    Raises:
        CheckpointError: If they belong to another architecture.
    """
    layers = learner.policy.layers
    layers.spread()
    saved = restored.learners.get(learner.name, {"weights": {}})
    weights = saved["weights"]
    own = {name: one for name, one in learner.policy.model.named_parameters() if one.requires_grad}
    shapes = {name: tuple(one.shape) for name, one in own.items()}
    theirs = {name: tuple(one.shape) for name, one in weights.items() if isinstance(one, torch.Tensor)}
    if shapes != theirs:
        first = sorted(name for name in shapes.keys() | theirs.keys() if shapes.get(name) != theirs.get(name))[0]
        raise CheckpointError(
            f"{path} holds another model: {first} is {theirs.get(first, 'not there')} there and "
            f"{shapes.get(first, 'not there')} here"
        )
    with torch.no_grad():
        for name, one in own.items():
            found = weights[name]
            assert isinstance(found, torch.Tensor)
            one.copy_(layers.part(found, one))
    learner.optimiser.restore(saved["optimiser"])
    layers.gather()
    learner.policy.weights_changed(restored.progress.update)


def _trained(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The trained parameters; the others are those of the model that was begun with."""
    return {name: one.detach().cpu() for name, one in model.named_parameters() if one.requires_grad}


def _name(round: int) -> str:
    return f"round-{round:06}"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _brief(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())[:200] or type(error).__name__
