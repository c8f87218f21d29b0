"""Stage 5: advantages from the rewards of a group, one vote an episode unless the name says otherwise.

Statistics are computed in float64, whatever the rewards are stored in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from ..envs.errors import ConfigError
from .batch import Average, Metrics, Rollout
from .segments import Segments

Scale = Literal["none", "population", "unbiased"]

# A group is counted as collapsed when its verifier rewards deviate by less (tau of AVSPO, arXiv 2605.21125).
COLLAPSED = 1e-6

State = Mapping[str, float]


class Advantages(NamedTuple):
    """What an advantage stage returns.

    Attributes:
        advantage_T: Advantage of each response token, float32 or float64 as the rewards.
        state: What the stage has to remember for the next round; goes into the checkpoint. Empty where it
            remembers nothing.
        metrics: What the log should show.
    """

    advantage_T: Tensor
    state: State = {}  # noqa: RUF012
    metrics: Metrics = {}  # noqa: RUF012


def deviation(values: Tensor, parts: Segments, scale: Literal["population", "unbiased"]) -> Tensor:
    """Standard deviation of each part; 0 for a part of one or none."""
    centred = values - parts.spread(parts.mean(values))
    divisor = parts.sizes if scale == "population" else parts.sizes - 1
    return torch.sqrt(parts.sum(centred.square()) / divisor.clamp(min=1))


def standardise(values: Tensor, parts: Segments, scale: Scale, epsilon: float) -> Tensor:
    """Subtracts the part's mean and divides by its standard deviation plus ``epsilon``, if there is a scale."""
    centred = values - parts.spread(parts.mean(values))
    if scale == "none":
        return centred
    return centred / (parts.spread(deviation(values, parts, scale)) + epsilon)


