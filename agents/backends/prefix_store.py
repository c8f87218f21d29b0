"""Keys and values of ended responses, kept for prompts that go on from there."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .slot_cache import LayerState

Ids = NDArray[np.int32]
"""Tokens, as they are compared."""


class Prefix(NamedTuple):
    """The state to begin with, and how many tokens of the prompt it covers."""

    state: list[LayerState]
    length: int


class _Entry(NamedTuple):
    ids: Ids
    state: list[LayerState]
    size: int


_NO_PREFIX = Prefix([], 0)
# Copying a state costs about as much as computing a few tokens.
SHORTEST = 8


class PrefixStore:
    """Keeps the states of the most recently used responses within a memory limit.

    In an episode whose prompt grows turn by turn, each prompt begins with the one before and its response. Prompts
    that only share their first part, such as instructions and examples, profit as well.

    Args:
        limit: Most bytes of keys and values to keep; 0 keeps none.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: list[_Entry] = []

    def find(self, prompt_ids: Sequence[int] | Ids) -> Prefix:
        """The kept state that covers the longest beginning of a prompt, but never its last token."""
        ids = as_ids(prompt_ids)
        best, length = None, 0
        for number, entry in enumerate(self._entries):
            count = common(entry.ids, ids[:-1])
            if count > length:
                best, length = number, count
        if best is None or length < SHORTEST:
            return _NO_PREFIX
        entry = self._entries.pop(best)
        self._entries.append(entry)
        return Prefix(entry.state, length)

    def keep(self, ids: Sequence[int], state: list[LayerState]) -> None:
        """Keeps a state, in place of those that it contains and of the least recently used ones."""
        new = as_ids(ids)
        size = sum(tensor.nbytes for layer in state for tensor in layer)
        if size > self._limit:
            return
        remaining = [entry for entry in self._entries if common(entry.ids, new) < len(entry.ids)]
        total = size + sum(entry.size for entry in remaining)
        while total > self._limit:
            total -= remaining.pop(0).size
        self._entries = [*remaining, _Entry(new, state, size)]

    def clear(self) -> None:
        """Forgets everything, as is needed when the model's weights have changed."""
        self._entries = []


def as_ids(tokens: Sequence[int] | Ids) -> Ids:
    """Tokens in the form in which they are compared."""
    return np.asarray(tokens, dtype=np.int32)


def common(first: Ids, second: Ids) -> int:
    """Number of tokens with which both begin."""
    length = min(len(first), len(second))
    different = np.flatnonzero(first[:length] != second[:length])
    return int(different[0]) if len(different) else length
