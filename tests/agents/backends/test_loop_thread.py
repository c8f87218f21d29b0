"""The event loop in a thread: whoever waits gets a result or a reason, whatever is closed when."""

import asyncio
import threading

import pytest
from holdergym.agents.backends.backend import BackendError
from holdergym.agents.backends.loop_thread import LoopThread


async def _soon(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def _never() -> int:
    await asyncio.Event().wait()
    return 0


def test_results_and_errors_come_back() -> None:
    async def fail() -> int:
        raise ValueError("no")

    loop = LoopThread("a-loop")
    assert [future.result(10) for future in [loop.submit(_soon(number)) for number in range(50)]] == list(range(50))
    with pytest.raises(ValueError, match="no"):
        loop.submit(fail()).result(10)
    loop.close()


def test_closing_gives_everybody_a_reason_also_those_who_come_in_that_moment() -> None:
    for _ in range(30):
        cleaned = threading.Event()

        async def clean_up(done: threading.Event = cleaned) -> None:
            done.set()

        loop = LoopThread("a-loop", clean_up)
        futures = [loop.submit(_never()) for _ in range(3)]
        more: list[object] = []
        started = threading.Event()

        def come(loop: LoopThread = loop, more: list[object] = more, started: threading.Event = started) -> None:
            started.set()
            for _ in range(200):
                more.append(loop.submit(_never()))

        comer = threading.Thread(target=come)
        comer.start()
        started.wait()
        loop.close()
        loop.close()
        comer.join()
        assert cleaned.is_set()
        for future in [*futures, *more]:
            with pytest.raises(BackendError, match="was closed"):
                future.result(10)  # type: ignore[attr-defined]
    assert "a-loop" not in {thread.name for thread in threading.enumerate()}
