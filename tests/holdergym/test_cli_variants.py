"""Methods that are put together, from the command line: checks, stored episodes, a killed run of two models."""

import subprocess
import time
from pathlib import Path

import pytest

from .test_cli_eval import HOLDERGYM, holdergym
from .test_cli_train import numbers

pytestmark = pytest.mark.llm


def test_the_check_of_a_combination() -> None:
    shown = holdergym("methods", "check", "holderpo+cov_gaussian+expo")
    assert "gaussian_curriculum" in shown
    assert "k3 x 0.02 x rho(acc)" in shown
    refused = holdergym("methods", "check", "dapo+avspo", code=2)
    assert refused.startswith("holdergym: error: AVSPO repairs the groups that drop_uniform throws away")
    assert refused.count("\n") == 1
    assert "did you mean 'expo'" in holdergym("methods", "check", "grpo+exppo", code=2)


def arguments(model: Path, out: Path, method: str, rounds: int) -> list[str]:
    settings = {
        "agent.max_tokens": 4,
        "in_flight": 1,
        "save_every": 1,
        "validation.every": 0,
        "updates": 2,
        "method.entropy.coefficient": 0.05,
    }
    size = ["--rounds", str(rounds), "--groups", "2", "--group-size", "4", "--learning-rate", "0.001"]
    named = ["--model", str(model), "--env", "math", "--panel", "builtin_small_valid", "--prompt", "free"]
    return [
        "train",
        *named,
        "--method",
        method,
        *size,
        *(f"--set={k}={v}" for k, v in settings.items()),
        f"--out={out}",
    ]


@pytest.mark.slow
def test_an_explorer_plays_from_its_evaluation(tiny_checkpoint: Path, tmp_path: Path) -> None:
    played = ["--env", "math", "--panel", "builtin_small_valid", "--prompt", "free", "--samples", "2"]
    holdergym(
        "eval", "--model", tiny_checkpoint, *played, "--set", "agent.max_tokens=4", "--out", tmp_path / "explored"
    )
    more = [
        "--set",
        f"explorer.model={tiny_checkpoint}",
        "--set",
        f"explorer_samples={tmp_path / 'explored/tokens.npz'}",
    ]
    plan = holdergym(*arguments(tiny_checkpoint, tmp_path / "run", "holderpo+s2l-po", 4), *more, "--plan")
    assert "plays 25.0% of the episodes, all of them in round 1." in plan
    holdergym(*arguments(tiny_checkpoint, tmp_path / "run", "holderpo+s2l-po", 4), *more)
    lines = numbers(tmp_path / "run")
    assert [line["explorer/episodes"] for line in lines] == [8, 0, 0, 0]
    assert lines[0]["success"] is None
    assert "ACR" in holdergym("acr", tmp_path / "run")


@pytest.mark.slow
def test_a_killed_run_of_two_models_goes_on(tiny_checkpoint: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    more = ["--set", f"partner.model={tiny_checkpoint}"]
    holdergym(*arguments(tiny_checkpoint, whole, "codistill+cov_gaussian", 5), *more)
    process = subprocess.Popen(
        [*HOLDERGYM, *arguments(tiny_checkpoint, killed, "codistill+cov_gaussian", 5), *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    log, deadline = killed / "metrics.jsonl", time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if log.exists() and log.read_bytes().count(b"\n") >= 3:
            break
        time.sleep(0.02)
    process.kill()
    process.wait()
    holdergym(*arguments(tiny_checkpoint, killed, "codistill+cov_gaussian", 5), *more, "--resume")
    assert numbers(killed) == numbers(whole)
    assert all(line["partner/gradient_norm"] > 0 for line in numbers(whole))
