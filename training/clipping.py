"""Clip ranges of the importance ratio, and PPO's one-sided clip in log space.

PPO's min(r A, clip(r) A) bounds the ratio on one side only, the side on which the step would go too far: above for
A > 0, below for A < 0. So min(r A, clip(r) A) = A exp(bound(log r, A)), and the same function serves a token's
ratio and an aggregated one.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from ..envs.errors import ConfigError
from .batch import Context


class LogBounds(NamedTuple):
    """Bounds of the log ratio: the lower one acts for A < 0, the upper one for A > 0, ``dual`` above for A < 0."""

    lower: float
    upper: float
    dual: float


UNBOUNDED = LogBounds(-math.inf, math.inf, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRange:
    """A fixed range.

    Attributes:
        low: The ratio is bounded below by 1 - ``low``; 1 or more means not at all.
        high: The ratio is bounded above by 1 + ``high``.
        dual: For A < 0 the ratio is bounded above by this too (dual clip, Ye et al. 2020); None: it is not.
        log: ``low`` and ``high`` bound the log ratio itself, at -``low`` and +``high`` (GMPO).

    Raises:
        ConfigError: If a bound is negative or the dual clip is not above 1.
    """

    name: Literal["fixed"] = "fixed"
    low: float = 0.2
    high: float = 0.2
    dual: float | None = None
    log: bool = False

    def __post_init__(self) -> None:
        if not (self.low >= 0 and self.high >= 0):
            raise ConfigError(f"a clip range of {self.low} and {self.high}: both must be 0 or more")
        if self.dual is not None and not self.dual > 1:
            raise ConfigError(f"a dual clip at {self.dual}: it must be above 1")

    def bounds(self, context: Context) -> LogBounds:
        """The bounds of log r."""
        dual = math.inf if self.dual is None else math.log(self.dual)
        if self.log:
            return LogBounds(-self.low, self.high, dual)
        lower = math.log1p(-self.low) if self.low < 1 else -math.inf
        return LogBounds(lower, math.log1p(self.high), dual)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardAdaptiveClip:
    """APMPO's upper bound (arXiv 2605.04066, second hand): it opens as the batch's rewards get large and even.

    FSS = mu / (sigma + delta), high = narrow + (wide - narrow) tanh(FSS), where mu and sigma are mean and
    population standard deviation of the round's verifier rewards. The size of delta is not published: 1e-6.

    Raises:
        ConfigError: If the bounds are not 0 <= narrow <= wide.
    """

    name: Literal["reward_adaptive"] = "reward_adaptive"
    low: float = 0.2
    narrow: float = 0.2
    wide: float = 0.4
    delta: float = 1e-6

    def __post_init__(self) -> None:
        if not (self.low >= 0 and 0 <= self.narrow <= self.wide):
            raise ConfigError(f"an adaptive clip from {self.narrow} to {self.wide}: it needs 0 <= narrow <= wide")

    def bounds(self, context: Context) -> LogBounds:
        """The bounds of log r."""
        signal = context.accuracy / (context.accuracy_std + self.delta)
        high = self.narrow + (self.wide - self.narrow) * math.tanh(signal)
        return ClipRange(low=self.low, high=high).bounds(context)


Clip = ClipRange | RewardAdaptiveClip


def bound(log_ratio: Tensor, advantage: Tensor, bounds: LogBounds, limit: float) -> Tensor:
    """Bounds log ratios on the side that the sign of the advantage names; the derivative is 0 beyond a bound.

    Args:
        log_ratio: log r of tokens or of units.
        advantage: Their advantages, same shape.
        bounds: The clip range.
        limit: Upper bound whatever the advantage, so that exp does not overflow.
    """
    positive, negative = advantage > 0, advantage < 0
    upper = torch.full_like(log_ratio, limit, requires_grad=False)
    upper = upper.masked_fill(positive, min(bounds.upper, limit)).masked_fill(negative, min(bounds.dual, limit))
    lower = torch.full_like(log_ratio, -math.inf, requires_grad=False).masked_fill(negative, bounds.lower)
    return torch.clamp(log_ratio, min=lower, max=upper)
