"""The evaluator on real games, in this process, on both engines."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.agent import episode_seed
from holdergym.agents.registry import ExpertSettings, ReplaySettings
from holdergym.agents.trajectory import Outcome
from holdergym.envs.alfworld.stock import StockLimits
from holdergym.envs.errors import ConfigError, HolderGymError, UnknownNameError
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate
from holdergym.eval.journal import read_journal


def test_every_task_and_sample_is_played_once_with_its_own_seed(tmp_path: Path) -> None:
    run = evaluate(EvalConfig(limit=5, samples=2, max_steps=3, seed=9, out=tmp_path / "run"))
    played = [numbered.episode.trajectory for numbered in read_journal(tmp_path / "run" / "episodes.jsonl")]
    assert {(p.task_id, p.sample) for p in played} == {(t.id, s) for t in run.panel.tasks for s in (0, 1)}
    assert len(played) == 10
    assert all(p.seed == episode_seed(9, p.task_id, p.sample) for p in played)
    assert len({p.seed for p in played}) == 10
    assert run.complete


def test_the_panel_that_was_chosen_by_default_is_recorded_by_name(tmp_path: Path) -> None:
    run = evaluate(EvalConfig(limit=1, max_steps=1, out=tmp_path / "run"))
    assert run.config.panel == "builtin_valid"
    assert 'panel = "builtin_valid"' in (tmp_path / "run" / "config.toml").read_text()


def test_the_summary_does_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    summaries = set()
    for workers in (1, 2, 5):
        out = tmp_path / str(workers)
        run = evaluate(EvalConfig(limit=9, max_steps=8, workers=workers, out=out))
        assert run.manifest.sessions[0].workers == workers
        summaries.add((out / "summary.json").read_bytes())
    assert len(summaries) == 1


def test_an_episode_that_failed_is_recorded_and_played_again_on_resume(tmp_path: Path) -> None:
    """A recording that ends too early is a failure of the set-up: no success, and no loss either."""
    first = evaluate(EvalConfig(limit=2, agent=ExpertSettings(), out=tmp_path / "first"))
    lines = (tmp_path / "first" / "episodes.jsonl").read_text().splitlines()
    recordings = [
        {"task_id": e["task_id"], "actions": [t["action"] for t in e["turns"]]} for e in map(json.loads, lines)
    ]
    recordings[0]["actions"].pop()
    path = tmp_path / "recordings.jsonl"
    path.write_text("".join(json.dumps(recording) + "\n" for recording in recordings))
    config = EvalConfig(limit=2, agent=ReplaySettings(path=path), out=tmp_path / "again")

    run = evaluate(config)
    assert [result.outcome for result in run.results] == [Outcome.ERROR, Outcome.WON]
    assert not run.complete
    summary = json.loads((tmp_path / "again" / "summary.json").read_text())
    assert summary["overall"]["success_rate"] == 1.0
    assert (summary["overall"]["finished"], summary["overall"]["errors"], summary["replayed"]) == (1, 1, 0)
    assert summary["overall"]["success_rate_failed_as_lost"] == 0.5

    run = evaluate(config, resume=True)
    assert run.replayed == 1
    assert len(list(read_journal(tmp_path / "again" / "episodes.jsonl"))) == 3
    assert first.complete


def test_a_mistake_in_the_set_up_ends_the_run_and_frees_the_folder(tmp_path: Path) -> None:
    recording = tmp_path / "recordings.jsonl"
    recording.write_text('{"task_id": "alfworld/elsewhere", "actions": []}\n')
    config = EvalConfig(limit=4, workers=2, agent=ReplaySettings(path=recording), out=tmp_path / "run")
    for _ in range(2):
        with pytest.raises(UnknownNameError, match=r"task in .*recordings\.jsonl"):
            evaluate(config, resume=True)


def test_without_a_folder_nothing_is_played() -> None:
    with pytest.raises(ConfigError, match="'out' is missing"):
        evaluate(EvalConfig())


def test_nothing_is_written_when_the_games_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(HolderGymError, match="give the folder"):
        evaluate(EvalConfig(data=tmp_path / "nowhere", out=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.stock
def test_both_engines_give_the_same_run(tmp_path: Path) -> None:
    config = EvalConfig(limit=3, max_steps=4, out=tmp_path / "native")
    evaluate(config)
    evaluate(replace(config, engine="textworld", workers=2, out=tmp_path / "textworld"))
    native, stock = (json.loads((tmp_path / name / "summary.json").read_text()) for name in ("native", "textworld"))
    assert stock["engine"] == "textworld"
    assert (native["overall"], native["by_type"]) == (stock["overall"], stock["by_type"])
    played = []
    for name in ("native", "textworld"):
        trajectories = [n.episode.trajectory for n in read_journal(tmp_path / name / "episodes.jsonl")]
        untimed = [
            replace(t, turns=tuple(replace(turn, agent_seconds=0.0, env_seconds=0.0) for turn in t.turns))
            for t in trajectories
        ]
        played.append(sorted(untimed, key=lambda trajectory: trajectory.task_id))
    assert played[0] == played[1]


@pytest.mark.stock
def test_limits_of_the_stock_engine_are_circumstances(tmp_path: Path) -> None:
    config = EvalConfig(limit=1, max_steps=1, engine="textworld", out=tmp_path / "run")
    run = evaluate(replace(config, engine_limits=StockLimits(start_seconds=0.001)))
    assert [result.outcome for result in run.results] == [Outcome.TIMEOUT]
    assert "engine_limits" not in (tmp_path / "run" / "config.toml").read_text()
    assert evaluate(config, resume=True).complete


@pytest.fixture
def stock_run(tmp_path: Path) -> tuple[list[str], Path]:
    """A command that plays the stock engine for some seconds, and its run folder."""
    out = tmp_path / "run"
    options = ["--engine", "textworld", "--limit", "4", "--max-steps", "6", "--resume", "--out", str(out)]
    return [sys.executable, "-m", "holdergym", "eval", *options], out


def wait_for_first_episode(process: subprocess.Popen[str], out: Path) -> None:
    journal = out / "episodes.jsonl"
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.stat().st_size):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.stock
@pytest.mark.slow
@pytest.mark.skipif(not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(), reason="needs Linux' /proc")
def test_a_dead_engine_process_is_an_error_that_resume_repairs(stock_run, tmp_path: Path) -> None:
    command, out = stock_run
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_first_episode(process, out)
    for child in children(process.pid):
        os.kill(child, signal.SIGKILL)
    shown, errors = process.communicate(timeout=120)
    assert process.returncode == 1, errors
    assert "1 of 4 episodes failed (error or timeout)" in shown
    (failed,) = [
        n.episode.trajectory for n in read_journal(out / "episodes.jsonl") if not n.episode.trajectory.outcome.finished
    ]
    assert failed.outcome is Outcome.ERROR
    assert "killed by SIGKILL" in failed.reason

    subprocess.run(command, check=True, capture_output=True, timeout=120)
    evaluate(EvalConfig(limit=4, max_steps=6, out=tmp_path / "native"))
    summary, native = (json.loads((folder / "summary.json").read_text()) for folder in (out, tmp_path / "native"))
    assert summary["replayed"] == 1
    assert (summary["overall"], summary["by_type"]) == (native["overall"], native["by_type"])


@pytest.mark.stock
@pytest.mark.slow
def test_a_killed_run_on_the_stock_engine_leaves_no_process_and_no_lock(stock_run) -> None:
    command, out = stock_run
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    wait_for_first_episode(process, out)
    workers = children(process.pid)
    assert workers
    process.kill()
    process.wait(30)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "of 4 episodes are there" in done.stderr
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
