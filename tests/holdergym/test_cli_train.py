"""Training from the command line: real processes, killed and gone on with, and mistakes in one line."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .test_cli_eval import HOLDERGYM, holdergym

pytestmark = pytest.mark.llm

SETTINGS = {
    "agent.max_tokens": 8,
    "in_flight": 1,  # in a batch, rounding hangs on who else is in it
    "save_every": 1,
    "validation.every": 4,
    "validation.limit": 5,
    "updates": 2,
    "method.entropy.coefficient": 0.05,  # what moves a policy that never wins
}


def arguments(model: Path, out: Path, **more: object) -> list[str]:
    settings = [f"--set={key}={value}" for key, value in {**SETTINGS, **more}.items()]
    size = ["--rounds", "12", "--groups", "2", "--group-size", "3", "--learning-rate", "0.001"]
    return ["train", "--model", str(model), "--env", "math", "--prompt", "free", *size, *settings, "--out", str(out)]


def numbers(out: Path) -> list[dict[str, float]]:
    """The log without what the clock says."""
    pytest.importorskip("torch")
    from holdergym.training.metrics_log import read_metrics

    left_out = ("seconds", "sampled_tokens_per_s", "trained_tokens_per_s", "memory")
    return [{key: value for key, value in line.items() if not key.startswith(left_out)} for line in read_metrics(out)]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_kills_change_no_number(tiny_checkpoint: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    shown = holdergym(*arguments(tiny_checkpoint, whole))
    assert "best checkpoint" in shown
    rng = random.Random(3)
    kills = 0
    while kills < 10:
        log = killed / "metrics.jsonl"
        resume = ["--resume"] if (killed / "config.toml").exists() else []
        process = subprocess.Popen(
            [*HOLDERGYM, *arguments(tiny_checkpoint, killed), *resume],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before = log.read_bytes().count(b"\n") if log.exists() else 0
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if log.exists() and log.read_bytes().count(b"\n") > before:
                break
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.4))
        process.kill()
        process.wait()
        kills += 1
        if log.exists() and len(numbers(killed)) >= 12:
            break
    holdergym(*arguments(tiny_checkpoint, killed), "--resume")
    assert numbers(killed) == numbers(whole)
    assert len(numbers(whole)) == 13
    assert all(line["gradient_norm"] > 0 for line in numbers(whole)[1:])


@pytest.mark.slow
def test_a_resumed_run_need_not_be_told_anything(tiny_checkpoint: Path, tmp_path: Path) -> None:
    holdergym(*arguments(tiny_checkpoint, tmp_path / "run"), "--rounds", "1")
    holdergym("train", "--resume", "--out", tmp_path / "run", "--rounds", "2")
    assert [line["round"] for line in numbers(tmp_path / "run")] == [0, 1, 2]
    holdergym("plot", tmp_path / "run")
    assert (tmp_path / "run" / "curves.png").stat().st_size > 10_000
    best = tmp_path / "run" / "checkpoints"
    model = sorted(best.iterdir())[-1] / "model"
    shown = holdergym("eval", "--env", "math", "--model", model, "--limit", "3", "--out", tmp_path / "eval")
    assert "model (free)" in (tmp_path / "eval" / "manifest.json").read_text() or shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--method", "holderp"], "did you mean 'holderpo'?"),
        (
            ["--set", "method.aggregation.exponent.p=abc", "--method", "holderpo-static"],
            "method.aggregation.exponent.p",
        ),
        (["--set", "learning_rate=1"], "unknown setting 'learning_rate'"),
        (["--group-size", "1"], "group_size is 1"),
        (["--set", "updates=7"], "updates is 7"),
        (["--set", "agent.temperature=0"], "agent.temperature is 0"),
        (["--panel", "no_such_panel"], "no_such_panel"),
        (["--model", "no/such"], "no/such"),
        (["--resume"], "no training run"),
    ],
)
def test_mistakes_are_one_line_before_any_rollout(
    more: list[str], message: str, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdergym", *arguments(tiny_checkpoint, tmp_path / "out"), *more],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("holdergym: error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "out" / "metrics.jsonl").exists()


@pytest.mark.slow
def test_a_plan_begins_nothing(tiny_checkpoint: Path, tmp_path: Path) -> None:
    shown = holdergym(*arguments(tiny_checkpoint, tmp_path / "out"), "--plan")
    assert "2 tasks x 3 episodes = 6 episodes" in shown
    assert "12 rounds, 72 episodes, 24 optimiser steps" in shown
    assert "method.aggregation.exponent.rounds=12 spans the run" in shown
    assert not (tmp_path / "out").exists()
