"""Draws the next token of each response; a draw depends on that response's own logits and seed alone."""

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

    A draw is a race: each token gets an exponential waiting time of its own, divided by its weight, and the first one
    wins. That gives each token with its probability (the Gumbel-max trick in another form), and hangs little on
    rounding: another token wins only where two times agree to the last digits. Inverting the cumulative distribution
    would give another token wherever a border moves past the number that was drawn, and in a vocabulary of tens of
    thousands of unlikely tokens there are borders everywhere. So the same response comes in every batch, but for a
    draw in a million or so.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._generator: torch.Generator | None = None

    def draw(self, logits_V: Tensor) -> int:
        """Draws a token.

        Args:
            logits_V: Logits of the whole vocabulary.
        """
        return int(self.race(logits_V).argmax())

    def race(self, logits_V: Tensor) -> Tensor:
        """How far ahead each token is in the race for the next place; the greatest number wins.

        Args:
            logits_V: Logits of the whole vocabulary.
        """
        if self._sampling.temperature == 0.0:
            return logits_V.double()
        # Up to a number that they share, the logarithms of the weights.
        scores_V = logits_V.double() / self._sampling.temperature
        if self._sampling.top_k or self._sampling.top_p < 1.0:
            sorted_V, order_V = scores_V.log_softmax(dim=-1).sort(descending=True, stable=True)
            kept_V = _truncated(sorted_V.exp(), self._sampling) > 0.0
            scores_V = torch.full_like(scores_V, -torch.inf)
            scores_V[order_V[kept_V]] = sorted_V[kept_V]
        return scores_V - self._waiting(logits_V).log_()

    def _waiting(self, logits_V: Tensor) -> Tensor:
        """The waiting times, from the response's own generator."""
        if self._generator is None:
            self._generator = torch.Generator(device=logits_V.device).manual_seed(self._sampling.seed)
        times_V = torch.empty(len(logits_V), dtype=torch.float32, device=logits_V.device)
        times_V.exponential_(generator=self._generator)
        return times_V.clamp_(min=torch.finfo(torch.float32).tiny).double()


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
    # All winners at once: on a GPU each answer that is waited for costs more than finding it.
    index_B = torch.stack([draw.race(logits_V) for draw, logits_V in zip(draws, logits_B_V, strict=True)]).argmax(-1)
    chosen = logprobs_B_V.gather(1, index_B[:, None]).squeeze(1).tolist()
    return [Draw(token, logprob) for token, logprob in zip(index_B.tolist(), chosen, strict=True)]
