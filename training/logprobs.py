"""Log-probabilities and entropies of tokens without ever holding the logits.

The logits of 8 x 1,024 tokens over 151,936 words are 5 GB in float32, and automatic differentiation keeps several
tables of that size. Here the product of hidden states and output layer is made in tiles of some tokens and some
words, each is folded into a running maximum and running sums (Milakov and Gimelshein, arXiv 1805.02867) and
overwritten by the next, and the backward pass makes the tiles again. That is one matrix product more than the plain
form has; but a tile stays in the processor's cache, where the plain form reads and writes whole tables several
times. When the output layer is frozen (LoRA), the slope by the hidden states is gathered in the forward pass from
the tiles that are there anyway, and nothing is made twice.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class Tile(NamedTuple):
    """Size of a piece of the logits: tokens by words."""

    tokens: int
    words: int


# 4 MB in float32: in the cache, and large enough for matrix products at full speed.
CPU_TILE = Tile(1024, 1024)
# Accelerators want fewer and larger products: 128 MB.
ACCELERATOR_TILE = Tile(1024, 32768)


class TokenLogprobs(NamedTuple):
    """What the model says about each target token.

    Attributes:
        logp_T: Log-probability of the target; differentiable. Float32 at least.
        entropy_T: Entropy of the distribution in nats; differentiable if asked for.
    """

    logp_T: Tensor
    entropy_T: Tensor


def token_logprobs(
    hidden_T_H: Tensor,
    weight_V_H: Tensor,
    target_T: Tensor,
    *,
    bias_V: Tensor | None = None,
    temperature: float = 1.0,
    tile: Tile | None = None,
    entropy_gradient: bool = True,
) -> TokenLogprobs:
    """Scores target tokens by softmax((hidden weight^T + bias) / temperature).

    Args:
        hidden_T_H: Last hidden states, one row for each token to be predicted.
        weight_V_H: Output layer (``model.get_output_embeddings().weight``).
        target_T: The tokens, int64.
        bias_V: Bias of the output layer.
        temperature: Sampling temperature; 1 leaves the logits as they are.
        tile: Size of the pieces; None takes one that suits the device.
        entropy_gradient: Whether the entropy is differentiable. Without an entropy bonus it need not be, and the
            backward pass is cheaper.

    Raises:
        ValueError: If the shapes do not fit or the temperature is not above 0.
    """
    tokens, hidden = hidden_T_H.shape
    if target_T.shape != (tokens,) or weight_V_H.shape[1] != hidden:
        shapes = tuple(hidden_T_H.shape), tuple(weight_V_H.shape), tuple(target_T.shape)
        raise ValueError(f"hidden states, output layer and targets do not fit: {shapes}")
    if not temperature > 0:
        raise ValueError(f"a temperature of {temperature}: it must be above 0")
    if tile is None:
        tile = CPU_TILE if hidden_T_H.device.type == "cpu" else ACCELERATOR_TILE
    trained = weight_V_H.requires_grad or (bias_V is not None and bias_V.requires_grad)
    slopes = torch.is_grad_enabled() and hidden_T_H.requires_grad and not trained
    logp_T, entropy_T = _Score.apply(  # type: ignore[no-untyped-call]
        hidden_T_H, weight_V_H, bias_V, target_T, _Settings(temperature, tile, entropy_gradient, slopes)
    )
    return TokenLogprobs(logp_T, entropy_T if entropy_gradient else entropy_T.detach())


class _Settings(NamedTuple):
    """``slopes``: gather the slopes by the hidden states in the forward pass, for a frozen output layer."""

    temperature: float
    tile: Tile
    entropy_gradient: bool
    slopes: bool


class _Saved(Protocol):
    """What autograd's context object keeps between the passes."""

    needs_input_grad: tuple[bool, ...]
    saved_tensors: tuple[Tensor, ...]
    settings: _Settings

    def save_for_backward(self, *tensors: Tensor | None) -> None: ...