def collapse_rate(rollout: Rollout) -> Average:
    """The advantage collapse rate: share of groups whose verifier rewards are all alike.

    ACR = (1/N) sum_j 1[sigma_j < 1e-6], sigma the population standard deviation (AVSPO, arXiv 2605.21125).
    """
    groups = rollout.layout.groups
    return Average.of(deviation(rollout.verifier_E.double(), groups, "population") < COLLAPSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAdvantage:
    """A = (r - mean) / (std + epsilon) over the episodes of a group, one vote each.

    | method | baseline | scale |
    |---|---|---|
    | GRPO (arXiv 2402.03300) | ``mean`` | ``population``; ``unbiased`` in verl, TRL and oat |
    | Dr.GRPO (2503.20783) | ``mean`` | ``none`` |
    | RLOO (2402.14740) | ``leave_one_out`` | ``none`` |

    Leave-one-out is G/(G-1) (r - mean). A group of one episode gets 0; equal rewards give exactly 0.

    Raises:
        ConfigError: If ``epsilon`` is not above 0.
    """

    name: Literal["group"] = "group"
    baseline: Literal["mean", "leave_one_out"] = "mean"
    scale: Scale = "population"
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    def __call__(self, rollout: Rollout, state: State) -> Advantages:
        """The advantage of each token: that of its episode."""
        layout, groups = rollout.layout, rollout.layout.groups
        value_E = standardise(rollout.reward_E.double(), groups, self.scale, self.epsilon)
        if self.baseline == "leave_one_out":
            sizes = groups.sizes.double()
            value_E = value_E * groups.spread(sizes / (sizes - 1).clamp(min=1))
        return Advantages(layout.units("trajectory").spread(value_E).to(_dtype(rollout)), state)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRowAdvantage:
    """verl-agent's statistics, which the authors' ALFWorld code uses: over all turns of a group, not its episodes.

    Every turn of an episode carries the episode's reward less the penalty of that turn; mean and unbiased standard
    deviation run over all these rows, so a long episode has as many votes as turns. A group with a single row
    keeps its score (mean 0, deviation 1).

    Raises:
        ConfigError: If ``epsilon`` is not above 0.
    """

    name: Literal["step_rows"] = "step_rows"
    scale: Scale = "unbiased"
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    def __call__(self, rollout: Rollout, state: State) -> Advantages:
        """The advantage of each token: that of its turn."""
        value_B = step_row_values(rollout, self.scale, self.epsilon)
        return Advantages(rollout.layout.rows.spread(value_B).to(_dtype(rollout)), state)


def step_row_values(rollout: Rollout, scale: Scale, epsilon: float) -> Tensor:
    """Standardised row scores, float64; see ``StepRowAdvantage``."""
    layout, groups_B = rollout.layout, rollout.layout.row_groups()
    score_B = layout.episodes.spread(rollout.reward_E.double())
    if rollout.penalty_B is not None:
        score_B = score_B - rollout.penalty_B.double()
    value_B = standardise(score_B, groups_B, scale, epsilon)
    return torch.where(groups_B.spread(groups_B.sizes) == 1, score_B / (1 + epsilon), value_B)


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalAdvantage:
    """REINFORCE++ (arXiv 2501.03262) and its baseline form, as in OpenRLHF: whitened over all tokens of the round.

    The return of a token is R_t = sum_k discount^(k-t) reward_k over the later tokens of its episode, the reward of a
    token being -kl_coefficient (log pi_old - log pi_ref), plus the episode's reward at the last token. Then
    A_t = (R_t - mean) / sqrt(max(var, 1e-8)), mean and population variance over all tokens, so long answers count
    more. ``baseline="group"`` first subtracts the group's mean reward, the episode's own included; there is no
    group deviation.

    Raises:
        ConfigError: If a setting is out of range.
    """

    name: Literal["global"] = "global"
    baseline: Literal["none", "group"] = "none"
    kl_coefficient: float = 0.0
    discount: float = 1.0

    def __post_init__(self) -> None:
        if not self.kl_coefficient >= 0:
            raise ConfigError(f"a KL coefficient of {self.kl_coefficient}: it must be 0 or more")
        if not 0 < self.discount <= 1:
            raise ConfigError(f"a discount of {self.discount}: it must be above 0 and at most 1")

    def __call__(self, rollout: Rollout, state: State) -> Advantages:
        """The advantage of each token.

        Raises:
            ConfigError: If the reward has a KL term and there is no reference model.
        """
        episodes_T = rollout.layout.units("trajectory")
        reward_E = rollout.reward_E.double()
        if self.baseline == "group":
            reward_E = standardise(reward_E, rollout.layout.groups, "none", 0.0)
        if self.kl_coefficient == 0 and self.discount == 1:
            return_T = episodes_T.spread(reward_E)
        else:
            last_T = episodes_T.positions() == episodes_T.spread(episodes_T.sizes) - 1
            reward_T = torch.where(last_T, episodes_T.spread(reward_E), 0.0) - self._kl_cost(rollout)
            return_T = episodes_T.discounted_returns(reward_T, self.discount)
        whole = Segments(torch.zeros_like(episodes_T.index), 1)
        variance = deviation(return_T, whole, "population").square()
        value_T = (return_T - whole.mean(return_T)) * torch.rsqrt(variance.clamp(min=1e-8))
        return Advantages(value_T.to(_dtype(rollout)), state)

    def _kl_cost(self, rollout: Rollout) -> Tensor:
        old_T = rollout.old_logp_T.double()
        if self.kl_coefficient == 0:
            return torch.zeros_like(old_T)
        if rollout.reference_logp_T is None:
            raise ConfigError(
                "the advantage has a KL term, but there is no reference model: name one, or set kl_coefficient to 0"
            )
        return self.kl_coefficient * (old_T - rollout.reference_logp_T.double())


def _check_epsilon(epsilon: float) -> None:
    if not epsilon > 0:
        raise ConfigError(f"an epsilon of {epsilon} in the advantage: it must be above 0")


def _dtype(rollout: Rollout) -> torch.dtype:
    return torch.promote_types(rollout.reward_E.dtype, torch.float32)
