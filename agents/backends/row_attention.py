"""Attention of one new token a row on a CPU: each row reads its own keys and values and no padding.

In a batch whose rows are of different lengths, as in continuous batching, padded attention reads as much for each row
as for the longest, which on a CPU takes most of the time of a token. On a GPU one padded pass is faster than many small
ones, so nothing is changed there.
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

_NAME = "holdergym_rows"
# Bytes that a processor reads in about the time of one more call.
_WORTH_A_CALL = 200_000


class _Current(threading.local):
    lengths: Sequence[int] | None = None


_current = _Current()


def use_row_attention(model: PreTrainedModel) -> None:
    """Lets a model on a CPU attend row by row inside ``rows_of``; outside of it the model computes as before.

    Models whose attention is not the library's scaled dot product stay as they are.
    """
    if model.device.type != "cpu" or model.config._attn_implementation != "sdpa":
        return
    AttentionInterface.register(_NAME, _attend)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    model.set_attn_implementation(_NAME)


@contextlib.contextmanager
def rows_of(lengths: Sequence[int]) -> Iterator[None]:
    """Says how many keys each row has, the new one included, for the passes of this thread inside it."""
    _current.lengths = lengths
    try:
        yield
    finally:
        _current.lengths = None


def _attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **more: object
) -> tuple[Tensor, None]:
    """Shapes as in the library: query [rows, heads, new tokens, size], keys and values [rows, heads, tokens, size]."""
    lengths = _current.lengths
    if (
        lengths is None
        or query.shape[2] != 1
        or more.get("position_bias") is not None
        or _padding_bytes(key, lengths) + _padding_bytes(value, lengths) < _WORTH_A_CALL * len(lengths)
    ):
        output: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **more)
        return output
    rows = [
        sdpa_attention_forward(
            module,
            query[row : row + 1],
            key[row : row + 1, :, :length],
            value[row : row + 1, :, :length],
            None,
            **more,
        )[0]
        for row, length in enumerate(lengths)
    ]
    return torch.cat(rows), None


def _padding_bytes(keys: Tensor, lengths: Sequence[int]) -> int:
    """What padded attention would read for nothing."""
    rows, heads, columns, size = keys.shape
    return (rows * columns - sum(lengths)) * heads * size * keys.element_size()