class _Tiles:
    """The scaled logits of some tokens in tiles, each written over the one before.

    Fresh memory for each tile would cost as much as the arithmetic.
    """

    def __init__(self, hidden_T_H: Tensor, weight_V_H: Tensor, bias_V: Tensor | None, settings: _Settings) -> None:
        self.hidden_T_H = hidden_T_H.detach()
        self.weight_V_H = weight_V_H.detach()
        self.bias_V = None if bias_V is None else bias_V.detach()
        self.temperature = settings.temperature
        self.wide = torch.promote_types(hidden_T_H.dtype, torch.float32)
        self.token_slices = _slices(len(hidden_T_H), settings.tile.tokens)
        self.word_slices = _slices(len(weight_V_H), settings.tile.words)
        size = min(len(hidden_T_H), settings.tile.tokens) * min(len(weight_V_H), settings.tile.words)
        self._product = hidden_T_H.new_empty(size)
        self._logits = self._product if self.wide == hidden_T_H.dtype else self._product.to(self.wide)
        self._exponentials = torch.empty_like(self._logits)

    def over_words(self, tokens: slice) -> Iterator[tuple[slice, Tensor]]:
        """Yields each slice of words with its logits, which the caller may overwrite and the next step does."""
        hidden = self.hidden_T_H[tokens]
        for words in self.word_slices:
            weight = self.weight(words)
            shape, size = (len(hidden), len(weight)), len(hidden) * len(weight)
            logits = self._logits[:size].view(shape)
            product = torch.mm(hidden, weight.t(), out=self._product[:size].view(shape))
            if product.dtype != logits.dtype:
                logits.copy_(product)
            if self.bias_V is not None:
                logits.add_(self.bias_V[words])
            yield words, logits if self.temperature == 1 else logits.div_(self.temperature)

    def weight(self, words: slice) -> Tensor:
        """Rows of the output layer in the type of the hidden states."""
        return self.weight_V_H[words].to(self.hidden_T_H.dtype)

    def exp(self, table: Tensor) -> Tensor:
        """The exponentials of a tile, which the next call overwrites."""
        return torch.exp(table, out=self._exponentials[: table.numel()].view(table.shape))

    def add_to_hidden(self, gradient: Tensor, table: Tensor, words: slice) -> None:
        """Adds table @ weight, without the temperature; ``gradient`` is in the wide type."""
        _add_product(gradient, table.to(self.hidden_T_H.dtype), self.weight(words))

    def add_to_weight(self, gradient_V_H: Tensor, table: Tensor, words: slice, tokens: slice) -> None:
        """Adds table^T @ hidden, without the temperature; ``gradient_V_H`` is in the wide type."""
        _add_product(gradient_V_H[words], table.to(self.hidden_T_H.dtype).t(), self.hidden_T_H[tokens])


class _Score(torch.autograd.Function):
    """Forward and backward over tiles.

    With x = log softmax, p = exp x and H = -sum p x, the derivatives by the scaled logits are 1[target] - p for the
    log-probability and -p (x + H) for the entropy.
    """

    @staticmethod
    def forward(
        ctx: _Saved,
        hidden_T_H: Tensor,
        weight_V_H: Tensor,
        bias_V: Tensor | None,
        target_T: Tensor,
        settings: _Settings,
    ) -> tuple[Tensor, Tensor]:
        tiles = _Tiles(hidden_T_H, weight_V_H, bias_V, settings)
        logp_T = hidden_T_H.new_empty(len(hidden_T_H), dtype=tiles.wide)
        normaliser_T, entropy_T = torch.empty_like(logp_T), torch.empty_like(logp_T)
        logp_slope_T_H = torch.empty_like(hidden_T_H) if settings.slopes else None
        entropy_slope_T_H = torch.empty_like(hidden_T_H) if settings.slopes and settings.entropy_gradient else None
        for tokens in tiles.token_slices:
            sums = _RunningSums(tiles, tokens, settings)
            target = target_T[tokens, None]
            target_logit = torch.zeros_like(sums.largest)
            for words, logits in tiles.over_words(tokens):
                inside = (target >= words.start) & (target < words.stop)
                place = (target - words.start).clamp(0, logits.shape[1] - 1)
                target_logit = torch.where(inside, logits.gather(1, place), target_logit)
                sums.add(words, logits)
            log_total = sums.total.log()
            entropy = log_total - sums.weighted / sums.total
            normaliser = sums.largest + log_total
            logp_T[tokens] = (target_logit - normaliser).squeeze(1)
            normaliser_T[tokens], entropy_T[tokens] = normaliser.squeeze(1), entropy.squeeze(1)
            if logp_slope_T_H is not None and sums.rows is not None:
                mean_row = sums.rows / sums.total
                logp_slope_T_H[tokens] = (weight_V_H[target_T[tokens]] - mean_row) / settings.temperature
                if entropy_slope_T_H is not None and sums.weighted_rows is not None:
                    surprise_row = sums.weighted_rows / sums.total + (entropy - log_total) * mean_row
                    entropy_slope_T_H[tokens] = -surprise_row / settings.temperature
        ctx.settings = settings
        if settings.slopes:
            ctx.save_for_backward(logp_slope_T_H, entropy_slope_T_H)
        else:
            ctx.save_for_backward(hidden_T_H, weight_V_H, bias_V, target_T, normaliser_T, entropy_T)
        return logp_T, entropy_T

    @staticmethod
    @once_differentiable
    def backward(ctx: _Saved, logp_grad_T: Tensor, entropy_grad_T: Tensor) -> tuple[Tensor | None, ...]:
        settings = ctx.settings
        if settings.slopes:
            logp_slope_T_H, entropy_slope_T_H = ctx.saved_tensors
            total = logp_slope_T_H * logp_grad_T[:, None]
            if settings.entropy_gradient:
                total = total + entropy_slope_T_H * entropy_grad_T[:, None]
            return total.to(logp_slope_T_H.dtype), None, None, None, None

        hidden_T_H, weight_V_H, bias_V, target_T, normaliser_T, entropy_T = ctx.saved_tensors
        tiles = _Tiles(hidden_T_H, weight_V_H, bias_V, settings)
        wants_hidden, wants_weight, wants_bias = ctx.needs_input_grad[:3]
        hidden_grad_T_H = torch.zeros_like(hidden_T_H, dtype=tiles.wide) if wants_hidden else None
        weight_grad_V_H = torch.zeros_like(weight_V_H, dtype=tiles.wide) if wants_weight else None
        bias_grad_V = torch.zeros_like(bias_V, dtype=tiles.wide) if wants_bias else None
        for tokens in tiles.token_slices:
            logp_grad, target = logp_grad_T[tokens, None], target_T[tokens, None]
            entropy_grad, entropy = entropy_grad_T[tokens, None], entropy_T[tokens, None]
            for words, slope in tiles.over_words(tokens):
                slope.sub_(normaliser_T[tokens, None])
                if settings.entropy_gradient:
                    exp = tiles.exp(slope)
                    slope.mul_(-entropy_grad).sub_(entropy_grad * entropy + logp_grad).mul_(exp)
                else:
                    slope.exp_().mul_(-logp_grad)
                inside = (target >= words.start) & (target < words.stop)
                place = (target - words.start).clamp(0, slope.shape[1] - 1)
                slope.scatter_add_(1, place, torch.where(inside, logp_grad, 0))
                if hidden_grad_T_H is not None:
                    tiles.add_to_hidden(hidden_grad_T_H[tokens], slope, words)
                if weight_grad_V_H is not None:
                    tiles.add_to_weight(weight_grad_V_H, slope, words, tokens)
                if bias_grad_V is not None:
                    bias_grad_V[words] += slope.sum(0)
        return (
            _finish(hidden_grad_T_H, hidden_T_H, settings.temperature),
            _finish(weight_grad_V_H, weight_V_H, settings.temperature),
            _finish(bias_grad_V, bias_V, settings.temperature),
            None,
            None,
        )


