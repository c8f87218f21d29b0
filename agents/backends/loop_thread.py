"""An asyncio event loop in a thread of its own, for back ends that are asynchronous inside."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TypeVar

from .backend import BackendError

ResultT = TypeVar("ResultT")


class LoopThread:
    """Runs coroutines. Closing it cancels those that are running; their futures raise BackendError.

    Args:
        name: Name of the thread.
        clean_up: Makes what is run last of all.
    """

    def __init__(self, name: str, clean_up: Callable[[], Coroutine[object, object, None]] | None = None) -> None:
        self._clean_up = clean_up
        self._loop = asyncio.new_event_loop()
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, coroutine: Coroutine[object, object, ResultT]) -> Future[ResultT]:
        """Starts a coroutine from any thread."""
        with self._lock:
            if not self._closed:
                return asyncio.run_coroutine_threadsafe(_unless_cancelled(coroutine), self._loop)
        coroutine.close()
        future: Future[ResultT] = Future()
        future.set_exception(_closed())
        return future

    def close(self) -> None:
        """Cancels everything and ends the thread. Closing again does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        # What was submitted last has not begun yet, and could not say why it ends before it has.
        self._loop.run_until_complete(asyncio.sleep(0))
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        if self._clean_up is not None:
            self._loop.run_until_complete(self._clean_up())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


async def _unless_cancelled(coroutine: Coroutine[object, object, ResultT]) -> ResultT:
    try:
        return await coroutine
    except asyncio.CancelledError:
        # Who waits in another thread gets a reason, not a cancellation of its own.
        raise _closed() from None


def _closed() -> BackendError:
    return BackendError("the language model was closed")
