"""``holdergym leaderboard`` in its three forms, through the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from holdergym.agents.registry import ExpertSettings, RandomSettings
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on all built-in games; one is called as a command is."""
    folder = tmp_path_factory.mktemp("runs")
    evaluate(EvalConfig(panel="builtin_valid", max_steps=6, agent=ExpertSettings(), out=folder / "build"))
    evaluate(EvalConfig(panel="builtin_valid", max_steps=6, agent=RandomSettings(), out=folder / "random"))
    return folder


def leaderboard(*arguments: str | Path, at: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "holdergym", "leaderboard", *map(str, arguments)],
        cwd=at, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done


def test_a_table_needs_no_word(runs: Path) -> None:
    short = leaderboard("random", "--format", "md", at=runs).stdout
    assert leaderboard("table", "random", "--format", "md", at=runs).stdout == short
    assert leaderboard("--format", "md", "random", at=runs).stdout == short
    assert "\\toprule" in leaderboard("random", "--format", "latex", at=runs).stdout


def test_a_run_that_is_called_as_a_command_is_given_with_a_path(runs: Path) -> None:
    assert "expert" in leaderboard("./build", at=runs).stdout
    assert "expert" in leaderboard("table", "build", at=runs).stdout
    assert "Missing option '--out'" in leaderboard("build", "random", at=runs, code=2).stderr


def test_help_names_what_can_be_done(runs: Path) -> None:
    for argument in ("--help", "-h"):
        told = leaderboard(argument, at=runs).stdout
        assert all(name in told for name in ("table", "build", "add", "./build"))
    assert "--replay" in leaderboard("add", "--help", at=runs).stdout
    assert "--episodes-mb" in leaderboard("build", "-h", at=runs).stdout


def test_from_runs_to_a_board_to_a_site(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly", reason="needs the extra `site`")
    told = leaderboard("add", runs / "random", "--replay", at=tmp_path).stdout
    assert "60 episodes checked, 60 episodes with" in told
    leaderboard("add", runs / "build", "--name", "expert", "--board", "board", at=tmp_path)
    told = leaderboard("build", "board", "--out", "site", at=tmp_path).stdout
    assert "2 runs with 120 episodes" in told
    assert sorted(os.listdir(tmp_path)) == ["board", "site"]
    assert (tmp_path / "site" / "index.html").is_file()
    leaderboard("build", "board", "--out", "site", "--episodes-mb", "0", at=tmp_path)
    assert not (tmp_path / "site" / "episodes").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "nothing"], "nothing is no run folder: config.toml is missing"),
        (["add", "RUN", "--data", "x"], "add --replay, or leave it out"),
        (["add", "RUN", "--board", "RUN"], "is no board: "),
        (["add", "RUN", "--name", "../x"], "cannot be the name of a run on a board"),
        (["build", "nothing", "--out", "site"], "nothing does not exist"),
        (["build", "RUN", "--out", "RUN"], "is not a leaderboard site: choose another --out"),
        (["build", "RUN", "--out", "/proc/site"], "cannot write the site /proc/site"),
        (["build", "RUN", "--out", "site", "--episodes-mb", "-1"], "-1"),
        (["build", "RUN", "--out", "site", "--episodes-mb", "nan"], "nan is not a number"),
        (["build", "RUN", "RUN/summary.json", "--out", "RUN/summary.json"], "is not a folder"),
    ],
)
def test_bad_input_gets_one_line(runs: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    pytest.importorskip("plotly", reason="needs the extra `site`")
    given = [argument.replace("RUN", str(runs / "random")) for argument in arguments]
    before = sorted(os.listdir(runs / "random"))
    complaint = leaderboard(*given, at=tmp_path, code=2).stderr
    assert message in complaint
    assert complaint.count("\n") == 1
    assert sorted(os.listdir(runs / "random")) == before
    assert os.listdir(tmp_path) == []


def test_a_tampered_run_is_refused_with_code_2(runs: Path, tmp_path: Path) -> None:
    import shutil

    run = tmp_path / "run"
    shutil.copytree(runs / "random", run)
    summary = run / "summary.json"
    summary.write_text(summary.read_text().replace('"won": ', '"won": 6', 1))
    complaint = leaderboard("add", run, "--board", tmp_path / "board", at=tmp_path, code=2).stderr
    assert complaint.startswith(f"holdergym: error: {run} is refused: summary.json does not follow from the episodes")
    assert complaint.count("\n") == 1
