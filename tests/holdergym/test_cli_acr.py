"""The collapse rate from the command line, of real runs."""

import json
from pathlib import Path

import pytest

from .test_cli_eval import holdergym


def test_of_an_evaluation_with_several_samples(tmp_path: Path) -> None:
    out = tmp_path / "run"
    holdergym("eval", "--agent", "random", "--samples", "4", "--limit", "12", "--out", out)
    won: dict[str, set[bool]] = {}
    for line in (out / "episodes.jsonl").read_text().splitlines():
        episode = json.loads(line)
        won.setdefault(episode["task_id"], set()).add(episode["outcome"] == "won")
    rate = sum(len(kinds) == 1 for kinds in won.values()) / 12
    shown = holdergym("acr", out)
    assert "12 groups of up to 4 samples" in shown
    assert f"ACR {rate:.3f} (95% interval" in shown
    single = tmp_path / "single"
    holdergym("eval", "--agent", "random", "--limit", "2", "--out", single)
    assert "no task has two finished samples" in holdergym("acr", single, code=2)


def test_of_a_training_log(tmp_path: Path) -> None:
    lines = [{"round": 0, "validation/success": 0.1}]
    lines += [{"round": number, "collapsed_groups": 0.6 if number > 20 else 0.2} for number in range(1, 121)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    pytest.importorskip("torch")
    shown = holdergym("acr", tmp_path, "--window", "10")
    assert "120 rounds" in shown
    assert "longest stretch of rounds above 0.35: 100, above 50 (the authors report" in shown
    assert "mean over the first 100 rounds: 0.52, above 0.5" in shown
