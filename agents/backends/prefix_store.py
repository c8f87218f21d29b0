"""Keys and values of ended responses, kept for prompts that go on from there."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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


@dataclass(eq=False, slots=True)
class _Entry:
    """A kept state, at the node where its tokens end."""

    node: "_Node"
    state: list[LayerState]
    size: int


@dataclass(eq=False, slots=True)
class _Node:
    """A stretch of tokens behind those of its parent; children begin with different tokens.

    Only the root has neither an entry nor two children.
    """

    ids: Ids
    parent: "_Node | None" = None
    children: "dict[int, _Node]" = field(default_factory=dict)
    entry: _Entry | None = None


_NO_PREFIX = Prefix([], 0)
# Copying a state costs about as much as computing a few tokens.
SHORTEST = 8


class PrefixStore:
    """Keeps the states of the most recently used responses within a memory limit.

    In an episode whose prompt grows turn by turn, each prompt begins with the one before and its response. Prompts
    that only share their first part, such as instructions and examples, profit as well. The states hang in a tree of
    their tokens, so that what is kept of a prompt is found in a time that its length decides, not their number.

    Args:
        limit: Most bytes of keys and values to keep; 0 keeps none.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.clear()

    def find(self, prompt_ids: Sequence[int] | Ids) -> Prefix:
        """The kept state that covers the longest beginning of a prompt, but never its last token."""
        node, length, _ = self._walk(as_ids(prompt_ids)[:-1])
        if length < SHORTEST:
            return _NO_PREFIX
        # All states below begin alike as far as the walk came.
        while node.entry is None:
            node = next(iter(node.children.values()))
        self._entries.move_to_end(node.entry)
        return Prefix(node.entry.state, length)

    def keep(self, ids: Sequence[int], state: list[LayerState]) -> None:
        """Keeps a state, in place of those that it contains and of the least recently used ones."""
        new = as_ids(ids)
        size = sum(tensor.nbytes for layer in state for tensor in layer)
        if size > self._limit or not len(new):
            return
        node, _, within = self._walk(new)
        # A walk that ended inside a node's tokens has not passed all of them.
        passed = node.parent if within < len(node.ids) else node
        for contained in [one.entry for one in _upwards(passed) if one.entry is not None]:
            self._forget(contained)
        while self._entries and self._size + size > self._limit:
            self._forget(next(iter(self._entries)))
        place = self._place(new)
        place.entry = _Entry(place, state, size)
        self._entries[place.entry] = None
        self._size += size

    def clear(self) -> None:
        """Forgets everything, as is needed when the model's weights have changed."""
        self._root = _Node(as_ids([]))
        # From the least to the most recently used.
        self._entries: OrderedDict[_Entry, None] = OrderedDict()
        self._size = 0

    def _walk(self, ids: Ids) -> tuple[_Node, int, int]:
        """Goes down as far as the tokens are there.

        Returns:
            The last node, how many tokens were passed in all, and how many of the node's own.
        """
        node, length, within = self._root, 0, 0
        while length < len(ids):
            child = node.children.get(int(ids[length]))
            if child is None:
                break
            node, within = child, common(child.ids, ids[length:])
            length += within
            if within < len(child.ids):
                break
        return node, length, within

    def _place(self, ids: Ids) -> _Node:
        """The node where the tokens end; it is made if it is not there."""
        node, length, within = self._walk(ids)
        if within < len(node.ids):
            node = _split(node, within)
        if length < len(ids):
            child = _Node(ids[length:], node)
            node.children[int(ids[length])] = child
            node = child
        return node

    def _forget(self, entry: _Entry) -> None:
        """Takes a state out, and the nodes that were there for it alone."""
        del self._entries[entry]
        self._size -= entry.size
        node = entry.node
        node.entry = None
        if not node.children and node.parent is not None:
            parent = node.parent
            del parent.children[int(node.ids[0])]
            node = parent
        if node.parent is not None and node.entry is None and len(node.children) == 1:
            _join(node)


def _split(node: _Node, within: int) -> _Node:
    """Cuts a node's tokens in two, and returns the node of the first part."""
    assert node.parent is not None
    first = _Node(node.ids[:within], node.parent, {int(node.ids[within]): node})
    node.parent.children[int(node.ids[0])] = first
    node.ids, node.parent = node.ids[within:], first
    return first


def _join(node: _Node) -> None:
    """Puts a node without a state and its only child together."""
    assert node.parent is not None
    (child,) = node.children.values()
    child.ids = np.concatenate([node.ids, child.ids])
    child.parent = node.parent
    node.parent.children[int(child.ids[0])] = child


def _upwards(node: _Node | None) -> Iterator[_Node]:
    while node is not None:
        yield node
        node = node.parent


def as_ids(tokens: Sequence[int] | Ids) -> Ids:
    """Tokens in the form in which they are compared."""
    return np.asarray(tokens, dtype=np.int32)


def common(first: Ids, second: Ids) -> int:
    """Number of tokens with which both begin."""
    length = min(len(first), len(second))
    same = first[:length] == second[:length]
    return length if same.all() else int(same.argmin())
