"""Runs an agent's Python program apart from everything else, as far as the system allows.

What is protected depends on ``Isolation``; docs/GRADING.md says plainly what is not. In every case the program is a
fresh interpreter in isolated mode, in an empty folder of its own, with an empty environment, limits on processor
time, memory, file size and output, and a deadline after which it is killed.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from ..errors import ConfigError, EnvironmentFailure
from . import sandbox_launcher

_LAUNCHER = Path(sandbox_launcher.__file__)
_PROGRAM = "program.py"
_GRACE_S = 1.0


class Isolation(StrEnum):
    """How far a program is kept apart, strongest first.

    ``bubblewrap``: it sees the system's and Python's own files, read only; it can write to a small folder in memory
    only; no network; no other processes.

    ``namespaces``: no network, no other processes, no privileges; but it can read and change every file that you can.

    ``limits``: nothing but the limits; network and files are open to it.
    """

    BUBBLEWRAP = "bubblewrap"
    NAMESPACES = "namespaces"
    LIMITS = "limits"


class Ending(StrEnum):
    """How a program ended."""

    FINISHED = "finished"
    FAILED = "failed"
    TIMEOUT = "timeout"
    TOO_MUCH_OUTPUT = "too much output"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use.

    Attributes:
        seconds: Wall time, and processor time.
        memory_mb: Address space, in MiB.
        file_mb: Size of any file that it writes, in MiB.
        output_characters: Characters of output that are kept; a program that writes ten times as many is killed.
    """

    seconds: float = 5.0
    memory_mb: int = 512
    file_mb: int = 4
    output_characters: int = 2_000

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.memory_mb < 64 or self.file_mb < 1 or self.output_characters < 1:
            raise ConfigError(
                "a program needs a positive time, at least 64 MiB, 1 MiB of file and 1 character of output"
            )


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of a program.

    Attributes:
        ending: How it ended.
        output: What it wrote to standard output and standard error, in order, cut to the limit.
    """

    ending: Ending
    output: str


def run_program(source: str, limits: Limits, isolation: Isolation | None = None) -> Execution:
    """Runs a program to its end or to the first limit.

    Args:
        source: Python source text.
        limits: What it may use.
        isolation: How far it is kept apart; None takes the strongest that works here.

    Raises:
        EnvironmentFailure: If the isolation that was asked for does not work here.
    """
    chosen = isolation or strongest_isolation()
    folder = tempfile.mkdtemp(prefix="holdergym-")
    try:
        Path(folder, _PROGRAM).write_text(source, encoding="utf-8", errors="backslashreplace")
        return _run(_command(chosen, folder, limits), folder, limits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=1)
def strongest_isolation() -> Isolation:
    """The strongest isolation that works on this system, tried out once."""
    for isolation in (Isolation.BUBBLEWRAP, Isolation.NAMESPACES):
        if isolation is Isolation.BUBBLEWRAP and shutil.which("bwrap") is None:
            continue
        try:
            if run_program("print('up')", Limits(seconds=20.0), isolation).output == "up\n":
                return isolation
        except EnvironmentFailure:
            continue
    return Isolation.LIMITS


def _command(isolation: Isolation, folder: str, limits: Limits) -> list[str]:
    cpu_s = int(limits.seconds) + 1
    memory, file_bytes = limits.memory_mb * 2**20, limits.file_mb * 2**20
    inner = "namespaces" if isolation is Isolation.NAMESPACES else "none"
    launch = [sys.executable, "-I", "-B", str(_LAUNCHER), inner, str(cpu_s), str(memory), str(file_bytes), _PROGRAM]
    if isolation is not Isolation.BUBBLEWRAP:
        return launch
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise EnvironmentFailure("bubblewrap is not installed: install it, or ask for another isolation")
    visible = [path for path in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64") if os.path.exists(path)]
    visible += sorted({sys.prefix, sys.base_prefix, str(_LAUNCHER), os.path.realpath(sys.executable)})
    command = [bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    for path in visible:
        command += ["--ro-bind", path, path]
    # All that it can write is one small folder in memory: not the disk, and not the root of its own tree.
    size = str(4 * file_bytes)
    command += ["--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/tmp", "--dir", "/tmp/work"]
    command += [
        "--ro-bind",
        f"{folder}/{_PROGRAM}",
        f"/tmp/work/{_PROGRAM}",
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
    ]
    return [*command, "--chdir", "/tmp/work", "--", *launch]


def _run(command: list[str], folder: str, limits: Limits) -> Execution:
    # Nothing of the parent's environment: it may hold keys.
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TMPDIR": "."}
    most = 10 * limits.output_characters
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    deadline = time.monotonic() + limits.seconds
    output, ending = bytearray(), Ending.FINISHED
    with process.stdout:
        os.set_blocking(process.stdout.fileno(), False)
        while True:
            part = _read_until(process.stdout.fileno(), deadline)
            if part is None:
                ending = Ending.TIMEOUT
                break
            if not part:
                break
            output += part
            if len(output) > most:
                ending = Ending.TOO_MUCH_OUTPUT
                break
    if ending is Ending.FINISHED:
        try:
            process.wait(max(0.0, deadline + _GRACE_S - time.monotonic()))
        except subprocess.TimeoutExpired:
            ending = Ending.TIMEOUT
    code = _end(process)
    if code == sandbox_launcher.NO_NAMESPACES and not output:
        raise EnvironmentFailure("this system refuses namespaces: install bubblewrap, or ask for isolation 'limits'")
    if ending is Ending.FINISHED and code != 0:
        ending = Ending.TIMEOUT if code in (-signal.SIGXCPU, 128 + signal.SIGXCPU) else Ending.FAILED
    return Execution(ending, _cut(bytes(output).decode(errors="backslashreplace"), limits.output_characters))


def _read_until(fd: int, deadline: float) -> bytes | None:
    """The next output, empty at its end, None at the deadline."""
    while (left := deadline - time.monotonic()) > 0:
        readable, _, _ = select.select([fd], [], [], left)
        if readable:
            return os.read(fd, 65_536)
    return None


def _end(process: "subprocess.Popen[bytes]") -> int:
    """Kills whatever is left of the program's session and returns its exit code."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def _cut(text: str, most: int) -> str:
    """Keeps the beginning and the end, where the error message is."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... ({len(text) - 2 * half} characters left out)\n{text[-half:]}"
