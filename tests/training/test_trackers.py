"""TensorBoard, wandb, trackio and MLflow, as they are installed: what they hold is what the log says."""

import json
import math
import sqlite3
from pathlib import Path

import pytest
from holdergym.envs.errors import HolderGymError
from holdergym.training.trackers import TrackerError, TrackerName, Trackers, open_trackers, require_trackers

SETTINGS = 'env = "math"\nrounds = 3\n\n[optimiser]\nlearning_rate = 0.5\n'
FIRST, SECOND = {"reward": 0.25, "p": float("nan"), "seconds/rollout": 1.5}, {"reward": 0.5}


def log(name: TrackerName, folder: Path, after: int | None, rounds: dict[int, dict[str, float]]) -> None:
    said: list[str] = []
    with open_trackers([name], folder, SETTINGS, after, said.append) as trackers:
        for number, metrics in rounds.items():
            trackers.log(number, metrics)
    assert said == []


def begun_and_gone_on_with(name: TrackerName, folder: Path) -> str:
    """Two rounds, of which the second was played again after a kill, and a third."""
    folder.mkdir()
    log(name, folder, None, {1: FIRST, 2: {"reward": 9.0}})
    before = (folder / "trackers.json").read_text()
    log(name, folder, 1, {2: SECOND, 3: {"reward": 1.0}})
    assert (folder / "trackers.json").read_text() == before
    return str(json.loads(before)[name])


def test_tensorboard_shows_the_rounds_that_count(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs tensorboard: pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    begun_and_gone_on_with("tensorboard", tmp_path / "run")
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    assert [(one.step, one.value) for one in events.Scalars("reward")] == [(1, 0.25), (2, 0.5), (3, 1.0)]
    assert [(one.step, one.value) for one in events.Scalars("seconds/rollout")] == [(1, 1.5)]
    assert "p" not in events.Tags()["scalars"]


@pytest.mark.slow
def test_wandb_offline_goes_on_with_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="needs wandb: pip install wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    id = begun_and_gone_on_with("wandb", tmp_path / "run")
    files = sorted((tmp_path / "run" / "wandb").glob("offline-run-*/run-*.wandb"))
    assert [path.name for path in files] == [f"run-{id}.wandb"] * len(files)
    content = b"".join(path.read_bytes() for path in files)
    assert b"seconds/rollout" in content
    assert b"learning_rate" in content


@pytest.mark.slow
def test_trackio_keeps_the_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trackio", reason="needs trackio: pip install trackio")
    import trackio.utils

    monkeypatch.setattr(trackio.utils, "TRACKIO_DIR", tmp_path / "trackio", raising=False)
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    id = begun_and_gone_on_with("trackio", tmp_path / "run")
    from trackio.sqlite_storage import SQLiteStorage

    logs = SQLiteStorage.get_logs("holdergym", id)
    steps = {one["step"]: one["reward"] for one in logs if "reward" in one}
    assert steps[1] == 0.25
    assert steps[3] == 1.0
    assert all(math.isfinite(value) for value in steps.values())


@pytest.mark.slow
def test_mlflow_keeps_the_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="needs mlflow: pip install mlflow")
    pytest.importorskip("sqlalchemy", reason="needs MLflow's database: pip install mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    id = begun_and_gone_on_with("mlflow", tmp_path / "run")
    from mlflow import MlflowClient

    client = MlflowClient()
    history = client.get_metric_history(id, "reward")
    assert {(one.step, one.value) for one in history} >= {(1, 0.25), (2, 0.5), (3, 1.0)}
    run = client.get_run(id)
    assert run.info.status == "FINISHED"
    assert run.data.params["optimiser.learning_rate"] == "0.5"
    with pytest.raises(ZeroDivisionError), open_trackers(["mlflow"], tmp_path / "run", SETTINGS, 3, print):
        raise ZeroDivisionError
    assert client.get_run(id).info.status == "KILLED"


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdergym.training.trackers.find_spec", lambda name: None)
    with pytest.raises(TrackerError, match="'wandb', which is not installed: pip install wandb"):
        require_trackers(["wandb"])
    require_trackers([])


def test_nothing_is_written_where_nothing_is_asked_for(tmp_path: Path) -> None:
    with open_trackers([], tmp_path, SETTINGS, None, print) as trackers:
        trackers.log(1, FIRST)
    assert list(tmp_path.iterdir()) == []


def test_damaged_ids_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "trackers.json").write_text("[1]")
    with (
        pytest.raises(HolderGymError, match="damaged: remove it"),
        open_trackers(["tensorboard"], tmp_path, SETTINGS, 1, print),
    ):
        pass


def test_a_service_that_takes_nothing_holds_nothing_up(tmp_path: Path) -> None:
    """A real database that is gone by the second round."""

    class Table:
        id = "table"

        def __init__(self) -> None:
            self.base = sqlite3.connect(":memory:")
            self.base.execute("create table rounds (number, reward)")

        def log(self, number: int, metrics: dict[str, float]) -> None:
            try:
                self.base.execute("insert into rounds values (?, ?)", (number, metrics["reward"]))
            except sqlite3.Error as error:
                raise TrackerError(f"the table says: {error}") from None

        def close(self, *, finished: bool) -> None:
            self.base.close()

    said: list[str] = []
    table = Table()
    trackers = Trackers({"trackio": table}, said.append)
    trackers.log(1, FIRST)
    assert table.base.execute("select * from rounds").fetchall() == [(1, 0.25)]
    table.close(finished=False)
    trackers.log(2, SECOND)
    assert said == ["round 2 is in metrics.jsonl, but the table says: Cannot operate on a closed database."]
