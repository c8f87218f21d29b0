"""Stage 7: from token log-probabilities to one clipped surrogate a unit, by a power mean of importance ratios."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from ..envs.errors import ConfigError
from .batch import Average, Context, Metrics, TokenBatch
from .clipping import UNBOUNDED, Clip, ClipRange, bound
from .exponents import ClipFractionExponent, ConstantExponent, Exponent, ExponentInputs, exponent_of
from .holder import effective_sample_size, log_power_mean, weight_entropy
from .layout import Unit
from .segments import Segments

# exp(80) times any advantage is far from the largest float32 number, e^88.7.
LOG_RATIO_LIMIT = 80.0

# Log ratios below this are taken for rounding of the two log-probabilities.
MOVED = 1e-4

ClipMode = Literal["sequence", "token", "sequence_w_clip", "none"]


class Surrogate(NamedTuple):
    """What the policy term is made of.

    Attributes:
        objective_U: The quantity of each unit that is to grow; differentiable.
        units: The units.
        metrics: Clip share, exponent, concentration of the weights.
    """

    objective_U: Tensor
    units: Segments
    metrics: Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderAggregation:
    """HölderPO's aggregation (arXiv 2605.12058, eq. 1, 2 and 11); GRPO, GSPO and GMPO are settings of it.

    With ratios r_t, advantage A, token weights w and v_t = w_t / sum_k w_k, a unit of n tokens gives
    (1/n) sum_t w_t times

    | clip | objective |
    |---|---|
    | ``sequence`` | min(rho_p A, clip(rho_p) A), rho_p = (sum_t v_t r_t^p)^(1/p): the authors' default |
    | ``token`` | A (sum_t v_t c_t^p)^(1/p), c_t = r_t clipped on the side that the sign of A names |
    | ``sequence_w_clip`` | as ``sequence``, after every log r_t was clamped to +-log(1 + high), whatever the sign |
    | ``none`` | rho_p A |

    p = 1 with ``token`` or ``none`` is the arithmetic mean of the tokens' surrogates, which is GRPO (PPO) as it
    stands; it is computed as that, so it is GRPO to the last bit, and the advantage may vary inside the unit. In
    all other cases a unit has one sign, and its advantage is the mean of its tokens' advantages [X].

    ``sequence_w_clip`` is in the authors' mathematics trainer alone. After its clamp rho_p lies between 1/(1 + high)
    and 1 + high, so with equal bounds of at most 1 the sequence clip after it never acts below, as
    1/(1 + high) > 1 - high.

    Attributes:
        exponent: The rule for p.
        clip: As above.
        clip_range: Bounds of the ratio; ``none`` ignores them.
        per: Whether a unit is a turn (the authors' ALFWorld code) or a trajectory with all its turns.
        denominator: Old log-probabilities of the ratios: the policy's own at the start of the round, or those of
            the policy that sampled the tokens.
        log_ratio_limit: Log ratios are bounded above by this before the exponential, whatever the clip.

    Raises:
        ConfigError: If the settings contradict one another.
    """

    name: Literal["holder"] = "holder"
    exponent: Annotated[Exponent, Field(discriminator="name")] = field(default_factory=ConstantExponent)
    clip: ClipMode = "sequence"
    clip_range: Annotated[Clip, Field(discriminator="name")] = field(default_factory=ClipRange)
    per: Unit = "turn"
    denominator: Literal["old", "behaviour"] = "old"
    log_ratio_limit: float = LOG_RATIO_LIMIT

    def __post_init__(self) -> None:
        if isinstance(self.exponent, ClipFractionExponent) and self.clip != "token":
            raise ConfigError(
                f"the exponent 'clip_fraction' counts clipped tokens: set clip to 'token', not {self.clip!r}"
            )
        if not 0 < self.log_ratio_limit <= LOG_RATIO_LIMIT:
            raise ConfigError(
                f"log_ratio_limit is {self.log_ratio_limit}: it must be above 0 and at most {LOG_RATIO_LIMIT}"
            )

    def log_ratio(self, batch: TokenBatch, logp_T: Tensor) -> Tensor:
        """Log ratio of each token, in float32 at least.

        Raises:
            ValueError: If the ratio is to the behaviour policy and the batch lacks its log-probabilities.
        """
        base_T = batch.old_logp_T if self.denominator == "old" else batch.behaviour_logp_T
        if base_T is None:
            raise ValueError("the ratio is to the behaviour policy, but the batch has no behaviour_logp_T")
        wide = torch.promote_types(logp_T.dtype, torch.float32)
        return logp_T.to(wide) - base_T.to(wide)

    def clipped_tokens(self, batch: TokenBatch, logp_T: Tensor, context: Context) -> Tensor:
        """Whether the clip of tokens acts on each token; nowhere for a clip of units."""
        log_T = self.log_ratio(batch, logp_T.detach())
        if self.clip != "token":
            return torch.zeros_like(log_T, dtype=torch.bool)
        return bound(log_T, batch.advantage_T, self.clip_range.bounds(context), math.inf) != log_T

    def __call__(self, batch: TokenBatch, logp_T: Tensor, context: Context) -> Surrogate:
        """Makes the surrogate of each unit of a batch whose units are whole.

        Args:
            batch: The constants of the batch.
            logp_T: Log-probabilities under the policy now; differentiable.
            context: Round and accuracy.
        """
        units = batch.layout.units(self.per)
        log_T = self.log_ratio(batch, logp_T)
        size_U = units.sizes.clamp(min=1)
        weight_T = torch.ones_like(log_T) if batch.weight_T is None else batch.weight_T.to(log_T.dtype)
        advantage_T = batch.advantage_T.to(log_T.dtype)
        advantage_U = units.mean(advantage_T)
        bounds = UNBOUNDED if self.clip == "none" else self.clip_range.bounds(context)

        if self.clip == "sequence_w_clip":
            bounded_T = log_T.clamp(-bounds.upper, bounds.upper)
        elif self.clip == "token":
            bounded_T = bound(log_T, units.spread(advantage_U), bounds, math.inf)
        else:
            bounded_T = log_T
        token_clipped_T = bounded_T != log_T
        p = exponent_of(self.exponent, ExponentInputs(bounded_T.detach(), token_clipped_T, units, context))
        mean = log_power_mean(bounded_T, units, p, batch.weight_T)

        if self.clip in ("token", "none") and isinstance(p, float) and p == 1:
            bounded_T = bound(log_T, advantage_T, bounds, self.log_ratio_limit)
            objective_U = units.sum(weight_T * advantage_T * torch.exp(bounded_T)) / size_U
            clipped_T = bounded_T != log_T
        else:
            unit_bounds = UNBOUNDED if self.clip == "token" else bounds
            bounded_U = bound(mean.log_mean_U, advantage_U, unit_bounds, self.log_ratio_limit)
            objective_U = units.sum(weight_T) / size_U * advantage_U * torch.exp(bounded_U)
            clipped_T = token_clipped_T | units.spread(bounded_U != mean.log_mean_U)
        return Surrogate(objective_U, units, _metrics(units, log_T.detach(), clipped_T, p, mean.weight_T))


def _metrics(units: Segments, log_T: Tensor, clipped_T: Tensor, p: float | Tensor, mean_weight_T: Tensor) -> Metrics:
    several_U = units.sizes > 1
    size_U = units.sizes[several_U]
    p_U = torch.as_tensor(p, dtype=torch.float64, device=log_T.device).expand(units.count)
    return {
        "p": Average.of(p_U[units.sizes > 0]),
        "clip_share": Average.of(clipped_T),
        # Where no ratio has moved from 1, no exponent can make a difference: the weights are even for every p.
        "ratio_moved_share": Average.of(log_T.abs() > MOVED),
        "weight_entropy_share": Average.of(weight_entropy(mean_weight_T, units)[several_U] / size_U.log()),
        "weight_ess_share": Average.of(effective_sample_size(mean_weight_T, units)[several_U] / size_U),
    }
