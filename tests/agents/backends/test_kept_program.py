"""A program that is kept: it ends with whoever wanted it, with all that it has started. Real processes are killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from holdergym.agents.backends.kept_program import KeptProgram

pytestmark = pytest.mark.timeout(120)
WAIT_S = 60

# Starts a child that takes no notice of a request to end, writes the numbers of both, and waits.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open("numbers.new", "w") as file:
    file.write(f"{os.getpid()} {child.pid} {os.getppid()}")
os.rename("numbers.new", "numbers")
time.sleep(600)
"""

# Keeps the program above, and waits to be killed.
WANTS_IT = """
import os, sys, time
from pathlib import Path
from holdergym.agents.backends.kept_program import KeptProgram
folder = Path(sys.argv[1])
command = [sys.executable, str(folder / "stubborn.py")]
own = folder / "own"
own.mkdir()
kept = KeptProgram(command, environment=os.environ, folder=own, work=folder, log=folder / "log")
time.sleep(600)
"""


def start(folder: Path, code: str) -> KeptProgram:
    (folder / "program.py").write_text(code)
    command = [sys.executable, str(folder / "program.py")]
    return KeptProgram(command, environment=os.environ, folder=folder / "own", work=folder, log=folder / "log")


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def lives(number: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def numbers(folder: Path) -> list[int]:
    until((folder / "numbers").exists)
    return [int(one) for one in (folder / "numbers").read_text().split()]


@pytest.fixture
def few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a keeper gives up soon, and kills."""
    monkeypatch.setattr("holdergym.agents.backends.kept_program._END_SECONDS", 1.0)


def test_it_ends_when_it_is_closed(tmp_path: Path) -> None:
    kept = start(tmp_path, "import time\nprint('working', flush=True)\ntime.sleep(600)")
    until(lambda: (tmp_path / "log").read_text() == "working\n")
    assert not kept.ended()
    began = time.monotonic()
    kept.close()
    assert time.monotonic() - began < 5  # it was asked to, and did
    assert kept.ended()
    kept.close()


def test_a_forked_process_that_lives_on_does_not_hold_it(tmp_path: Path) -> None:
    code = """
import signal, sys, time
def leave(*_):
    print("asked to", flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, leave)
print("working", flush=True)
time.sleep(600)
"""
    kept = start(tmp_path, code)
    until(lambda: (tmp_path / "log").read_text() == "working\n")
    number = os.fork()
    if number == 0:  # it has all that this process has open, and waits to be killed
        signal.pause()
        os._exit(0)
    try:
        began = time.monotonic()
        kept.close()
        assert time.monotonic() - began < 5
        assert (tmp_path / "log").read_text() == "working\nasked to\n"
    finally:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)


def test_its_end_is_known_where_python_has_no_waitid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "waitid", raising=False)  # as on macOS before Python 3.13
    with closing(start(tmp_path, "import time\ntime.sleep(600)")) as kept:
        assert not kept.ended()
        number = vars(kept)["_keeper"].pid
        os.kill(number, signal.SIGKILL)
        until(kept.ended)
        # It was not waited for: nobody else can have its number, nor its group's, before it is closed.
        assert Path(f"/proc/{number}/stat").exists()
    assert not Path(f"/proc/{number}/stat").exists()


def test_what_does_not_end_is_killed_with_all_that_it_has_started(tmp_path: Path, few_seconds: None) -> None:
    kept = start(tmp_path, STUBBORN)
    found = numbers(tmp_path)
    assert all(lives(one) for one in found)
    kept.close()
    until(lambda: not any(lives(one) for one in found))


@pytest.mark.slow  # the keeper itself waits ten seconds before it kills
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_whoever_wanted_it(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    wants = subprocess.Popen([sys.executable, "-c", WANTS_IT, str(tmp_path)], stderr=subprocess.DEVNULL)
    found = numbers(tmp_path)
    wants.send_signal(number)
    wants.wait(WAIT_S)
    until(lambda: not any(lives(one) for one in found))
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_does_not_outlive_its_keeper(number: signal.Signals, tmp_path: Path) -> None:
    with closing(start(tmp_path, STUBBORN.replace("SIGTERM", "SIGUSR1"))) as kept:
        program, child, keeper = numbers(tmp_path)
        os.kill(keeper, number)
        until(kept.ended)
        until(lambda: not lives(program))
    until(lambda: not lives(child))


def test_its_end_is_known_at_once_and_why(tmp_path: Path) -> None:
    code = (
        "import sys\nprint('KeyError: an earlier one', flush=True)\n"
        "sys.stderr.write('ValueError: the reason\\n  and more of it\\n')\nsys.exit(3)"
    )
    with closing(start(tmp_path, code)) as kept:
        until(kept.ended)
        assert kept.why() == "code 3: ValueError: the reason and more of it"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("", "it says nothing"),
        ("all is well\nstill\n", "still"),
        ("RuntimeError: one\nTypeError: two\nleaked 4 instances\n - leaked this", "TypeError: two"),
        ("RuntimeError: one\nX: failed. See root cause above: no Error: here", "RuntimeError: one"),
        ("(EngineCore pid=7) ERROR 12-01 15:08:30 [core.py:5] ValueError: no room\nbye", "ValueError: no room"),
        ("(APIServer pid=7) x.EngineDeadError: It died. See stack trace (above)\nnoise", "x.EngineDeadError: It died."),
        ("python: error: unrecognized arguments: --x", "python: error: unrecognized arguments: --x"),
        (
            "a.ValidationError: 1 error\n  Value error, too long [x]\n    For more\nbye",
            "error Value error, too long [x] For",
        ),
    ],
)
def test_the_telling_line_is_found(output: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "output").write_text(output)
    with closing(start(tmp_path, "print(open('output').read(), flush=True)")) as kept:
        until(kept.ended)
        assert said in kept.why()
        assert kept.why().startswith("code 0: ")
        assert "bye" not in kept.why()
        assert "noise" not in kept.why()


def test_a_signal_is_a_reason_as_well(tmp_path: Path) -> None:
    with closing(start(tmp_path, "import os\nprint('last words', flush=True)\nos.kill(os.getpid(), 9)")) as kept:
        until(kept.ended)
        assert kept.why() == "signal 9 (SIGKILL): last words"


def test_a_program_that_is_not_there_is_an_end(tmp_path: Path) -> None:
    folders = {"folder": tmp_path / "own", "work": tmp_path, "log": tmp_path / "log"}
    with closing(KeptProgram(["/no/such"], environment={}, **folders)) as kept:
        until(kept.ended)
        assert "FileNotFoundError" in kept.why()
        assert "\n" not in kept.why()
