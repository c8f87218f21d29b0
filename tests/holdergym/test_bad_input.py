"""Bad input: exit code 2, one line that says what to do, nothing on standard output, no traceback, nothing written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HOLDERGYM = [sys.executable, "-m", "holdergym"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small finished run."""
    folder = tmp_path_factory.mktemp("bad") / "run"
    command = [*HOLDERGYM, "eval", "--agent", "random", "--limit", "3", "--max-steps", "5", "--out", str(folder)]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    return folder


def contents(run: Path) -> dict[str, bytes]:
    """All files of a run but the lock, in which the last process leaves its id."""
    return {path.name: path.read_bytes() for path in run.iterdir() if path.name != ".lock"}


def complain(*arguments: str) -> str:
    done = subprocess.run([*HOLDERGYM, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("holdergym")
    return line


COMMAND_LINES = [
    (["evla"], "unknown command 'evla'; did you mean 'eval'?"),
    (["eval", "--agnet", "x"], "No such option '--agnet'"),
    (["eval", "--out"], "requires an argument"),
    (["eval"], "the setting 'out' is missing: give --out FOLDER"),
    (["eval", "--env", "alfwrld", "--out", "OUT"], "'alfwrld'; did you mean 'alfworld'?"),
    (["eval", "--agent", "expart", "--out", "OUT"], "'expart'; did you mean 'expert'?"),
    (["eval", "--engine", "textwrold", "--out", "OUT"], "'textwrold'; did you mean 'textworld'?"),
    (["eval", "--panel", "builtin_vaild", "--out", "OUT"], "did you mean 'builtin_valid'?"),
    (["eval", "--panel", "valid_seen", "--out", "OUT"], "no ALFWorld games: give --data DIR or set ALFWORLD_DATA"),
    (["eval", "--data", "/proc/none", "--out", "OUT"], "there is no /proc/none"),
    (["eval", "--data", "EMPTY", "--out", "OUT"], "json_2.1.1"),
    (["eval", "--data", "TEXT", "--out", "OUT"], "neither a folder nor a pack of games"),
    (["eval", "--task-type", "pick_two", "--out", "OUT"], "unknown task type of panel 'builtin_valid': 'pick_two'"),
    (["eval", "--task-type", "Pick", "--out", "OUT"], "did you mean 'pick_and_place_simple'?"),
    (["eval", "--task-type", "heat", "--out", "OUT"], "did you mean 'pick_heat_then_place_in_recep'?"),
    (["eval", "--set", "agent=expert", "--out", "OUT"], "set agent.name=expert, or give --agent expert"),
    (["eval", "--out", ""], "'--out': it is empty: give a path"),
    (["eval", "--out", "BYTES"], "bytes\\udcff' is not UTF-8 text: rename it, or give another path"),
    (["eval", "--data", "", "--out", "OUT"], "'--data': it is empty"),
    (["leaderboard", ""], "it is empty: give a path"),
    (["games", "generate", "--out", ""], "'--out': it is empty"),
    (["games", "generate", "--seed", "-1", "--out", "OUT"], "-1 is not in the range"),
    (["games", "generate", "--count", "1000000000", "--out", "OUT"], "is more than 100,000: generate several panels"),
    (["eval", "--set", "engine_limits.games=3", "--out", "OUT"], "engine 'native' has no limits to set"),
    (["eval", "--set", "engine_limits.step_second=3", "--out", "OUT"], "did you mean 'step_seconds'?"),
    (
        ["eval", "--set", "engine_limits.step_seconds=0", "--engine", "textworld", "--out", "OUT"],
        "the limit 'step_seconds' of the stock engine must be positive, not 0",
    ),
    (["eval", "--limit", "0", "--out", "OUT"], "'limit' (from --limit): input should be greater than or equal to 1"),
    (["eval", "--limit", "-3", "--out", "OUT"], "not -3"),
    (["eval", "--limit", "many", "--out", "OUT"], "'many' is not a valid integer"),
    (["eval", "--samples", "0", "--out", "OUT"], "'samples' (from --samples)"),
    (["eval", "--samples", "1000000000", "--out", "OUT"], "should be less than or equal to 10000, not 1000000000"),
    (["eval", "--max-steps", "0", "--out", "OUT"], "'max_steps' (from --max-steps)"),
    (["eval", "--seed", "-1", "--out", "OUT"], "'seed' (from --seed)"),
    (["eval", "--workers", "0", "--out", "OUT"], "'workers' (from --workers)"),
    (["eval", "--set", "limit", "--out", "OUT"], "cannot read the override 'limit'"),
    (["eval", "--set", "limt=3", "--out", "OUT"], "unknown setting 'limt' (from --set); did you mean 'limit'?"),
    (["eval", "--set", "limit=abc", "--out", "OUT"], "'limit' (from --set)"),
    (
        ["eval", "--agent", "random", "--set", "agent.temperature=1", "--out", "OUT"],
        "unknown setting 'agent.temperature'",
    ),
    (["eval", "--set", "agent.temperature=1", "--out", "OUT"], "the setting 'agent.name' is missing"),
    (["eval", "--agent", "replay", "--out", "OUT"], "the setting 'agent.path' is missing"),
    (["eval", "--agent", "replay", "--set", "agent.path=/nope", "--out", "OUT"], "/nope: there is no such recording"),
    (["eval", "--agent", "replay", "--set", "agent.path=/dev/zero", "--out", "OUT"], "it is not a regular file"),
    (["eval", "--config", "/dev/zero", "--out", "OUT"], "config file /dev/zero: it is not a regular file"),
    (["eval", "--config", "PIPE", "--out", "OUT"], "it is not a regular file"),
    (["eval", "--config", "EMPTY", "--out", "OUT"], "Is a directory"),
    (["eval", "--data", "/dev/zero", "--out", "OUT"], "/dev/zero: cannot be listed (Not a directory)"),
    (["games", "list", "--data", "PIPE"], "cannot be listed (Not a directory)"),
    (["eval", "--config", "/nope.toml", "--out", "OUT"], "there is no config file /nope.toml"),
    (["eval", "--config", "TEXT", "--out", "OUT"], "is not valid TOML"),
    (["eval", "--out", "/proc/nope/run"], "cannot make the run folder /proc/nope/run"),
    (["eval", "--out", "TEXT"], "TEXT"),
    (["eval", "--out", "RUN"], "already holds a finished run of 3 episodes"),
    (["eval", "--out", "FULL"], "FULL"),
    (["eval", "--resume", "--limit", "4", "--out", "RUN"], "limit"),
    (["eval", "--resume", "--agent", "expert", "--out", "RUN"], "agent"),
    (["leaderboard"], "Missing argument 'RUN...'"),
    (["leaderboard", "/nope"], "/nope does not exist"),
    (["leaderboard", "EMPTY"], "is not a run folder: it has no manifest.json"),
    (["leaderboard", "RUN", "RUN"], "is given twice"),
    (["leaderboard", "RUN", "RUN/summary.json"], "is given twice"),
    (["leaderboard", "TEXT"], "is not a run folder: give the folder that holds manifest.json"),
    (["leaderboard", "RUN", "--format", "pdf"], "'pdf' is not one of"),
    (["leaderboard", "RUN", "--out", "/proc/nope"], "cannot write /proc/nope"),
    (["leaderboard", "LONG"], "File name too long"),
    (["eval", "--data", "LONG", "--out", "OUT"], "File name too long"),
    (["leaderboard", "LOOP"], "LOOP"),
    (["list", "agnets"], "unknown kind of list 'agnets'; did you mean 'agents'?"),
    (["list", "panels", "--data", "/nope"], "there is no /nope"),
    (["quickstart", "--limit", "0"], "limit"),
    (["quickstart", "--out", "TEXT"], "TEXT"),
    (["games", "lst"], "lst"),
]


@pytest.mark.parametrize(("arguments", "message"), COMMAND_LINES, ids=[" ".join(case[0]) for case in COMMAND_LINES])
def test_a_wrong_command_line(
    arguments: list[str], message: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    places = {name: tmp_path / name.lower() for name in ("EMPTY", "TEXT", "FULL", "OUT")} | {"RUN": run}
    places["LONG"] = tmp_path / ("x" * 300)
    places["LOOP"] = tmp_path / "loop"
    places["LOOP"].symlink_to(places["LOOP"])
    places["PIPE"] = tmp_path / "pipe"
    os.mkfifo(places["PIPE"])
    places["BYTES"] = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bytes\xff"))
    places["EMPTY"].mkdir()
    places["TEXT"].write_text("not what = was asked [for\n")
    places["FULL"].mkdir()
    (places["FULL"] / "thesis.tex").write_text("years of work")
    before = contents(run)
    places["RUN/summary.json"] = run / "summary.json"
    shown = complain(*[str(places.get(argument, argument)) for argument in arguments])
    assert str(places.get(message, message)) in shown
    assert not places["OUT"].exists()
    assert (places["FULL"] / "thesis.tex").read_text() == "years of work"
    assert contents(run) == before


@pytest.mark.parametrize("arguments", [[], ["games"]])
def test_a_verb_that_needs_another_shows_its_help(arguments: list[str]) -> None:
    done = subprocess.run([*HOLDERGYM, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: holdergym")


def damage_line(text: str, change: dict[str, object]) -> str:
    first, *others = text.splitlines(keepends=True)
    return json.dumps(json.loads(first) | change) + "\n" + "".join(others)


DAMAGES = [
    ("summary", "episodes.jsonl", lambda text: text.replace('"outcome"', '"outcom"', 1), "line 1 of"),
    ("not json", "episodes.jsonl", lambda text: "{\n" + text, "line 1 of"),
    ("twice", "episodes.jsonl", lambda text: text + text.splitlines(keepends=True)[0], "is already in line 1"),
    ("later", "episodes.jsonl", lambda text: damage_line(text, {"schema": 99}), "schema version 99"),
    ("other task", "episodes.jsonl", lambda text: damage_line(text, {"task_id": "alfworld/x/y"}), "is not in panel"),
    ("other seed", "episodes.jsonl", lambda text: damage_line(text, {"seed": 1}), "was played with another seed"),
    ("no outcome", "episodes.jsonl", lambda text: damage_line(text, {"outcome": "luck"}), "there is no outcome 'luck'"),
    ("config", "config.toml", lambda text: text.replace("max_steps = 5", "max_steps = 6"), "was changed after"),
    ("manifest", "manifest.json", lambda text: text[: len(text) // 2], "is damaged: it is not JSON"),
    ("later manifest", "manifest.json", lambda text: text.replace('"schema": 1', '"schema": 7'), "schema version 7"),
]


@pytest.mark.parametrize(("name", "change", "message"), [case[1:] for case in DAMAGES], ids=[c[0] for c in DAMAGES])
def test_a_damaged_run_is_refused(name: str, change, message: str, run: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "run"
    damaged.mkdir()
    for path in run.iterdir():
        (damaged / path.name).write_bytes(path.read_bytes())
    text = (damaged / name).read_text()
    (damaged / name).write_text(change(text))
    assert (damaged / name).read_text() != text
    assert message in complain("leaderboard", str(damaged))
