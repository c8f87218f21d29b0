"""A truncated importance weight for tokens that another policy has sampled."""

import math
from dataclasses import dataclass
from typing import Literal

import torch

from ...envs.errors import ConfigError
from ..batch import Average
from ..token_weights import LogProbs, TokenWeightInputs, TokenWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedImportance:
    """w_t = min(pi_old(t) / pi_behaviour(t), limit), constant, on tokens that another policy than the learner sampled.

    Tokens of the learner have weight exactly 1. For S2L-PO it is an option that the authors' code holds but does not
    use [X]; for the second learner of CoDistill-GRPO it is the form that does not clip where the models differ [X].

    Attributes:
        limit: The largest weight; 2 in the authors' code of S2L-PO.

    Raises:
        ConfigError: If ``limit`` is not above 0.
    """

    name: Literal["truncated_importance"] = "truncated_importance"
    limit: float = 2.0
    logprobs: LogProbs = "old"

    def __post_init__(self) -> None:
        if not self.limit > 0:
            raise ConfigError(f"importance weights of at most {self.limit}: it must be above 0")

    def __call__(self, inputs: TokenWeightInputs) -> TokenWeights:
        """The weights.

        Raises:
            ValueError: If the log-probabilities of the policy that sampled are not there.
        """
        if inputs.foreign_T is None:
            return TokenWeights()
        if inputs.behaviour_logp_T is None:
            raise ValueError("the weight needs behaviour_logp_T: the log-probabilities under the policy that sampled")
        log_ratio_T = inputs.logp_T.double() - inputs.behaviour_logp_T.double()
        weight_T = torch.exp(log_ratio_T.clamp(max=math.log(self.limit)))
        weight_T = torch.where(inputs.foreign_T, weight_T, 1.0)
        cut_T = (log_ratio_T > math.log(self.limit))[inputs.foreign_T]
        return TokenWeights(
            weight_T=weight_T,
            metrics={
                "importance_weight": Average.of(weight_T[inputs.foreign_T]),
                "importance_cut_share": Average.of(cut_T),
            },
        )
