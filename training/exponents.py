"""Rules for the exponent p: constant, scheduled over rounds, or adapted to the trajectory or to the batch."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from ..envs.errors import ConfigError
from .batch import Context
from .holder import effective_sample_size, log_power_mean
from .schedules import Schedule
from .segments import Segments


class ExponentInputs(NamedTuple):
    """What a rule may look at.

    Attributes:
        log_ratio_T: The log ratios that will be aggregated, after a token clip; constant.
        clipped_T: Whether the token clip acts on the token.
        units: The units of aggregation.
        context: Round and accuracy.
    """

    log_ratio_T: Tensor
    clipped_T: Tensor
    units: Segments
    context: Context


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantExponent:
    """One p for the whole run; may be infinite."""

    name: Literal["constant"] = "constant"
    p: float = 1.0

    def __post_init__(self) -> None:
        if math.isnan(self.p):
            raise ConfigError("the exponent p is not a number")

    def __call__(self, inputs: ExponentInputs) -> float:
        """The exponent of every unit."""
        return self.p


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardExponent:
    """APMPO's rule (arXiv 2605.04066, second hand): p = exp(-decay mu), mu the round's mean verifier reward.

    Raises:
        ConfigError: If ``decay`` is negative.
    """

    name: Literal["reward"] = "reward"
    decay: float = 0.8

    def __post_init__(self) -> None:
        if not self.decay >= 0:
            raise ConfigError(f"an exponent decay of {self.decay}: it must be 0 or more")

    def __call__(self, inputs: ExponentInputs) -> float:
        """The exponent of every unit, in (0, 1]."""
        return math.exp(-self.decay * inputs.context.accuracy)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipFractionExponent:
    """A rule in the manner of PMPO (arXiv 2601.22521): each unit's p follows the share of its clipped tokens.

    The abstract says that the clip fraction f of a trajectory gives a target for the normalised effective sample
    size ESS(p) = 1 / (n sum_t W_t^2), and that p in [0, 1] is solved for. The map from f to the target is not
    published where we could read it. Ours [X]: target = ESS(1) + f (1 - ESS(1)). So f = 0 gives p = 1 (GRPO),
    f = 1 gives p = 0 (GMPO), and p falls with f, since ESS falls from 1 as p rises from 0.

    Raises:
        ConfigError: If there are no bisection steps.
    """

    name: Literal["clip_fraction"] = "clip_fraction"
    steps: int = 30

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ConfigError(f"{self.steps} bisection steps: at least 1 is needed")

    def __call__(self, inputs: ExponentInputs) -> Tensor:
        """The exponent of each unit, in [0, 1]; constant."""
        units = inputs.units
        size_U = units.sizes.clamp(min=1)
        fraction_U = units.sum(inputs.clipped_T.to(inputs.log_ratio_T.dtype)) / size_U

        def share(p_U: Tensor) -> Tensor:
            weight_T = log_power_mean(inputs.log_ratio_T, units, p_U).weight_T
            return effective_sample_size(weight_T, units) / size_U

        low_U, high_U = torch.zeros_like(fraction_U), torch.ones_like(fraction_U)
        least_U = share(high_U)
        target_U = least_U + fraction_U * (1 - least_U)
        for _ in range(self.steps):
            middle_U = (low_U + high_U) / 2
            above_U = share(middle_U) >= target_U
            low_U, high_U = torch.where(above_U, middle_U, low_U), torch.where(above_U, high_U, middle_U)
        middle_U = (low_U + high_U) / 2
        # The ends are exact: without clipped tokens the unit is GRPO's, with clipped tokens only it is GMPO's.
        middle_U = torch.where(fraction_U == 0, 1.0, middle_U)
        return torch.where(fraction_U == 1, 0.0, middle_U)


Exponent = ConstantExponent | Schedule | RewardExponent | ClipFractionExponent


def exponent_of(rule: Exponent, inputs: ExponentInputs) -> float | Tensor:
    """The exponent of all units, or of each."""
    return rule.at(inputs.context.round) if isinstance(rule, Schedule) else rule(inputs)
