"""Keeps a program, and ends it with the process that wanted it, however that ends. Run by ``kept_program``.

Arguments: number of the process that wants the program, a folder, and the program's command. It leads a process group
of its own, in which the program and all that it starts are. The program is ended when standard input ends, when the
process that wants it is gone, or when this process is told to end; this process then kills the whole group, itself
included. If nobody wants the program any more, the folder is removed. Only the standard library is imported, so that it
starts at once and takes little memory for as long as it waits.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time

ENDED = "holdergym: the program has ended with "
"""Begins the last line of the output of a program that ended by itself."""

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LOOK_SECONDS = 0.5
# How long the program may take to end when asked to, and how long what it has started may take after it.
_ASKED_SECONDS, _AFTER_SECONDS = 10.0, 3.0


def main(parent: int, folder: str, command: list[str]) -> None:
    """Starts the program, waits, and ends everything."""
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, _leave)
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is not None:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)  # what the program leaves behind becomes a child of this process

    def dies_too() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    # This process has no other threads, so that code between fork and exec is safe.
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=dies_too)
    try:
        while program.poll() is None and os.getppid() == parent and not _wanted_no_more():
            pass
        if program.poll() is not None:
            print(f"\n{ENDED}{_how(program.returncode)}", flush=True)
    finally:
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)
        try:
            program.terminate()
            program.wait(_ASKED_SECONDS)
        except subprocess.TimeoutExpired:
            program.kill()
        try:
            _await_the_rest()
            if os.getppid() != parent:
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.killpg(0, signal.SIGKILL)  # this process with it


def _leave(number: int, frame: object) -> None:
    sys.exit(128 + number)


def _wanted_no_more() -> bool:
    """Waits a little for the end of standard input."""
    return bool(select.select([sys.stdin], [], [], _LOOK_SECONDS)[0])


def _how(code: int) -> str:
    return f"code {code}" if code >= 0 else f"signal {-code} ({signal.Signals(-code).name})"


def _await_the_rest() -> None:
    """Waits until the program's own children have ended, which clean up behind it."""
    end = time.monotonic() + _AFTER_SECONDS
    while time.monotonic() < end:
        try:
            number, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if number == 0:
            time.sleep(0.05)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
