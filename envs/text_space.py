"""A text space that asynchronous vector environments can share.

Gymnasium (1.0 to 1.4) reads text observations from the memory that it shares with its worker processes once,
when the vector environment is made, and so hands out the same blank strings for ever. For this space the read
is live: the strings are decoded when they are asked for.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from ctypes import c_int32
from multiprocessing.sharedctypes import SynchronizedArray
from types import ModuleType
from typing import overload

import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector.utils.shared_memory import create_shared_memory, read_from_shared_memory, write_to_shared_memory
from numpy.typing import NDArray


class SharedText(Text):
    """A text space as Gymnasium's, whose values also travel through shared memory."""


class _LiveTexts(Sequence[str]):
    """The present observations of all copies: one row a copy, its length and then its code points.

    Args:
        rows: Shape (copies, 1 + longest text), int32; shared with the workers.
    """

    def __init__(self, rows: NDArray[np.int32]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(_decode(row) for row in self._rows[index])
        return _decode(self._rows[index])

    def __iter__(self) -> Iterator[str]:
        return map(_decode, self._rows)

    def __deepcopy__(self, memo: dict[int, object]) -> tuple[str, ...]:
        """What the vector environment hands out: strings that do not change any more."""
        return tuple(self)


def _decode(row: NDArray[np.int32]) -> str:
    return row[1 : 1 + row[0]].astype("<i4").tobytes().decode("utf-32-le", "surrogatepass")


def _rows(space: SharedText, memory: "SynchronizedArray[c_int32]") -> NDArray[np.int32]:
    flat: NDArray[np.int32] = np.frombuffer(memory.get_obj(), dtype=np.int32)  # type: ignore[call-overload]
    return flat.reshape(-1, 1 + space.max_length)


@create_shared_memory.register(SharedText)
def _create(space: SharedText, n: int = 1, ctx: ModuleType = multiprocessing) -> "SynchronizedArray[c_int32]":
    memory: SynchronizedArray[c_int32] = ctx.Array(c_int32, n * (1 + space.max_length))
    return memory


@read_from_shared_memory.register(SharedText)
def _read(space: SharedText, shared_memory: "SynchronizedArray[c_int32]", n: int = 1) -> _LiveTexts:
    return _LiveTexts(_rows(space, shared_memory))


@write_to_shared_memory.register(SharedText)
def _write(space: SharedText, index: int, value: str, shared_memory: "SynchronizedArray[c_int32]") -> None:
    points = np.frombuffer(value.encode("utf-32-le", "surrogatepass"), dtype="<i4")
    if len(points) > space.max_length:
        raise ValueError(f"a text of {len(points)} characters is longer than the space's {space.max_length}")
    row = _rows(space, shared_memory)[index]
    row[0] = len(points)
    row[1 : 1 + len(points)] = points
