"""Programs of an agent: what they compute, what they may use, and what they cannot reach."""

import os
import socket
import time

import pytest
from holdergym.envs.errors import ConfigError, EnvironmentFailure
from holdergym.envs.math.sandbox import Ending, Execution, Isolation, Limits, run_program, strongest_isolation

QUICK = Limits(seconds=8.0)


def _works(isolation: Isolation) -> bool:
    try:
        return run_program("print('up')", Limits(seconds=20.0), isolation).output == "up\n"
    except EnvironmentFailure:
        return False


@pytest.fixture(params=Isolation)
def isolation(request: pytest.FixtureRequest) -> Isolation:
    kind: Isolation = request.param
    if not _works(kind):
        pytest.skip(f"this system has no isolation {kind.value!r}")
    return kind


def test_the_strongest_that_works_is_chosen() -> None:
    assert strongest_isolation() is next(kind for kind in Isolation if _works(kind))


def test_programs_compute(isolation: Isolation) -> None:
    program = "import sys\nfrom fractions import Fraction\n"
    program += "print(sum(Fraction(1, n) for n in range(1, 5)))\nprint('é', file=sys.stderr)"
    assert run_program(program, QUICK, isolation) == Execution(Ending.FINISHED, "25/12\né\n")


def test_each_program_starts_afresh(isolation: Isolation) -> None:
    assert run_program("x = 1\nopen('kept', 'w').write('x')", QUICK, isolation).ending is Ending.FINISHED
    again = run_program("import os\nprint(os.listdir('.'))\nprint(x)", QUICK, isolation)
    assert again.ending is Ending.FAILED
    assert again.output.startswith("['program.py']\n")
    assert "NameError" in again.output


def test_secrets_of_the_environment_stay_outside(isolation: Isolation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDERGYM_SECRET", "swordfish")
    assert "swordfish" not in run_program("import os\nprint(dict(os.environ))", QUICK, isolation).output


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("1/0", "ZeroDivisionError"),
        ("raise SystemExit(3)", ""),
        ("x = bytearray(10**9)", "MemoryError"),
        ("open('big', 'wb').write(b'x' * 10**8)", "File too large"),
        ("import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))\nx = bytearray(10**9)", ""),
        ("files = [open('program.py') for _ in range(100)]", "Too many open files"),
        ("def f(x:\n", "SyntaxError"),
        ("print(input())", "EOFError"),
    ],
)
def test_what_goes_too_far_fails(isolation: Isolation, program: str, said: str) -> None:
    if "setrlimit" in program and isolation is Isolation.LIMITS and os.getuid() == 0:
        pytest.skip("root may raise limits where nothing but limits is in force, as the documentation says")
    execution = run_program(program, QUICK, isolation)
    assert execution.ending is Ending.FAILED
    assert said in execution.output


@pytest.mark.parametrize(
    "program", ["while True: pass", "import time\ntime.sleep(60)", "import signal\nsignal.pause()"]
)
def test_a_program_is_stopped_in_time(isolation: Isolation, program: str) -> None:
    start = time.monotonic()
    assert run_program(program, Limits(seconds=1.0), isolation).ending is Ending.TIMEOUT
    assert time.monotonic() - start < 4


def test_endless_output_is_cut(isolation: Isolation) -> None:
    execution = run_program("while True: print('x' * 1000)", QUICK, isolation)
    assert execution.ending is Ending.TOO_MUCH_OUTPUT
    assert len(execution.output) < 2_100
    long = run_program("print('a' + 'x' * 5000 + 'z')", QUICK, isolation)
    assert (long.ending, long.output[0], long.output[-2:]) == (Ending.FINISHED, "a", "z\n")
    assert "characters left out" in long.output


@pytest.mark.parametrize("kind", [Isolation.BUBBLEWRAP, Isolation.NAMESPACES])
def test_network_and_other_processes_are_out_of_reach(kind: Isolation) -> None:
    if not _works(kind):
        pytest.skip(f"this system has no isolation {kind.value!r}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1)\nprint('in')"
        assert run_program(connect, QUICK, Isolation.LIMITS).output == "in\n"
        assert "OSError" in (refused := run_program(connect, QUICK, kind).output) or "Refused" in refused
    murder = f"import os\nos.kill({os.getpid()}, 0)"
    assert "ProcessLookupError" in run_program(murder, QUICK, kind).output


@pytest.mark.parametrize("kind", [Isolation.BUBBLEWRAP, Isolation.NAMESPACES])
def test_nothing_outlives_a_program(kind: Isolation) -> None:
    if not _works(kind):
        pytest.skip(f"this system has no isolation {kind.value!r}")
    # Where processes cannot be forbidden (root), they end with the program.
    mark = "outlives-" + os.urandom(6).hex()
    program = f"import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nprint({mark!r})"
    run_program(program, QUICK, kind)
    time.sleep(0.3)
    assert not [pid for pid in _processes() if mark in _command_line(pid) or _is_orphan_program(pid)]


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _command_line(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _is_orphan_program(pid: int) -> bool:
    """Whether a process is a program of ours whose session leader is itself: it called setsid."""
    try:
        return _command_line(pid).endswith("program.py\0") and os.getsid(pid) == pid and os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


def test_bubblewrap_hides_files() -> None:
    if not _works(Isolation.BUBBLEWRAP):
        pytest.skip("bubblewrap is not installed or does not work here")
    for program in ("open('/etc/passwd')", "open('/root/x', 'w')", "open('/usr/x', 'w')", "open('/dev/shm/x', 'w')"):
        execution = run_program(program, QUICK, Isolation.BUBBLEWRAP)
        assert execution.ending is Ending.FAILED, program
        assert any(name in execution.output for name in ("FileNotFoundError", "Read-only", "PermissionError")), program
    fill = "for n in range(100): open(str(n), 'wb').write(b'x' * 4_000_000)"
    assert "No space left" in run_program(fill, QUICK, Isolation.BUBBLEWRAP).output


def test_limits_are_checked() -> None:
    with pytest.raises(ConfigError, match="64 MiB"):
        Limits(memory_mb=1)