class _RunningSums:
    """Sums over the words seen so far, relative to the largest logit m so far, with e = exp(logit - m).

    Attributes:
        largest: m of each token, as a column; so are the next two.
        total: sum e.
        weighted: sum e (logit - m).
        rows: sum e weight, one row a token; None unless slopes are wanted.
        weighted_rows: sum e (logit - m) weight.
    """

    def __init__(self, tiles: _Tiles, tokens: slice, settings: _Settings) -> None:
        self._tiles = tiles
        hidden = tiles.hidden_T_H[tokens]
        column = hidden.new_zeros((len(hidden), 1), dtype=tiles.wide)
        # Half the smallest number, so that a difference of two logits cannot overflow.
        self.largest = torch.full_like(column, torch.finfo(tiles.wide).min / 2)
        self.total = column
        self.weighted = torch.zeros_like(column)
        table = torch.zeros_like(hidden, dtype=tiles.wide) if settings.slopes else None
        self.rows = table
        self.weighted_rows = torch.zeros_like(table) if table is not None and settings.entropy_gradient else None

    def add(self, words: slice, logits: Tensor) -> None:
        """Takes in the logits of further words, and overwrites them."""
        largest = torch.maximum(self.largest, logits.amax(1, keepdim=True))
        drop = self.largest - largest
        scale = drop.exp()
        shifted = logits.sub_(largest)
        exp = self._tiles.exp(shifted)
        self.weighted = (self.weighted + drop * self.total) * scale + torch.linalg.vecdot(exp, shifted)[:, None]
        self.total = self.total * scale + exp.sum(1, keepdim=True)
        self.largest = largest
        if self.weighted_rows is not None and self.rows is not None:
            self.weighted_rows.add_(drop * self.rows).mul_(scale)
            self._tiles.add_to_hidden(self.weighted_rows, shifted.mul_(exp), words)
        if self.rows is not None:
            self.rows.mul_(scale)
            self._tiles.add_to_hidden(self.rows, exp, words)


def _slices(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _add_product(into: Tensor, first: Tensor, second: Tensor) -> None:
    """Adds first @ second, without a table in between where the types allow it."""
    if into.dtype == first.dtype:
        into.addmm_(first, second)
    else:
        into.add_(first @ second)


def _finish(gradient: Tensor | None, like: Tensor, temperature: float) -> Tensor | None:
    return None if gradient is None else gradient.div_(temperature).to(like.dtype)
