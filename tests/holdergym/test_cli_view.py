"""``holdergym view`` from the command line."""

import subprocess
import sys
from pathlib import Path

import pytest


def holdergym(*arguments: str | Path, code: int = 0) -> str:
    command = [sys.executable, "-m", "holdergym", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("random", "expert"):
        holdergym("eval", "--agent", agent, "--limit", "6", "--max-steps", "8", "--out", folder / agent, "--quiet")
    return folder


def test_a_page_is_written_into_the_run_folder(runs: Path) -> None:
    shown = holdergym("view", runs / "expert")
    page = runs / "expert" / "view.html"
    assert shown.startswith(f"{page}: ")
    assert page.read_text().startswith("<!doctype html>")
    # What else lies in a run folder does not hinder it.
    assert "5/6" in holdergym("leaderboard", runs / "expert")


def test_two_runs_go_into_one_page(runs: Path, tmp_path: Path) -> None:
    holdergym("view", runs / "random", "--compare", runs / "expert", "--out", tmp_path / "both.html")
    text = (tmp_path / "both.html").read_text()
    assert 'id="episode-0-5"' in text
    assert 'id="episode-1-5"' in text


def test_bad_input_is_one_line(runs: Path, tmp_path: Path) -> None:
    cases = [
        (["view", tmp_path / "nothing"], "does not exist"),
        (["view", runs], "is not a run folder"),
        (["view", runs / "random", "--compare", runs / "random"], "given twice"),
        (["view", runs / "random", "--out", tmp_path], "cannot write"),
        (["view", runs / "random", "--out", tmp_path / "no" / "folder.html"], "cannot write"),
    ]
    for arguments, reason in cases:
        message = holdergym(*arguments, code=2)
        assert reason in message
        assert message.count("\n") == 1
