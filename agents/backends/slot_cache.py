"""Keys and values of many responses of different lengths, in one buffer a layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import Cache, DynamicLayer


class LayerState(NamedTuple):
    """Keys and values of one response in one layer, each of the shape [heads, tokens, head size]."""

    keys: Tensor
    values: Tensor


@dataclass(slots=True)
class _Frame:
    """What the running forward pass writes and sees; all layers share it.

    Attributes:
        rows: The rows that get tokens: neighbours, in order.
        columns_B_T: Column that each of their tokens is written to.
        seen: Columns that the pass sees, besides as many as it has tokens in a row.
    """

    rows: slice
    columns_B_T: Tensor
    seen: int


class _SlotLayer(DynamicLayer):  # type: ignore[misc]  # The library's types are not read.
    """One layer. Row ``b`` keeps its tokens in the columns from 0; what lies behind them is masked."""

    keys: Tensor
    values: Tensor

    def __init__(self, frame: _Frame, rows: int) -> None:
        super().__init__()
        self._frame = frame
        self._rows = rows

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Makes empty buffers with the sizes of the first keys and values."""
        self.device = key_states.device
        self.keys = _empty(key_states, self._rows)
        self.values = _empty(value_states, self._rows)
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Writes the pass's keys and values and returns all that it sees."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        frame = self._frame
        width = frame.seen + key_states.shape[-2]
        self.keys = _grown(self.keys, width + 1)  # the last column takes what stands in for missing tokens
        self.values = _grown(self.values, width + 1)
        keys, values = self.keys[frame.rows], self.values[frame.rows]
        rows_B = torch.arange(len(keys), device=self.device)[:, None]
        keys[rows_B, :, frame.columns_B_T] = key_states.transpose(1, 2)
        values[rows_B, :, frame.columns_B_T] = value_states.transpose(1, 2)
        return keys[:, :, :width], values[:, :, :width]

    def get_seq_length(self) -> int:
        """Columns before those of the running pass; the model makes its mask from this."""
        return self._frame.seen


class SlotCache:
    """A cache with a fixed number of rows, of which the first ``len(lengths)`` are in use.

    All rows write at their own end, so rows of any lengths decode together without being moved or padded; a mask
    hides what lies behind the end of the shorter ones. Positions are given to the model explicitly.

    Attributes:
        lengths: Tokens of each row in use.
    """

    def __init__(self, model: PreTrainedModel, rows: int) -> None:
        self._frame = _Frame(slice(0, 0), torch.zeros(0, 0, dtype=torch.long), 0)
        layers = DynamicCache(config=model.config).layers
        self._layers = [_SlotLayer(self._frame, rows) for _ in layers]
        self._cache = Cache(layers=self._layers)
        self._device = model.device
        self.lengths: list[int] = []

    @staticmethod
    def serves(model: PreTrainedModel) -> bool:
        """Whether all layers attend to everything before them. Sliding windows and states cannot be kept in rows."""
        layers = DynamicCache(config=model.config).layers
        return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)

    def begin_row(self, state: list[LayerState], count: int) -> int:
        """Takes the next free row into use and returns its number.

        Args:
            state: Keys and values to begin with, one entry a layer; empty for none.
            count: How many of their tokens to take.
        """
        row = len(self.lengths)
        for layer, (keys, values) in zip(self._layers if state else [], state, strict=True):
            if not layer.is_initialized:
                layer.lazy_initialization(keys[None], values[None])
            layer.keys = _grown(layer.keys, count)
            layer.values = _grown(layer.values, count)
            layer.keys[row, :, :count] = keys[:, :count]
            layer.values[row, :, :count] = values[:, :count]
        self.lengths.append(count)
        return row

    def for_prompts(self, first: int, counts: Sequence[int]) -> Cache:
        """The cache for a pass over new tokens of the rows from ``first`` on, which fills up shorter ones on the left.

        What stands in for missing tokens is written behind all that anybody sees.

        Args:
            first: The first of the rows.
            counts: New tokens of each row.
        """
        lengths = self.lengths[first : first + len(counts)]
        most = max(counts)
        self._frame.seen = max(length + count for length, count in zip(lengths, counts, strict=True)) - most
        behind = self._frame.seen + most
        columns = [
            [behind] * (most - count) + list(range(length, length + count))
            for length, count in zip(lengths, counts, strict=True)
        ]
        self._frame.rows = slice(first, first + len(counts))
        self._frame.columns_B_T = torch.tensor(columns, device=self._device)
        return self._cache

    def for_next_tokens(self) -> Cache:
        """The cache for a pass over one new token of every row in use."""
        self._frame.rows, self._frame.seen = slice(0, len(self.lengths)), max(self.lengths)
        self._frame.columns_B_T = torch.tensor(self.lengths, device=self._device)[:, None]
        return self._cache

    def state(self, row: int) -> list[LayerState]:
        """A copy of the keys and values of a row."""
        return [LayerState(layer.keys.clone(), layer.values.clone()) for layer in self.look(row)]

    def look(self, row: int) -> list[LayerState]:
        """The keys and values of a row themselves, good until the cache is used again."""
        length = self.lengths[row]
        return [LayerState(layer.keys[row, :, :length], layer.values[row, :, :length]) for layer in self._layers]

    def wipe(self, row: int) -> None:
        """Clears what was computed for a row."""
        for layer in self._layers:
            layer.keys[row] = 0
            layer.values[row] = 0

    def end_row(self, row: int) -> None:
        """Gives a row back. The last row in use takes its place."""
        last = len(self.lengths) - 1
        if row != last:
            length = self.lengths[last]
            for layer in self._layers:
                layer.keys[row, :, :length] = layer.keys[last, :, :length]
                layer.values[row, :, :length] = layer.values[last, :, :length]
            self.lengths[row] = self.lengths[last]
        self.lengths.pop()


_FIRST_COLUMNS = 256


def _empty(states: Tensor, rows: int) -> Tensor:
    _, heads, _, size = states.shape
    # Zeros, not whatever was in memory: a masked NaN would still spoil a weighted sum.
    return states.new_zeros(rows, heads, _FIRST_COLUMNS, size)


def _grown(buffer: Tensor, columns: int) -> Tensor:
    """The buffer itself, or a copy with at least so many columns, doubled so that growing is rare."""
    rows, heads, present, size = buffer.shape
    if columns <= present:
        return buffer
    larger = buffer.new_zeros(rows, heads, max(columns, 2 * present), size)
    larger[:, :, :present] = buffer
    return larger
