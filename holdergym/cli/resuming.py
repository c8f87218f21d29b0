"""What ``holdergym eval --resume`` need not be told again: the settings that stand in the run folder."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..envs.settings import Layer, assignment_layer, file_layer, keys_of, merge
from ..eval.config import CIRCUMSTANCES
from ..eval.errors import RunError
from ..eval.manifest import read_manifest
from ..eval.run import CONFIG, MANIFEST


def resumed_layers(layers: Sequence[Layer], say: Callable[[str], None]) -> list[Layer]:
    """Puts the settings that a run began with below those that are given now.

    Where the folder holds no run yet, one begins, provided that it is said what to play: the defaults would be another
    run than the one that was meant.

    Args:
        layers: What is given now.
        say: Told in one line that a new run begins.

    Raises:
        RunError: If there is no run and nothing says what to play, it is another agent's run, or its files are damaged.
    """
    given = merge(layers)
    out = given.get("out")
    if not isinstance(out, str):
        return list(layers)
    folder = Path(out)
    if not (folder / MANIFEST).is_file():
        if not keys_of(given, leave_out=CIRCUMSTANCES):
            begun = "a run was begun there and killed before it was set up" if (folder / CONFIG).is_file() else ""
            raise RunError(
                f"there is no run in {folder} to go on with{f' ({begun})' if begun else ''}: say what to play, for "
                "example with --panel and --agent, to begin one"
            )
        say(f"{folder}: no run is there yet, so a new one begins")
        return list(layers)
    saved = file_layer(folder / CONFIG)
    _refuse_another(folder, saved.values, given)
    tasks = "games" if saved.values.get("env") == "alfworld" else "problems"
    return [saved, *_places(folder, given, tasks), *layers]


def _places(folder: Path, given: Mapping[str, object], tasks: str) -> list[Layer]:
    """Where the last session found the games or problems and a recording, whatever the environment names now."""
    manifest = folder / MANIFEST
    sessions = read_manifest(manifest).sessions
    if not sessions:
        return []
    settings = sessions[-1].settings.items()
    layers = [assignment_layer([f"{key}={json.dumps(value)}" for key, value in settings], str(manifest))]
    keys = keys_of(given)
    data, recording = sessions[-1].data, sessions[-1].recording
    if data is not None and "data" not in keys:
        _require(manifest, tasks, data, "--data")
        layers.append(Layer(str(manifest), {"data": data}))
    if recording is not None and "agent.path" not in keys:
        _require(manifest, "recording", recording, "--set agent.path=")
        layers.append(Layer(str(manifest), {"agent": {"path": recording}}))
    return layers


def _require(manifest: Path, what: str, place: str, option: str) -> None:
    if not Path(place).exists():
        raise RunError(
            f"{manifest} says that the {what} came from {place}, and nothing is there now: give {option} with the "
            "place where it is"
        )


def _refuse_another(folder: Path, saved: Mapping[str, object], given: Mapping[str, object], above: str = "") -> None:
    """Refuses another agent or back end here, as its settings and the saved ones would contradict each other."""
    for key, value in given.items():
        there = saved.get(key)
        if not isinstance(value, Mapping) or not isinstance(there, Mapping):
            continue
        name = value.get("name", there.get("name"))
        if name != there.get("name"):
            raise RunError(
                f"cannot resume {folder}: the setting '{above}{key}.name' is {there.get('name')!r} there and {name!r} "
                "here; leave it out, or choose another --out"
            )
        _refuse_another(folder, there, value, f"{above}{key}.")
