"""Whole runs from the command line, in processes of their own, some of which are killed."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

HOLDERGYM = [sys.executable, "-m", "holdergym"]
NEEDS_FILE_LIMITS = pytest.mark.skipif(sys.platform != "linux", reason="limits of the file size are Linux's")


def holdergym(*arguments: str | Path, code: int = 0, **settings: object) -> str:
    command = [*HOLDERGYM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, **settings)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def forget_episodes(run: Path) -> None:
    """Makes a run one that was killed before its first episode."""
    (run / "episodes.jsonl").write_bytes(b"")
    (run / "summary.json").unlink(missing_ok=True)


def summary_of(run: Path) -> dict[str, object]:
    return json.loads((run / "summary.json").read_text())


def test_evaluating_the_expert_on_the_built_in_games(tmp_path: Path) -> None:
    shown = holdergym("eval", "--agent", "expert", "--out", tmp_path / "run")
    assert "60/60     100.0   [94.0, 100.0]" in shown
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {
        "config.toml",
        "manifest.json",
        "episodes.jsonl",
        "summary.json",
    }
    overall = summary_of(tmp_path / "run")["overall"]
    assert (overall["won"], overall["finished"], overall["path_efficiency"]) == (60, 60, 1.0)
    episodes = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert all(len(episode["turns"]) == episode["shortest"] for episode in episodes)


@pytest.mark.shared
@pytest.mark.parametrize(("panel", "size"), [("valid_unseen", 134), ("valid_seen", 140)])
def test_the_expert_wins_every_official_game_by_a_shortest_plan(
    panel: str, size: int, official_data: Path, tmp_path: Path
) -> None:
    holdergym("eval", "--panel", panel, "--data", official_data, "--agent", "expert", "--out", tmp_path / "expert")
    holdergym("eval", "--panel", panel, "--data", official_data, "--agent", "walkthrough", "--out", tmp_path / "walk")
    expert, walk = summary_of(tmp_path / "expert"), summary_of(tmp_path / "walk")
    assert expert["overall"]["won"] == walk["overall"]["won"] == size
    assert expert["overall"]["mean_steps"] == walk["overall"]["mean_steps"]
    assert expert["panel"]["label"] == panel
    lengths = {}
    for name in ("expert", "walk"):
        lines = (tmp_path / name / "episodes.jsonl").read_text().splitlines()
        lengths[name] = {e["task_id"]: len(e["turns"]) for e in map(json.loads, lines)}
    assert lengths["expert"] == lengths["walk"]


def test_a_replayed_run_gives_the_same_numbers(tmp_path: Path) -> None:
    options = ["--limit", "12", "--max-steps", "20"]
    holdergym("eval", "--agent", "random", *options, "--out", tmp_path / "first")
    holdergym("eval", "--agent", "replay", "--set", "agent.path=first", *options, "--out", "again", cwd=tmp_path)
    first, again = summary_of(tmp_path / "first"), summary_of(tmp_path / "again")
    assert first["overall"] == again["overall"]
    assert first["by_type"] == again["by_type"]

    # Where the recording lies is a circumstance; what it holds is not.
    assert "path" not in (tmp_path / "again" / "config.toml").read_text()
    forget_episodes(tmp_path / "again")
    holdergym("eval", "--resume", "--out", tmp_path / "again")
    assert summary_of(tmp_path / "again") == again
    message = holdergym("eval", "--resume", "--agent", "random", "--out", tmp_path / "again", code=2)
    assert "the setting 'agent.name' is 'replay' there and 'random' here; leave it out" in message
    (tmp_path / "first").rename(tmp_path / "moved")
    forget_episodes(tmp_path / "again")
    message = holdergym("eval", "--resume", "--out", tmp_path / "again", code=2)
    assert f"the recording came from {tmp_path / 'first'}, and nothing is there now" in message
    moved = f"agent.path={tmp_path / 'moved'}"
    holdergym("eval", "--resume", "--set", moved, "--out", tmp_path / "again")
    assert summary_of(tmp_path / "again") == again
    with (tmp_path / "moved" / "episodes.jsonl").open("a") as journal:
        journal.write("\n")
    message = holdergym("eval", "--resume", "--set", moved, "--out", tmp_path / "again", code=2)
    assert "it was played by 'replay(sha256=" in message


def test_settings_come_from_a_file_and_options_win(tmp_path: Path) -> None:
    config = tmp_path / "eval.toml"
    config.write_text(f'limit = 3\nmax_steps = 5\nout = "{tmp_path / "run"}"\n[agent]\nname = "random"\n')
    holdergym("eval", "--config", config, "--max-steps", "2", "--set", "limit=4")
    summary = summary_of(tmp_path / "run")
    assert (summary["overall"]["finished"], summary["max_steps"], summary["overall"]["mean_steps"]) == (4, 2, 2.0)
    assert summary["panel"]["label"] == "builtin_valid[4 of 60]"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run to compare with: 180 episodes of 50 steps."""
    run = tmp_path_factory.mktemp("whole") / "run"
    holdergym("eval", "--agent", "random", "--samples", "3", "--out", run)
    return run


