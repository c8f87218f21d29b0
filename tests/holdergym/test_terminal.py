"""What reaches a terminal: nothing that steers it, and no traceback when a stream is closed."""

import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from holdergym.cli.terminal import visible
from holdergym.cli.voice import round_line

HOLDERGYM = [sys.executable, "-m", "holdergym"]
RESET = "\x1bc"


def shell(*arguments: object, redirect: str) -> subprocess.CompletedProcess[str]:
    command = shlex.join([*HOLDERGYM, *map(str, arguments)])
    return subprocess.run(
        ["sh", "-c", f"exec {command} {redirect}"], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("You see a mug 1.\n\tOk, Hölder.", "You see a mug 1.\n\tOk, Hölder."),
        ("\x1b[2J\x07\r\x9b", "\\x1b[2J\\x07\\r\\x9b"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        (b"run\xff".decode(errors="surrogateescape"), "run\\udcff"),
        ("👩\u200d🚀", "👩\u200d🚀"),
    ],
)
def test_what_steers_a_terminal_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
    shown.encode()


def test_no_verb_prints_around_it() -> None:
    folder = Path(__file__).resolve().parents[2] / "holdergym" / "cli"
    printing = {path.name for path in folder.glob("*.py") if "click.echo(" in path.read_text()}
    assert printing == {"terminal.py"}


def test_a_hostile_name_is_printed_harmlessly(tmp_path: Path) -> None:
    for arguments in (["leaderboard", f"{RESET}x"], ["games", "list", "--data", f"{RESET}x"]):
        done = subprocess.run([*HOLDERGYM, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert "\\x1bcx" in done.stderr
        assert "\x1b" not in done.stderr


def test_a_hostile_game_is_played_and_listed_harmlessly(tmp_path: Path) -> None:
    subprocess.run(
        [*HOLDERGYM, "games", "generate", "--count", "1", "--difficulty", "tiny", "--out", str(tmp_path)],
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    (path,) = tmp_path.glob("json_2.1.1/*/*/*/game.tw-pddl")
    game = json.loads(path.read_text())
    game["grammar"] = game["grammar"].replace("Your task is to: ", f"Your task is to: {json.dumps(RESET)[1:-1]}")
    path.write_text(json.dumps(game))
    done = subprocess.run(
        [*HOLDERGYM, "play", "--data", str(tmp_path)], input=b"", capture_output=True, timeout=60, check=False
    )
    assert b"Your task is to: \\x1bc" in done.stdout
    assert b"\x1b" not in done.stdout + done.stderr


def test_a_closed_standard_error_gets_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = shell("eval", "--limit", "3", "--max-steps", "3", "--out", run, redirect="2>&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert "run folder:" in done.stdout
    assert len((run / "episodes.jsonl").read_text().splitlines()) == 3
    done = shell("eval", "--limit", "0", "--out", tmp_path / "other", redirect="2>&-")
    assert (done.returncode, done.stdout) == (2, "")
    done = shell("leaderboard", run, redirect=">&- 2>&- <&-")
    assert done.returncode == 0


def test_a_closed_standard_input_is_the_end_of_the_input() -> None:
    done = shell("play", redirect="<&-")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith("stopped after 0 steps, not won\n")


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    for stream in ("stdout", "stderr"):
        reader, writer = os.pipe()
        os.close(reader)
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: writer}
        arguments = ["list"] if stream == "stdout" else ["list", "agnets"]
        done = subprocess.run([*HOLDERGYM, *arguments], **streams, timeout=60, check=False)
        os.close(writer)
        assert done.returncode == (141 if stream == "stdout" else 2)


def test_an_encoding_without_umlauts_is_no_traceback() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*HOLDERGYM, "quickstart", "--help"], capture_output=True, env=environment, check=False)
    assert done.returncode == 0
    done = subprocess.run([*HOLDERGYM, "leaderboard", "Hölder"], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (2, b"holdergym: error: H\\xf6lder does not exist\n")


def test_the_line_of_a_round_says_what_the_method_does_and_no_more() -> None:
    plain = {"success": 0.5, "reward": 0.5, "p": 1.0, "entropy": 0.25, "loss": 1e-9, "repaired_groups": 0.0}
    assert round_line(1, 9, plain) == "round 1/9  success 50.0%  reward 0.500  entropy 0.25"
    explored = {**plain, "success": math.nan, "p": -0.5, "explorer/alpha": 0.75, "explorer/success": 0.25, "batches": 3}
    assert round_line(2, 9, explored) == (
        "round 2/9  batches 3  explorer's share 75%  explorer's success 25.0%  reward 0.500  p -0.50  entropy 0.25"
    )
    assert round_line(3, 9, {"loss": 0.125, "gradient_norm": 2.0}) == "round 3/9  loss 0.125  gradient 2"
