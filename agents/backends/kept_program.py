"""A program that runs beside this process, and never longer than it."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from . import keeper

# The keeper gives the program and what it has started 13 seconds.
_END_SECONDS = 20.0
_LOOK_SECONDS = 0.05
_GONE_SECONDS = 5.0
_LOG_BYTES = 1 << 16
_SHOWN = 300
_ERROR = re.compile(r"^[\w.]*(?:Error|Exception|Interrupt|Exit):|^(?:\S+: )?error:")
# Says only that there is an error above.
_ELSEWHERE = re.compile(r"See (?:root cause|stack trace)")
# What vLLM puts before a line: which process says it, how grave it is, when and where.
_HEADER = re.compile(r"^(?:\(\w+ pid=\d+\) )?(?:[A-Z]+ \d\d-\d\d [\d:]+ \[[^\]]+\] )?")


class KeptProgram:
    """A program and its keeper, which ends it and all that it has started when this process ends, even by kill -9.

    Nobody else's process is ever signalled: the program's process group has the number of the keeper, and no other
    group can have it before ``close``.

    Args:
        command: The program and its arguments.
        environment: Its environment variables.
        folder: Holds its files; it is removed if this process ends without ``close``, and left to it otherwise.
        work: Where in it the program works.
        log: File that gets all its output.

    Raises:
        OSError: If the keeper cannot be started.
    """

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path, work: Path, log: Path
    ) -> None:
        self._log = log
        self._closing = threading.Lock()
        # Its standard input. The keeper alone has the other end, so it has ended when that is closed.
        self._line, other_end = socket.socketpair()
        with log.open("ab") as output, other_end, contextlib.ExitStack() as failed:
            failed.callback(self._line.close)
            self._keeper: subprocess.Popen[bytes] | None = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, str(os.getpid()), str(folder), *command],
                stdin=other_end.fileno(),
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=work,
                env=environment,
                start_new_session=True,
            )
            failed.pop_all()

    def ended(self) -> bool:
        """Whether the program has ended, or was closed."""
        with self._closing:
            if self._keeper is None or _is_closed(self._line):
                return True
        # The keeper says it at once, and waits for what the program has started before it ends itself.
        return any(map(_is_ending, self._last_lines()))

    def why(self) -> str:
        """What the program said last, as far as it explains its end, on one line."""
        lines = self._last_lines()
        ending = next((line.removeprefix(keeper.ENDED) for line in lines if _is_ending(line)), "")
        said = self.error() or " ".join([line for line in lines if not _is_ending(line)][-1:]) or "it says nothing"
        return f"{ending}: {said[:_SHOWN]}" if ending else said[:_SHOWN]

    def error(self) -> str:
        """The last error that the program has told of, as far as it is a cause, on one line; empty without any."""
        lines = self._last_lines()
        errors = [place for place, line in enumerate(lines) if _ERROR.search(line)]
        causes = [place for place in errors if not _ELSEWHERE.search(lines[place])]
        if not errors:
            return ""
        start = (causes or errors)[-1]
        # Some errors say in further lines, which are indented, what they are.
        more = takewhile(lambda line: line.startswith(" "), lines[start + 1 :])
        return " ".join(" ".join([lines[start], *more]).split())[:_SHOWN]

    def close(self) -> None:
        """Ends the program. Closing again does nothing."""
        with self._closing:
            found, self._keeper = self._keeper, None
        if found is None:
            return
        with self._line:
            # To close it would not do: a process that was forked from this one may have a copy.
            with contextlib.suppress(OSError):  # some systems say so where the other end is closed already
                self._line.shutdown(socket.SHUT_WR)
            end = time.monotonic() + _END_SECONDS
            while not _is_closed(self._line) and time.monotonic() < end:
                time.sleep(_LOOK_SECONDS)
        # The keeper is not waited for yet: its number, which is that of the group, is still taken.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(found.pid, signal.SIGKILL)
        found.wait()
        _await_end_of_group(found.pid)

    def _last_lines(self) -> list[str]:
        """The last lines of the output, without empty ones and without headers."""
        try:
            with self._log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_BYTES))
                text = file.read().decode(errors="replace")
        except OSError:
            return []
        return [_HEADER.sub("", line.rstrip()) for line in text.splitlines() if line.strip()]


def _await_end_of_group(number: int) -> None:
    """Waits a moment for processes that were killed: much memory takes a while to be given back."""
    end = time.monotonic() + _GONE_SECONDS
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < end:
            os.killpg(number, 0)  # only asks
            time.sleep(_LOOK_SECONDS)


def _is_ending(line: str) -> bool:
    return line.startswith(keeper.ENDED)


def _is_closed(line: socket.socket) -> bool:
    """Whether a socket's other end, from which nothing is ever sent, is closed.

    To wait for the keeper would tell as well, but free its number. ``os.waitid``, which does not, is not everywhere.
    """
    try:
        return not line.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
