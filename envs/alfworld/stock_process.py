"""A process that answers requests: started afresh, asked with a deadline, and never left behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import IO

from .simulator import SimulatorError, SimulatorTimeout

Message = Mapping[str, object]

# A process that was killed is gone at once; one that hangs in the kernel must not hang us.
_REAPING_SECONDS = 10.0
_SHORTEST_WAIT = 0.01
_LAST_WORDS = 4096


class WorkerProcess:
    """A running ``python -m MODULE`` that reads and writes lines of JSON.

    It is a fresh interpreter and neither a thread nor a fork: the stock engine's parser breaks under threads, and a
    fork would copy locks that other threads hold. It ends with this object: when it is stopped, collected as
    garbage, or when this interpreter exits or is killed.

    Args:
        module: What to run. It gets the number of its socket as argument, and says a first line when it is ready.
        seconds: How long it may take to start.

    Raises:
        SimulatorError: If it ends instead of starting.
        SimulatorTimeout: If it does not start in time.
    """

    def __init__(self, module: str, seconds: float) -> None:
        self._owner = os.getpid()
        self._received = b""
        self._owes_reply = False
        try:
            with ExitStack() as opened:
                self._socket, theirs = map(opened.enter_context, socket.socketpair())
                self._errors = opened.enter_context(tempfile.TemporaryFile())
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=self._errors,
                    pass_fds=[theirs.fileno()],
                    # It finds what this process finds, also what was added to sys.path by hand.
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    # Ctrl-C reaches this process only, which then ends the worker.
                    start_new_session=True,
                )
                opened.pop_all()
        except OSError as error:
            raise SimulatorError(f"the stock engine cannot be started: {error}") from None
        self._stop = weakref.finalize(self, _stop, self._process, self._socket, self._errors, self._owner)
        theirs.close()
        self._exchange(None, "start", seconds)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can be asked: it was not stopped, owes no reply, and this is not a fork of who started it."""
        return self._stop.alive and not self._owes_reply and os.getpid() == self._owner

    def ask(self, request: Message, what: str, seconds: float) -> dict[str, object]:
        """Sends a request and waits for the reply. After any failure the process is stopped.

        Args:
            request: What to send.
            what: What it is asked to do, for the message of an error.
            seconds: How long sending and answering may take.

        Raises:
            SimulatorError: If the process ends instead of answering.
            SimulatorTimeout: If it does not answer in time.
        """
        return self._exchange(request, what, seconds)

    def stop(self) -> None:
        """Kills the process and waits until it is gone. Stopping again does nothing."""
        self._stop()

    def _exchange(self, request: Message | None, what: str, seconds: float) -> dict[str, object]:
        deadline = time.monotonic() + seconds
        # Stays set however this is left: a reply that comes later must not be taken for the next one's.
        self._owes_reply = True
        try:
            if request is not None:
                self._socket.settimeout(seconds)
                self._socket.sendall(json.dumps(request).encode() + b"\n")
            reply: dict[str, object] = json.loads(self._read_line(deadline))
        except TimeoutError:
            self.stop()
            raise SimulatorTimeout(f"the stock engine did not {what} within {seconds:g} s and was stopped") from None
        except (ConnectionError, EOFError):
            reason = self._last_words()
            self.stop()
            raise SimulatorError(f"the stock engine failed to {what}: {reason}") from None
        except BaseException:
            self.stop()
            raise
        self._owes_reply = False
        return reply

    def _read_line(self, deadline: float) -> bytes:
        while b"\n" not in self._received:
            self._socket.settimeout(max(deadline - time.monotonic(), _SHORTEST_WAIT))
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise EOFError
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _last_words(self) -> str:
        """How the process ended, and the last line that it wrote to standard error."""
        try:
            status = self._process.wait(_REAPING_SECONDS)
        except subprocess.TimeoutExpired:
            ending = "it closed its connection"
        else:
            ending = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _LAST_WORDS))
        lines = self._errors.read().decode(errors="replace").split("\n")
        words = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{ending}, {words}" if words else ending


def _stop(process: subprocess.Popen[bytes], connection: socket.socket, errors: IO[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return  # in a fork of the owner: the process is not its child
    process.kill()
    connection.close()
    errors.close()
    if process.stdin is not None:
        process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_REAPING_SECONDS)
