"""Stage 6: weights of the tokens inside a mini-batch, from log-probabilities and advantages.

A stage sees the whole mini-batch at once, so that its statistics do not depend on micro-batches. The published
codes take them over a micro-batch instead.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from ..envs.errors import ConfigError
from .batch import Average, Context, Metrics
from .layout import Layout

LogProbs = Literal["current", "old"]


class TokenWeightInputs(NamedTuple):
    """What a token-weight stage may look at, over the whole mini-batch; nothing is differentiable.

    Attributes:
        logp_T: Log-probabilities under the policy now, or at the start of the round if the stage asks for these.
        advantage_T: Advantages.
        clipped_T: Whether the aggregation's clip of tokens acts on the token.
        layout: Arrangement of the tokens.
        context: Update number and seed.
        behaviour_logp_T: Log-probabilities under the policy that sampled the tokens.
        foreign_T: Whether another policy than the learner has sampled the token; None where the learner sampled all.
    """

    logp_T: Tensor
    advantage_T: Tensor
    clipped_T: Tensor
    layout: Layout
    context: Context
    behaviour_logp_T: Tensor | None = None
    foreign_T: Tensor | None = None


class TokenWeights(NamedTuple):
    """Weights of the tokens; None means 1.

    Attributes:
        weight_T: Weight in the policy term, not negative.
        kl_weight_T: Weight in the KL term.
        metrics: What the log should show.
    """

    weight_T: Tensor | None = None
    kl_weight_T: Tensor | None = None
    metrics: Metrics = {}  # noqa: RUF012


def covariance_terms(logp_T: Tensor, advantage_T: Tensor) -> Tensor:
    """(A_t - mean A)(log pi_t - mean log pi) over all given tokens, float64 (arXiv 2505.22617)."""
    logp_T, advantage_T = logp_T.detach().double(), advantage_T.detach().double()
    return (advantage_T - advantage_T.mean()) * (logp_T - logp_T.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipCov:
    """Clip-Cov (arXiv 2505.22617): takes a few random tokens of high covariance out of the loss.

    Candidates are the tokens with low < cov < high that the clip leaves alone. Of N tokens,
    min(candidates, max(1, floor(share N))) candidates are drawn without replacement and get weight 0; they still
    count in the means. The draw depends on the run's seed and the update number alone.

    The authors' scripts set the clip range to 1 on both sides, not to 0.2.

    Raises:
        ConfigError: If a setting is out of range.
    """

    name: Literal["clip_cov"] = "clip_cov"
    share: float = 2e-4
    low: float = 1.0
    high: float = 5.0
    logprobs: LogProbs = "current"

    def __post_init__(self) -> None:
        _check_share(self.share)
        if not self.low < self.high:
            raise ConfigError(f"a covariance range from {self.low} to {self.high}: the first must be the smaller")

    def __call__(self, inputs: TokenWeightInputs) -> TokenWeights:
        """The weights: 0 for the drawn tokens, 1 for the others."""
        covariance_T = covariance_terms(inputs.logp_T, inputs.advantage_T)
        candidates = ((covariance_T > self.low) & (covariance_T < self.high) & ~inputs.clipped_T).nonzero().squeeze(1)
        number = min(len(candidates), max(1, math.floor(self.share * len(covariance_T))))
        generator = torch.Generator().manual_seed(_draw_seed(inputs.context))
        drawn = candidates[torch.randperm(len(candidates), generator=generator)[:number].to(candidates.device)]
        weight_T = torch.ones(len(covariance_T), device=covariance_T.device)
        weight_T[drawn] = 0
        return TokenWeights(weight_T=weight_T, metrics={"clip_cov_share": Average.of(weight_T == 0)})


@dataclass(frozen=True, slots=True, kw_only=True)
class KLCov:
    """KL-Cov (arXiv 2505.22617): the KL term acts on the tokens of highest covariance alone.

    The max(1, floor(share N)) tokens of N with the largest covariance get KL weight 1, the others 0; the policy term
    keeps all tokens. With ``clip="none"`` and a KL penalty ``abs`` against ``old`` this is the authors' loss.

    On the first update of a round the policy is the old one: the penalty is 0 there, and so is its gradient.

    Raises:
        ConfigError: If ``share`` is out of range.
    """

    name: Literal["kl_cov"] = "kl_cov"
    share: float = 2e-3
    logprobs: LogProbs = "current"

    def __post_init__(self) -> None:
        _check_share(self.share)

    def __call__(self, inputs: TokenWeightInputs) -> TokenWeights:
        """The KL weights: 1 for the selected tokens, 0 for the others."""
        covariance_T = covariance_terms(inputs.logp_T, inputs.advantage_T)
        number = min(len(covariance_T), max(1, math.floor(self.share * len(covariance_T))))
        kl_weight_T = torch.zeros(len(covariance_T), device=covariance_T.device)
        kl_weight_T[torch.topk(covariance_T, number).indices] = 1
        return TokenWeights(kl_weight_T=kl_weight_T, metrics={"kl_cov_share": Average.of(kl_weight_T == 1)})


TokenWeightStage = ClipCov | KLCov


def _check_share(share: float) -> None:
    if not 0 < share <= 1:
        raise ConfigError(f"a share of tokens of {share}: it must be above 0 and at most 1")


def _draw_seed(context: Context) -> int:
    """Seeds differ between updates and between runs; the multiplier is a prime that keeps them apart."""
    return (context.seed * 1_000_003 + context.update) % 2**63
