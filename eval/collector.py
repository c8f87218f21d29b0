"""Python's cycle collector, put off where many records are made."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """Puts cycle collection off until the block ends.

    Records of results hold no cycles. With hundreds of thousands of them the collector looks through all again and
    again, which takes a third of the time of reading a large run.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