def test_kill_and_resume_give_the_same_summary_to_the_byte(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [*HOLDERGYM, "eval", "--agent", "random", "--samples", "3", "--resume", "--out", str(run)]
    rng = random.Random(7)
    lines = [0]
    for _ in range(12):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Wait until it has written a few more episodes, then kill at a random moment.
        target = lines[-1] + rng.randrange(1, 16)
        deadline = time.monotonic() + 60
        while count_lines(run) < target and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.01)
        process.kill()
        assert process.wait(30) in (-signal.SIGKILL, 0)
        lines.append(count_lines(run))
    assert len(set(lines)) == len(lines)  # every start wrote something
    holdergym("eval", "--resume", "--out", run)
    assert (run / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()
    assert (run / "config.toml").read_bytes() == (whole / "config.toml").read_bytes()
    assert count_lines(run) == 180
    sessions = json.loads((run / "manifest.json").read_text())["sessions"]
    assert len(sessions) >= 2
    assert sessions[0]["finished"] is None


def test_a_run_killed_in_its_first_moments_begins_again(tmp_path: Path) -> None:
    """Before, between and after the making of the folder, the lock, the config and the manifest."""
    options = ["eval", "--agent", "expert", "--limit", "6", "--quiet"]
    rng = random.Random(11)
    run = tmp_path / "run"
    for _ in range(6):
        process = subprocess.Popen([*HOLDERGYM, *options, "--resume", "--out", str(run)], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not run.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(rng.random() * 0.005)
        process.kill()
        process.wait(30)
        if (run / "summary.json").exists():
            break
    holdergym(*options, "--resume", "--out", run)
    holdergym(*options, "--out", tmp_path / "whole")
    assert (run / "summary.json").read_bytes() == (tmp_path / "whole" / "summary.json").read_bytes()


def test_resume_alone_needs_a_run(tmp_path: Path) -> None:
    """The defaults would be another benchmark than the one that was meant."""
    run = tmp_path / "run"
    for circumstances in ([], ["--workers", "2"]):
        message = holdergym("eval", "--resume", *circumstances, "--out", run, code=2)
        assert f"there is no run in {run} to go on with: say what to play" in message
        assert len(message.splitlines()) == 1
        assert not run.exists()
    begun = subprocess.run(
        [*HOLDERGYM, "eval", "--resume", "--limit", "2", "--max-steps", "3", "--out", str(run)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert begun.stderr == f"{run}: no run is there yet, so a new one begins\n"


def test_resume_from_another_folder_finds_the_problems(tmp_path: Path) -> None:
    (tmp_path / "sums.jsonl").write_text('{"problem": "1+1?", "answer": "2"}\n{"problem": "1+2?", "answer": "3"}\n')
    holdergym("eval", "--env", "math", "--panel", "sums.jsonl", "--agent", "oracle", "--out", "file", cwd=tmp_path)
    holdergym("eval", "--resume", "--out", str(tmp_path / "file"))
    holdergym("eval", "--env", "math", "--data", "sums.jsonl", "--agent", "oracle", "--out", "run", cwd=tmp_path)
    forget_episodes(tmp_path / "run")
    holdergym("eval", "--resume", "--out", tmp_path / "run")
    assert summary_of(tmp_path / "run")["overall"]["won"] == 2
    (tmp_path / "sums.jsonl").unlink()
    message = holdergym("eval", "--resume", "--out", tmp_path / "run", code=2)
    assert f"the problems came from {tmp_path / 'sums.jsonl'}, and nothing is there now: give --data" in message


def test_resume_from_another_folder_finds_the_games(tmp_path: Path) -> None:
    """Games that were named by a relative path, by ALFWORLD_DATA, and games that have gone."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    holdergym("games", "generate", "--count", "3", "--difficulty", "tiny", "--out", "games", cwd=here)
    options = ["eval", "--panel", "generated", "--max-steps", "3", "--quiet"]
    holdergym(*options, "--data", "games", "--out", "first", cwd=here)
    holdergym(*options, "--out", "second", cwd=here, env={**os.environ, "ALFWORLD_DATA": "games"})
    for name in ("first", "second"):
        manifest = json.loads((here / name / "manifest.json").read_text())
        assert manifest["sessions"][0]["data"] == str(here / "games")
        assert "data" not in (here / name / "config.toml").read_text()
        forget_episodes(here / name)
        holdergym("eval", "--resume", "--out", Path("..", "here", name), cwd=there)
        assert count_lines(here / name) == 3
    (here / "games").rename(there / "games")
    message = holdergym("eval", "--resume", "--out", here / "first", code=2)
    assert (
        f"manifest.json says that the games came from {here / 'games'}, and nothing is there now: give --data"
        in message
    )
    holdergym("eval", "--resume", "--data", "games", "--out", here / "first", cwd=there)


def test_a_run_killed_before_its_manifest_does_not_go_on_as_another_one(tmp_path: Path) -> None:
    run = tmp_path / "run"
    holdergym("eval", "--agent", "expert", "--limit", "4", "--quiet", "--out", run)
    for name in ("manifest.json", "episodes.jsonl", "summary.json"):
        (run / name).unlink()
    (run / ".manifest.json.5f.new").write_text('{"schema": 1')
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    message = holdergym("eval", "--resume", "--out", run, code=2)
    assert "a run was begun there and killed before it was set up" in message
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    holdergym("eval", "--resume", "--agent", "expert", "--limit", "4", "--out", run)
    assert summary_of(run)["overall"]["won"] == 4


def count_lines(run: Path) -> int:
    path = run / "episodes.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_line_torn_at_any_byte_is_played_again(whole: Path, tmp_path: Path) -> None:
    data = (whole / "episodes.jsonl").read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    rng = random.Random(3)
    for cut in (last + 1, rng.randrange(last + 1, len(data)), len(data) - 1):
        run = tmp_path / f"cut{cut}"
        run.mkdir()
        for name in ("config.toml", "manifest.json"):
            (run / name).write_bytes((whole / name).read_bytes())
        (run / "episodes.jsonl").write_bytes(data[:cut])
        done = subprocess.run(
            [*HOLDERGYM, "eval", "--resume", "--out", str(run)], capture_output=True, text=True, timeout=60, check=True
        )
        assert "cut off a half-written last line" in done.stderr
        assert (run / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()


def test_ctrl_c_says_how_to_go_on(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [*HOLDERGYM, "eval", "--agent", "random", "--samples", "3", "--out", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while count_lines(run) < 5:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == f"interrupted: what was played is in {run}; --resume goes on from there"
    holdergym("eval", "--resume", "--out", run)
    assert (run / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()


@pytest.mark.stock
def test_ctrl_c_ends_the_stock_engine_s_episodes_at_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    settings = ["--agent", "random", "--engine", "textworld", "--workers", "2", "--max-steps", "5000"]
    process = subprocess.Popen(
        [*HOLDERGYM, "eval", *settings, "--out", str(run)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (run / "manifest.json").exists() and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    # Episodes of 5,000 commands would take ten minutes: they are broken off.
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()  # else it would play on for as long
    assert process.returncode == 130
    assert errors.splitlines()[-1].startswith("interrupted: what was played is in")


def test_what_was_cut_off_stays_so(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["sessions"][-1]["finished"] = None
    (run / "manifest.json").write_text(json.dumps(manifest))
    holdergym("eval", "--resume", "--out", run)
    assert json.loads((run / "manifest.json").read_text())["sessions"][-1]["finished"] is None


def test_nothing_is_written_when_the_agent_or_the_engine_cannot_play(tmp_path: Path) -> None:
    recording = tmp_path / "moves.jsonl"
    recording.write_text('{"task_id": "alfworld/builtin_valid/other", "actions": []}\n')
    run = tmp_path / "run"
    message = holdergym("eval", "--agent", "replay", "--set", f"agent.path={recording}", "--out", run, code=2)
    assert "unknown task in" in message
    assert not run.exists()


def test_a_second_process_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [*HOLDERGYM, "eval", "--agent", "random", "--samples", "40", "--out", str(run)]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while count_lines(run) < 1:
            assert first.poll() is None
            time.sleep(0.002)
        message = holdergym("eval", "--resume", "--agent", "random", "--samples", "40", "--out", run, code=2)
        assert f"another process (pid {first.pid}) is writing" in message
        assert len(message.splitlines()) == 1
    finally:
        first.kill()
        first.wait(30)


@NEEDS_FILE_LIMITS
def test_a_full_disk_ends_with_one_line_and_loses_nothing(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that the write fails as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))

    arguments = ["eval", "--agent", "random", "--samples", "3", "--out", run]
    message = holdergym(*arguments, code=2, preexec_fn=limit)
    assert "the episodes before this one are safe" in message
    assert len(message.splitlines()) == 1
    written = (run / "episodes.jsonl").read_bytes()
    assert 0 < len(written) <= 300_000
    assert written.endswith(b"\n")
    holdergym(*arguments, "--resume")
    assert (run / "episodes.jsonl").read_bytes().startswith(written)
    assert (run / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 200 kB in memory."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only the superuser may mount a small disk to fill")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("mount"), reason="fills a Linux tmpfs")
def test_a_disk_that_is_really_full(small_disk: Path, tmp_path: Path) -> None:
    options = ["eval", "--agent", "random", "--limit", "30"]
    for arguments in ([*options], [*options, "--resume"]):
        message = holdergym(*arguments, "--out", small_disk / "run", code=2)
        assert message.splitlines()[-1].endswith(
            "No space left on device" if "--resume" in arguments else "continue with --resume"
        )
    written = (small_disk / "run" / "episodes.jsonl").read_bytes()
    assert written.endswith(b"\n")
    shutil.copytree(small_disk / "run", tmp_path / "moved")
    holdergym(*options, "--resume", "--out", tmp_path / "moved")
    holdergym(*options, "--out", tmp_path / "whole")
    assert (tmp_path / "moved" / "episodes.jsonl").read_bytes().startswith(written)
    assert (tmp_path / "moved" / "summary.json").read_bytes() == (tmp_path / "whole" / "summary.json").read_bytes()


def test_quickstart_prints_a_table_and_plays_nothing_twice(tmp_path: Path) -> None:
    shown = holdergym("quickstart", "--limit", "12", "--out", tmp_path)
    assert "panel builtin_valid[12 of 60]" in shown
    rows = [line.split() for line in shown.splitlines()]
    assert [row[0] for row in rows if row[:1] in (["expert"], ["random"])] == ["expert", "random"]
    assert f"runs: {tmp_path}" in shown
    before = (tmp_path / "random" / "episodes.jsonl").stat().st_mtime_ns
    assert holdergym("quickstart", "--limit", "12", "--out", tmp_path) == shown
    assert (tmp_path / "random" / "episodes.jsonl").stat().st_mtime_ns == before


@NEEDS_FILE_LIMITS
def test_an_output_that_nobody_takes_is_no_traceback(whole: Path) -> None:
    command = [*HOLDERGYM, "leaderboard", str(whole)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "holdergym: error: cannot write the output: No space left on device\n"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_leaderboards_never_mix_panels(tmp_path: Path) -> None:
    for limit in ("6", "12"):
        for agent in ("random", "expert"):
            holdergym("eval", "--agent", agent, "--limit", limit, "--quiet", "--out", tmp_path / f"{agent}{limit}")
    runs = sorted(tmp_path.iterdir())
    text = holdergym("leaderboard", *runs)
    assert text.count("alfworld, panel builtin_valid[") == 2
    for form, mark in (("md", "| Agent | n |"), ("csv", "panel_sha256"), ("html", "<table")):
        out = tmp_path / f"board.{form}"
        holdergym("leaderboard", *runs, "--format", form, "--out", out)
        assert mark in out.read_text()
        assert out.read_text() == holdergym("leaderboard", *runs, "--format", form)


def test_doctor_and_list_say_what_there_is() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "ALFWORLD_DATA"}
    report = holdergym("doctor", env=environment)
    assert "a built-in game won in" in report
    assert "ok       gymnasium" in report
    assert "missing  official games" in report
    listed = holdergym("list", env=environment)
    for name in ("holdergym/ALFWorld-v0", "builtin_valid", "expert", "replay"):
        assert name in listed


def test_doctor_knows_every_extra_for_users() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = pyproject["project"]["optional-dependencies"]
    report = holdergym("doctor")
    assert set(re.findall(r"^extra (\w+): ", report, re.MULTILINE)) == set(extras) - {"all", "dev"}


def test_list_shows_all_but_the_games_that_are_gone() -> None:
    done = subprocess.run(
        [*HOLDERGYM, "list"], capture_output=True, text=True, env={**os.environ, "ALFWORLD_DATA": "/nope"}, check=False
    )
    assert done.returncode == 0
    assert "there is no /nope" in done.stderr
    for name in ("holdergym/ALFWorld-v0", "builtin_valid", "expert"):
        assert name in done.stdout


def test_a_command_line_that_is_not_text_can_be_recorded(tmp_path: Path) -> None:
    holdergym("eval", "--limit", "2", "--max-steps", "2", "--set", "seed=1", "--out", tmp_path / "run")
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    os.rename(tmp_path / "run", folder + b"/run")
    done = subprocess.run([*HOLDERGYM, "leaderboard", folder + b"/run"], capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    # Inside such a folder relative paths work, and what is written can be read again.
    holdergym("eval", "--limit", "2", "--max-steps", "2", "--out", "other", cwd=folder)
    holdergym("leaderboard", "run", "other", cwd=folder)


def test_doctor_ends_with_code_1_when_it_finds_a_problem(tmp_path: Path) -> None:
    (tmp_path / "json_2.1.1" / "valid_seen" / "task").mkdir(parents=True)
    (tmp_path / "json_2.1.1" / "valid_seen" / "task" / "game.tw-pddl").write_text("{}")
    for data, problem in ((tmp_path, "valid_seen: "), (tmp_path / "absent", "--data: there is no ")):
        done = subprocess.run(
            [*HOLDERGYM, "doctor", "--data", str(data)], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (1, "")
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("  problem")]
        assert problem in line


@pytest.mark.shared
def test_doctor_finds_official_games(official_data: Path) -> None:
    report = holdergym("doctor", "--data", official_data)
    assert "valid_unseen: 134 games" in report
    assert "partial  train: 8 games, 3545 fewer than the release has" in report


@pytest.mark.parametrize("verb", ["doctor", "eval", "leaderboard", "list", "quickstart"])
def test_the_examples_in_the_help_run(verb: str, tmp_path: Path) -> None:
    shown = holdergym(verb, "--help")
    examples = [line.split()[1:] for line in shown.splitlines() if line.strip().startswith("holdergym ")]
    # A language model takes minutes: it has tests of its own.
    runnable = [example for example in examples if "DIR" not in example and "--model" not in example]
    assert runnable
    for example in runnable:
        holdergym(*example, cwd=tmp_path)
