"""Killable worker processes behind a queue.

A worker is a fresh interpreter, not a fork: it starts the same way from a script, a notebook, a thread, an event
loop, a forked or a spawned process, and never imports the user's main module. One driving thread for each worker
hands it one question at a time, waits with a deadline, kills it when the deadline passes, and starts another.
"""

import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from typing import IO, NamedTuple

from ..errors import HolderGymError
from .channel import Channel, ChannelClosed, DeadlinePassed
from .judging import Judgement, Rules, Verdict
from .worker import READY

START_TIMEOUT_S = 120.0
RECYCLE_AFTER = 2_000
"""Questions after which a worker is replaced: the caches of the algebra system only grow."""


class GraderError(HolderGymError):
    """The grader itself cannot work: its workers do not start, or it was closed."""


class Request(NamedTuple):
    """One question for a worker: ``judge`` a response, or check a ``gold`` against itself."""

    task: str
    golds: Sequence[str]
    response: str
    rules: Rules
    timeout_s: float


class Worker:
    """A worker process and the channel to it.

    Args:
        memory_mb: Address space that it may use, in MiB.

    Raises:
        GraderError: If it does not start.
    """

    def __init__(self, memory_mb: int) -> None:
        mine, other = socket.socketpair()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        start = f"from {__package__}.worker import main; main({other.fileno()}, {memory_mb})"
        # The path of this interpreter, so that a worker finds the package wherever this process did.
        program = f"import sys; sys.path[:] = {sys.path!r}; {start}"
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[other.fileno()],
                start_new_session=True,
            )
        self._channel = Channel(mine)
        self.answered = 0
        try:
            started = self._channel.receive(START_TIMEOUT_S) == READY
        except (ChannelClosed, DeadlinePassed):
            started = False
        if not started:
            last_words = self._last_words()
            self.kill()
            raise GraderError(f"a grading worker does not start: {last_words or 'it says nothing'}")

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def ask(self, request: Request) -> Judgement:
        """Asks one question. Afterwards ``alive`` says whether the worker can be asked another."""
        rules = request.rules
        message = [
            request.task,
            list(request.golds),
            request.response,
            rules.policy,
            rules.min_digits,
            request.timeout_s,
        ]
        deadline = time.monotonic() + request.timeout_s
        try:
            self._channel.send(message, request.timeout_s)
            answer = self._channel.receive(max(0.0, deadline - time.monotonic()))
        except DeadlinePassed:
            self.kill()
            reason = f"no verdict within {request.timeout_s:g} s; the worker was replaced"
            return Judgement(Verdict.TIMEOUT, None, reason, request.timeout_s)
        except ChannelClosed:
            self.kill()
            return Judgement(Verdict.ERROR, None, f"the worker died ({self._cause_of_death()}) and was replaced")
        self.answered += 1
        assert isinstance(answer, list)
        verdict, found, reason, seconds = answer
        return Judgement(Verdict(verdict), found, reason, seconds)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.returncode is None

    def kill(self) -> None:
        """Ends the process now and waits until it is gone."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def disown(self) -> None:
        """Forgets, in a forked copy of the parent, a process that belongs to the original."""
        self._channel.close()
        self._process.returncode = 0

    def _cause_of_death(self) -> str:
        code = self._process.returncode
        if code is not None and code < 0:
            return signal.Signals(-code).name
        return self._last_words() or f"exit code {code}"

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read()[-4_000:].decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


class WorkerPool:
    """Several workers that take questions from one queue. Safe to use from any number of threads.

    Nothing starts before the first question. A forked copy of the process starts its own workers.

    Args:
        size: Number of workers.
        memory_mb: Address space of each, in MiB.
    """

    def __init__(self, size: int, memory_mb: int) -> None:
        self._state = _State(size, memory_mb)
        _STATES.add(self._state)
        self._finalizer = weakref.finalize(self, self._state.stop)

    def submit(self, request: Request) -> "Future[Judgement]":
        """Queues a question.

        Raises:
            GraderError: If the pool was closed.
        """
        return self._state.submit(request)

    def worker_pids(self) -> list[int]:
        """Process ids of the workers that run now."""
        return [worker.pid for worker in self._state.workers if worker.alive]

    def close(self) -> None:
        """Kills the workers. Questions that wait are answered with ``error``."""
        self._finalizer()


_Job = tuple[Request, "Future[Judgement]"]


class _State:
    """What the driving threads share. They hold this and not the pool, so that a forgotten pool is cleaned up."""

    def __init__(self, size: int, memory_mb: int) -> None:
        self._size = size
        self._memory_mb = memory_mb
        self.workers: list[Worker] = []
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = False

    def submit(self, request: Request) -> "Future[Judgement]":
        future: Future[Judgement] = Future()
        with self._lock:
            if self._closed:
                raise GraderError("the grader was closed: make a new one")
            self._jobs.put((request, future))
            if len(self._threads) < self._size:
                name = f"holdergym-grader-{len(self._threads)}"
                thread = threading.Thread(target=self._drive, args=(self._jobs,), name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def stop(self) -> None:
        """Kills the workers and lets the driving threads end."""
        with self._lock:
            self._closed = True
            threads, workers = self._threads, list(self.workers)
            for _ in threads:
                self._jobs.put(None)
        for worker in workers:
            worker.kill()
        for thread in threads:
            thread.join()

    def forget(self) -> None:
        """In a forked copy: leaves the original its workers and begins anew."""
        for worker in self.workers:
            worker.disown()
        self.workers = []
        self._begin()

    def _drive(self, jobs: "queue.SimpleQueue[_Job | None]") -> None:
        worker: Worker | None = None
        while (job := jobs.get()) is not None:
            request, future = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                worker = self._ready(worker)
                judgement = worker.ask(request)
            except (GraderError, OSError) as error:
                future.set_exception(
                    error
                    if isinstance(error, GraderError)
                    else GraderError(f"a grading worker does not start: {error}")
                )
                continue
            future.set_result(judgement)
            if not worker.alive and jobs.empty():
                # So that the next question does not wait for the replacement.
                worker = self._replaced(worker)
        if worker is not None:
            self._retire(worker)

    def _ready(self, worker: Worker | None) -> Worker:
        """The worker if it can be asked, else a new one in its place."""
        if worker is not None:
            if worker.alive and worker.answered < RECYCLE_AFTER:
                return worker
            self._retire(worker)
        fresh = Worker(self._memory_mb)
        with self._lock:
            self.workers.append(fresh)
            closed = self._closed
        if closed:
            self._retire(fresh)
            raise GraderError("the grader was closed: make a new one")
        return fresh

    def _replaced(self, worker: Worker) -> Worker:
        try:
            return self._ready(worker)
        except GraderError:
            return worker  # the next question tries again, and is told

    def _retire(self, worker: Worker) -> None:
        worker.kill()
        with self._lock:
            if worker in self.workers:
                self.workers.remove(worker)


_STATES: "weakref.WeakSet[_State]" = weakref.WeakSet()


def _forget_all() -> None:
    for state in list(_STATES):
        state.forget()


os.register_at_fork(after_in_child=_forget_all)
