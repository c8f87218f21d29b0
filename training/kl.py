"""Stage 8: the KL penalty, and the entropy bonus."""

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from ..envs.errors import ConfigError
from .batch import Context, TokenBatch
from .reduction import Reduction
from .variants.expo import AccuracyScale

Estimator = Literal["k1", "k2", "k3", "abs"]


def kl_estimate(logp_T: Tensor, base_logp_T: Tensor, estimator: Estimator, log_limit: float) -> Tensor:
    """Estimates KL(pi || base) at tokens that pi sampled, from d = log base - log pi.

    k1 = -d, k2 = d^2 / 2, k3 = e^d - d - 1 (Schulman, "Approximating KL divergence"), abs = |d| (KL-Cov).

    As a loss they differ: the gradient of k1 is 0 in expectation, that of k2 is the gradient of the KL itself,
    and that of k3 is the gradient of KL(base || pi), when the tokens come from pi.

    Args:
        logp_T: log pi; differentiable.
        base_logp_T: log base.
        estimator: Which of the four.
        log_limit: d is clamped to plus and minus this.
    """
    wide = torch.promote_types(logp_T.dtype, torch.float32)
    d_T = (base_logp_T.to(wide) - logp_T.to(wide)).clamp(-log_limit, log_limit)
    match estimator:
        case "k1":
            return -d_T
        case "k2":
            return d_T.square() / 2
        case "k3":
            return torch.expm1(d_T) - d_T
        case "abs":
            return d_T.abs()


@dataclass(frozen=True, slots=True, kw_only=True)
class KLPenalty:
    """coefficient * KL estimate of each token, added to the loss.

    Attributes:
        coefficient: beta; 0 turns the penalty off.
        estimator: See ``kl_estimate``.
        against: The reference model, or the policy at the start of the round.
        log_limit: Bound of the log ratio inside the estimator (verl: 20).
        value_limit: Bound of the estimate itself (verl: 10); None for no bound.
        reduction: How tokens are averaged; None takes the policy term's.
        scale: What the coefficient is multiplied by in a round; None leaves it alone.

    Raises:
        ConfigError: If a setting is out of range.
    """

    name: Literal["kl"] = "kl"
    coefficient: float = 0.0
    estimator: Estimator = "k3"
    against: Literal["reference", "old"] = "reference"
    log_limit: float = 20.0
    value_limit: float | None = None
    reduction: Reduction | None = None
    scale: AccuracyScale | None = None

    def __post_init__(self) -> None:
        if not self.coefficient >= 0:
            raise ConfigError(f"a KL coefficient of {self.coefficient}: it must be 0 or more")
        if not 0 < self.log_limit <= 80:
            raise ConfigError(f"a KL log_limit of {self.log_limit}: it must be above 0 and at most 80")
        if self.value_limit is not None and not self.value_limit > 0:
            raise ConfigError(f"a KL value_limit of {self.value_limit}: it must be above 0")

    def coefficient_at(self, context: Context) -> float:
        """The coefficient of an update."""
        return self.coefficient if self.scale is None else self.coefficient * self.scale(context)

    def __call__(self, batch: TokenBatch, logp_T: Tensor) -> Tensor:
        """The estimate of each token, before the coefficient.

        Raises:
            ConfigError: If the penalty needs a reference model and the batch has none.
        """
        base_T = batch.old_logp_T if self.against == "old" else batch.reference_logp_T
        if base_T is None:
            raise ConfigError("the KL penalty needs a reference model: name one, or set the KL coefficient to 0")
        estimate_T = kl_estimate(logp_T, base_T, self.estimator, self.log_limit)
        if self.value_limit is not None:
            estimate_T = estimate_T.clamp(-self.value_limit, self.value_limit)
        return estimate_T if batch.kl_weight_T is None else estimate_T * batch.kl_weight_T.to(estimate_T.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyBonus:
    """coefficient * entropy of the next-token distributions, subtracted from the loss; averaged over all tokens.

    Raises:
        ConfigError: If the coefficient is negative.
    """

    name: Literal["entropy"] = "entropy"
    coefficient: float = 0.0
    reduction: Reduction = field(default_factory=lambda: Reduction(over="tokens"))

    def __post_init__(self) -> None:
        if not self.coefficient >= 0:
            raise ConfigError(f"an entropy coefficient of {self.coefficient}: it must be 0 or more")
