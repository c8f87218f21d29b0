"""Keys and values of many responses of different lengths, in one buffer a layer."""

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
        row: The row that a prompt is written to, or None when every row gets one token.
        rows_B: Numbers of the rows that get a token.
        lengths_B: Tokens of each row before the pass.
        seen: Columns that the pass sees besides its own tokens.
    """

    row: int | None
    rows_B: Tensor
    lengths_B: Tensor
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
        columns = frame.seen + key_states.shape[-2]
        self.keys = _grown(self.keys, columns)
        self.values = _grown(self.values, columns)
        if frame.row is not None:
            self.keys[frame.row, :, frame.seen : columns] = key_states[0]
            self.values[frame.row, :, frame.seen : columns] = value_states[0]
            one = slice(frame.row, frame.row + 1)
            return self.keys[one, :, :columns], self.values[one, :, :columns]
        count = len(frame.lengths_B)
        self.keys[frame.rows_B, :, frame.lengths_B] = key_states[:, :, 0]
        self.values[frame.rows_B, :, frame.lengths_B] = value_states[:, :, 0]
        return self.keys[:count, :, :columns], self.values[:count, :, :columns]

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
        none = torch.zeros(0, dtype=torch.long)
        self._frame = _Frame(None, none, none, 0)
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

    def for_prompt(self, row: int) -> Cache:
        """The cache for a pass over new tokens of one row."""
        self._frame.row, self._frame.seen = row, self.lengths[row]
        return self._cache

    def for_next_tokens(self) -> Cache:
        """The cache for a pass over one new token of every row in use."""
        self._frame.row, self._frame.seen = None, max(self.lengths)
        self._frame.rows_B = torch.arange(len(self.lengths), device=self._device)
        self._frame.lengths_B = torch.tensor(self.lengths, device=self._device)
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
