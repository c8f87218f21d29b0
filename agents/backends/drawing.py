"""Draws the next token of each response; a draw depends on that response's own logits and seed alone."""

import random
from typing import NamedTuple

import torch
from torch import Tensor

from .backend import Sampling


class Draw(NamedTuple):
    """A token and its log-probability under the model's own distribution."""

    token: int
    logprob: float


class TokenDraws:
    """The draws of one response.

    A draw inverts the cumulative distribution at a number from the response's own generator, so the same logits
    give the same token in every batch and on every device, up to rounding at the border between two tokens.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._random = random.Random(sampling.seed)

    def draw(self, logits_V: Tensor) -> int:
        """Draws a token.

        Args:
            logits_V: Logits of the whole vocabulary.
        """
        if self._sampling.temperature == 0.0:
            return int(logits_V.argmax())
        weights_V = torch.softmax(logits_V.double() / self._sampling.temperature, dim=-1)
        order_V = None
        if self._sampling.top_k or self._sampling.top_p < 1.0:
            weights_V, order_V = weights_V.sort(descending=True, stable=True)
            weights_V = _truncated(weights_V, self._sampling)
        cumulative_V = weights_V.cumsum(0)
        at = int(torch.searchsorted(cumulative_V, cumulative_V[-1] * self._random.random(), right=True))
        # The draw is below the total, so only rounding can reach past the last token that has any weight.
        at = min(at, int(weights_V.nonzero()[-1]))
        return at if order_V is None else int(order_V[at])


def _truncated(sorted_V: Tensor, sampling: Sampling) -> Tensor:
    """Sets the weights that top-k and top-p leave out to zero; the most likely token always stays.

    As in other engines, top-p is a share of what top-k has left.
    """
    kept_V = sorted_V.clone()
    if sampling.top_k:
        kept_V[sampling.top_k :] = 0.0
    if sampling.top_p < 1.0:
        before_V = kept_V.cumsum(0) - kept_V
        kept_V[1:][before_V[1:] >= sampling.top_p * kept_V.sum()] = 0.0
    return kept_V


def draw_tokens(logits_B_V: Tensor, draws: list[TokenDraws]) -> list[Draw]:
    """Draws one token a row.

    Args:
        logits_B_V: Logits of the next token, one row a response.
        draws: The draws of each row's response.
    """
    logprobs_B_V = torch.log_softmax(logits_B_V.float(), dim=-1)
    tokens = [draw.draw(logits_V) for draw, logits_V in zip(draws, logits_B_V, strict=True)]
    index_B = torch.tensor(tokens, device=logprobs_B_V.device)
    chosen = logprobs_B_V.gather(1, index_B[:, None]).squeeze(1).tolist()
    return [Draw(token, logprob) for token, logprob in zip(tokens, chosen, strict=True)]
