"""Covariance-aware GRPO: tokens of extreme covariance weigh less, by a Gaussian kernel (arXiv 2605.11538)."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ...envs.errors import ConfigError
from ..batch import Average
from ..segments import Segments
from ..token_weights import LogProbs, TokenWeightInputs, TokenWeights

# Where the covariances deviate by less, nothing is extreme and every weight is 1 [X].
_NOTHING = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianCovariance:
    """c_t = (log pi_t - mean log pi)(A_t - mean A), w_t = exp(-c_t^2 / (2 sigma^2)), then w_t N / sum w.

    sigma is the standard deviation of the c_t, and the kernel is centred at 0, not at their mean. The weights average
    to 1 over the N tokens of the set and are constant: no gradient goes through them [X]. The body of the paper was
    read second hand. It does not settle whether the set is the group or the batch: here all tokens of the mini-batch by
    default [X]; nor whether sigma divides by N: here it does [X]; nor which policy log pi is: here the present one [X].

    Attributes:
        scope: Over what means, sigma and N are taken: the mini-batch, or each group of it.
        sigma: None takes the deviation of the c_t; infinity gives every token weight 1, which is GRPO.
        logprobs: Log-probabilities of the present policy, or of that at the start of the round.

    Raises:
        ConfigError: If ``sigma`` is not above 0.
    """

    name: Literal["cov_gaussian"] = "cov_gaussian"
    scope: Literal["batch", "group"] = "batch"
    sigma: float | None = None
    logprobs: LogProbs = "current"

    def __post_init__(self) -> None:
        if self.sigma is not None and not self.sigma > 0:
            raise ConfigError(f"a kernel of width {self.sigma}: it must be above 0")

    def __call__(self, inputs: TokenWeightInputs) -> TokenWeights:
        """The weights, 1 on average."""
        if self.sigma is not None and math.isinf(self.sigma):
            return TokenWeights()
        sets = self._sets(inputs)
        logp_T, advantage_T = inputs.logp_T.double(), inputs.advantage_T.double()
        covariance_T = _centred(logp_T, sets) * _centred(advantage_T, sets)
        width_S = self._width(covariance_T, sets)
        square_T = (covariance_T / sets.spread(torch.where(width_S > _NOTHING, width_S, 1))).square()
        log_T = torch.where(sets.spread(width_S) > _NOTHING, -square_T / 2, 0.0)
        # Only the shares of the kernels matter. Where all c_t are far from 0 beside sigma, all kernels round to 0.
        kernel_T = torch.exp(log_T - sets.spread(sets.maximum(log_T, empty=0.0)))
        weight_T = kernel_T * sets.spread(sets.sizes / sets.sum(kernel_T))
        return TokenWeights(
            weight_T=weight_T,
            metrics={
                "cov_weight_below_half": Average.of(weight_T < 0.5),
                # Tokens that would share the weight evenly to the same effect, as a share of all.
                "cov_weight_ess_share": Average.of(
                    sets.sum(weight_T).square() / sets.sum(weight_T.square()) / sets.sizes
                ),
            },
        )

    def _sets(self, inputs: TokenWeightInputs) -> Segments:
        """The sets of tokens that statistics are taken over; none is empty."""
        if self.scope == "batch":
            return Segments(torch.zeros_like(inputs.layout.rows.index), 1)
        return Segments.from_keys(inputs.layout.rows.compose(inputs.layout.row_groups()).index)

    def _width(self, covariance_T: Tensor, sets: Segments) -> Tensor:
        """Sigma of each set."""
        if self.sigma is not None:
            return torch.full((sets.count,), self.sigma, dtype=torch.float64, device=covariance_T.device)
        return torch.sqrt(sets.mean(_centred(covariance_T, sets).square()))


def _centred(values_T: Tensor, sets: Segments) -> Tensor:
    return values_T - sets.spread(sets.mean(values_T))
