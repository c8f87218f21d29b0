"""Attention on a CPU while responses grow: each row reads its own keys and values, and no padding.

In a batch whose rows are of different lengths, as in continuous batching, padded attention reads as much for each row
as for the longest, and reads it once for every query head. Here a row reads its own keys, and once for all query heads
that share them. On a GPU one padded pass is faster than many small ones, so nothing is changed there.
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "holdergym_rows"
# Bytes that a processor reads in about the time of one more call.
_WORTH_A_CALL = 100_000
# What the library's attention does besides; it does so itself then.
_EXTRAS = ("position_bias", "softcap", "output_attentions")


class _Current(threading.local):
    lengths: Sequence[int] | None = None


_current = _Current()


def use_row_attention(model: PreTrainedModel) -> None:
    """Lets a model on a CPU attend row by row inside ``rows_of``; outside of it the model computes as before.

    Models whose attention is not the library's scaled dot product stay as they are.
    """
    if model.device.type != "cpu" or model.config._attn_implementation != "sdpa":
        return
    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, _mask)
    model.set_attn_implementation(NAME)


@contextlib.contextmanager
def rows_of(lengths: Sequence[int]) -> Iterator[None]:
    """Says how many keys each row has, the new ones included, for the passes of this thread inside it."""
    _current.lengths = lengths
    try:
        yield
    finally:
        _current.lengths = None


def _mask(*args: object, **more: object) -> Tensor | None:
    """The library's mask; inside ``rows_of`` as the numbers that every layer would make of it for itself."""
    mask: Tensor | None = sdpa_mask(*args, **more)
    dtype = more.get("dtype")
    if mask is None or _current.lengths is None or mask.dtype != torch.bool or not isinstance(dtype, torch.dtype):
        return mask
    return torch.zeros(mask.shape, dtype=dtype).masked_fill_(~mask, -torch.inf)


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    **more: object,
) -> tuple[Tensor, None]:
    """Shapes as in the library: query [rows, heads, new tokens, size], keys and values [rows, heads, tokens, size]."""
    lengths = _current.lengths
    one = query.shape[2] == 1
    if lengths is None or any(more.get(name) is not None for name in _EXTRAS) or (attention_mask is None and not one):
        output: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **more
        )
        return output
    if not one:
        # The library would copy keys and values for every query head.
        attended = scaled_dot_product_attention(query, key, value, attention_mask, scale=scaling, enable_gqa=True)
        return attended.transpose(1, 2).contiguous(), None
    rows, heads, _, size = query.shape
    # Query heads that share keys stand in one matrix, as if they were tokens.
    together = query.reshape(rows, key.shape[1], heads // key.shape[1], size)
    if _padding_bytes(key, lengths) + _padding_bytes(value, lengths) < _WORTH_A_CALL * rows:
        attended = scaled_dot_product_attention(together, key, value, attention_mask, scale=scaling)
    else:
        attended = torch.cat(
            [
                scaled_dot_product_attention(
                    together[row : row + 1],
                    key[row : row + 1, :, :length],
                    value[row : row + 1, :, :length],
                    scale=scaling,
                )
                for row, length in enumerate(lengths)
            ]
        )
    return attended.reshape(rows, 1, heads, value.shape[-1]), None


def _padding_bytes(keys: Tensor, lengths: Sequence[int]) -> int:
    """What padded attention would read for nothing."""
    rows, heads, columns, size = keys.shape
    return (rows * columns - sum(lengths)) * heads * size * keys.element_size()
