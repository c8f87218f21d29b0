"""``holdergym compare`` on runs that were really played."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HOLDERGYM = [sys.executable, "-m", "holdergym"]


def holdergym(*arguments: str | Path, code: int = 0) -> str:
    done = subprocess.run([*HOLDERGYM, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("random", "expert"):
        holdergym("eval", "--agent", agent, "--limit", "12", "--max-steps", "20", "--out", folder / agent)
    holdergym("eval", "--agent", "random", "--max-steps", "20", "--out", folder / "other")
    return folder


def test_the_expert_is_told_apart_from_chance(runs: Path) -> None:
    shown = holdergym("compare", runs / "random", runs / "expert")
    assert "B wins more often than A" in shown
    assert f"{runs / 'random'}/episodes.jsonl:1" in shown


def test_json_to_a_file(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    assert holdergym("compare", runs / "random", runs / "expert", "--format", "json", "--out", out) == ""
    found = json.loads(out.read_text())["comparisons"][0]
    assert found["overall"]["different"]
    task = found["discordant"][0]["second"]
    line = Path(task["file"]).read_text().splitlines()[task["lines"][0] - 1]
    assert json.loads(line)["task_id"] == found["discordant"][0]["task_id"]


def test_incomparable_runs_are_refused_in_one_line(runs: Path) -> None:
    message = holdergym("compare", runs / "random", runs / "other", code=2)
    assert message.count("\n") == 1
    assert "panel: builtin_valid[12 of 60]" in message
    assert "max_steps" not in message
    assert "--anyway" in message
    shown = holdergym("compare", runs / "random", runs / "other", "--anyway", "--format", "md")
    assert "Played under different conditions" in shown


@pytest.mark.parametrize("arguments", [[], ["random"], ["random", "random"], ["random", "nowhere"]])
def test_what_cannot_be_compared(runs: Path, arguments: list[str]) -> None:
    assert holdergym("compare", *(runs / name for name in arguments), code=2).count("error") == 1
