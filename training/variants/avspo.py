"""AVSPO: virtual rewards give an advantage to groups whose rewards are all alike (arXiv 2605.21125)."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from ...envs.errors import ConfigError
from ..advantages import COLLAPSED, Advantages, Scale, State, collapse_rate, deviation, standardise
from ..batch import Average, Rollout

Mode = Literal["icml", "www", "code"]

# How near a product has to be to a whole number to be one: 9 x sqrt(1/9) is 3.
_ROUNDING = 1e-9


class _Statistics(NamedTuple):
    """Mean and deviation of each group."""

    mean_P: Tensor
    deviation_P: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualSampleAdvantage:
    """GRPO's advantage; a collapsed group is compared with K virtual rewards as well.

    A group is collapsed when the population deviation of its verifier rewards is below 1e-6, and ACR is the share of
    collapsed groups. Where ACR exceeds the threshold, a collapsed group of G episodes gets

        K = max(1, min(G, ceil(G ACR^alpha))) virtual rewards, and A = (r - mean') / (std' + epsilon) over all G + K.

    | mode | virtual rewards of an all-correct group, k = 1 ... K | of an all-wrong group | source |
    |---|---|---|---|
    | ``icml`` | r (1 - k / (K + 1)) | anchor (K - k + 1) / K | ICML text, second hand |
    | ``www`` | r (1 - (k - 1) / K) | none: it stays collapsed | earlier version of the paper |
    | ``code`` | one 0 | one 1; both only when all rewards of the round are alike | repository |

    All episodes of a repaired group get the same advantage, and the value of ``anchor`` cancels unless there is no
    scale. After each round threshold += rate sign(J - J_before) (ACR - threshold), kept within 0.1 and 0.9, where J is
    the mean verifier reward of the policy's own episodes. ``code`` has no threshold.

    A and the virtual rewards are of the reward that is trained on; collapse and ACR are of the verifier's. The sources
    know no other reward than 0 and 1, of which r, their largest reward of the group, is 1. Of shaped rewards that would
    push a group away for being right, where its best episode is paid less than 0, or where the others are paid much
    less than the best. So, of our own [X], virtual rewards are on the far side of all real ones, whatever these are,
    and an all-correct group is drawn nearer and an all-wrong one pushed away on average:

    - r is the smallest reward of the group. Where it is 0 or less, the virtual rewards are r - anchor (K - k + 1) / K,
      the mirror image of an all-wrong group.
    - Those of an all-wrong group begin above its best episode where that is paid more than 0.
    - The one of ``code`` is at least ``anchor`` below the smallest, or above the largest.

    Attributes:
        mode: As above.
        alpha: Exponent of ACR.
        threshold: The threshold before the first round; 1 never repairs a group and turns the method off.
        rate: eta, how fast the threshold moves; 0 leaves it where it is, even outside 0.1 and 0.9 [X].
        anchor: Largest virtual reward of an all-wrong group that is paid nothing.
        window: Rounds over which ACR is averaged [X]; 1 takes the round alone. The reported mean K of 3.4 at one
            group a step cannot come from single rounds, whose ACR is 0 or 1.
        scale, epsilon: As in ``GroupAdvantage``; the authors' code has ``unbiased`` and 1e-4.

    Raises:
        ConfigError: If a setting is out of range.
    """

    name: Literal["avspo"] = "avspo"
    mode: Mode = "icml"
    alpha: float = 0.5
    threshold: float = 0.5
    rate: float = 0.01
    anchor: float = 0.1
    window: int = 1
    scale: Scale = "population"
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ConfigError(f"an epsilon of {self.epsilon} in the advantage: it must be above 0")
        if not (0 <= self.threshold <= 1 and 0 <= self.rate <= 1):
            raise ConfigError(f"a threshold of {self.threshold} that moves by {self.rate}: both must be within 0 and 1")
        if not self.alpha > 0 or self.window < 1 or not self.anchor > 0:
            raise ConfigError("alpha and anchor of AVSPO must be above 0, and its window at least 1 round")

    def __call__(self, rollout: Rollout, state: State) -> Advantages:
        """The advantage of each token: that of its episode."""
        groups = rollout.layout.groups
        reward_E = rollout.reward_E.double()
        collapsed_P = deviation(rollout.verifier_E.double(), groups, "population") < COLLAPSED
        rates = _rates(state, float(collapse_rate(rollout).value), self.window)
        acr = sum(rates) / len(rates)
        threshold = state.get("threshold", self.threshold)
        repaired_P = self._triggered(rollout, acr, threshold) & collapsed_P
        if self.mode == "www":
            repaired_P = repaired_P & _all_right(rollout)
        value_E = standardise(reward_E, groups, self.scale, self.epsilon)
        number_P = self._number(groups.sizes, acr)
        if bool(repaired_P.any()):
            found = self._with_virtual(rollout, reward_E, number_P)
            repaired_E = reward_E - groups.spread(found.mean_P)
            if self.scale != "none":
                repaired_E = repaired_E / (groups.spread(found.deviation_P) + self.epsilon)
            value_E = torch.where(groups.spread(repaired_P), repaired_E, value_E)
        dtype = torch.promote_types(rollout.reward_E.dtype, torch.float32)
        metrics = {
            "avspo_acr": Average.of(torch.tensor([acr], dtype=torch.float64)),
            "repaired_groups": Average.of(repaired_P),
            "virtual_samples": Average.of(torch.where(repaired_P, number_P, 0).double()),
        }
        if self.mode != "code":
            metrics["avspo_threshold"] = Average.of(torch.tensor([threshold], dtype=torch.float64))
        after = self._after(rollout, acr, rates, threshold, state)
        return Advantages(rollout.layout.units("trajectory").spread(value_E).to(dtype), after, metrics)

    def _triggered(self, rollout: Rollout, acr: float, threshold: float) -> Tensor:
        """Whether collapsed groups are repaired in this round."""
        if self.mode == "code":
            return (rollout.verifier_E == rollout.verifier_E[0]).all() & torch.tensor(self.threshold < 1)
        return torch.tensor(acr > threshold)

    def _number(self, sizes_P: Tensor, acr: float) -> Tensor:
        """K of each group."""
        if self.mode == "code":
            return torch.ones_like(sizes_P)
        wanted_P = torch.ceil(sizes_P.double() * acr**self.alpha - _ROUNDING).long()
        return torch.minimum(wanted_P, sizes_P).clamp(min=1)

    def _with_virtual(self, rollout: Rollout, reward_E: Tensor, number_P: Tensor) -> _Statistics:
        """Mean and deviation of each group with its virtual rewards."""
        groups = rollout.layout.groups
        smallest_P, largest_P = -groups.maximum(-reward_E, empty=0.0), groups.maximum(reward_E, empty=0.0)
        most = int(number_P.max())
        k_K = torch.arange(1, most + 1, dtype=torch.float64)
        right_P_K = self._below(k_K, number_P.double()[:, None], smallest_P[:, None])
        wrong_P_K = self._above(k_K, number_P.double()[:, None], largest_P[:, None])
        virtual_P_K = torch.where(_all_right(rollout)[:, None], right_P_K, wrong_P_K)
        present_P_K = (k_K <= number_P[:, None]).double()
        total_P = groups.sizes + number_P
        mean_P = (groups.sum(reward_E) + (present_P_K * virtual_P_K).sum(1)) / total_P
        squares_P = groups.sum((reward_E - groups.spread(mean_P)).square())
        squares_P = squares_P + (present_P_K * (virtual_P_K - mean_P[:, None]).square()).sum(1)
        divisor_P = total_P - 1 if self.scale == "unbiased" else total_P
        return _Statistics(mean_P, torch.sqrt(squares_P / divisor_P.clamp(min=1)))

    def _below(self, k_K: Tensor, number: Tensor, smallest: Tensor) -> Tensor:
        """The virtual rewards of all-correct groups: a row a group, a column for each k."""
        if self.mode == "code":
            return (smallest - self.anchor).clamp(max=0) + torch.zeros_like(k_K)
        share = k_K / (number + 1) if self.mode == "icml" else (k_K - 1) / number
        return torch.where(smallest > 0, smallest * (1 - share), smallest - self._steps(k_K, number))

    def _above(self, k_K: Tensor, number: Tensor, largest: Tensor) -> Tensor:
        """The virtual rewards of all-wrong groups, likewise."""
        if self.mode == "code":
            return (largest + self.anchor).clamp(min=1) + torch.zeros_like(k_K)
        return largest.clamp(min=0) + self._steps(k_K, number)

    def _steps(self, k_K: Tensor, number: Tensor) -> Tensor:
        return self.anchor * (number - k_K + 1) / number

    def _after(
        self, rollout: Rollout, acr: float, rates: list[float], threshold: float, state: State
    ) -> dict[str, float]:
        """What is remembered: the threshold for the next round, J, and the rates that the window still holds."""
        if self.mode == "code" or self.threshold == 1:
            return {}
        kept = rates[-(self.window - 1) :] if self.window > 1 else []
        after = {f"acr {place}": rate for place, rate in enumerate(kept)}
        own_E = rollout.verifier_E.double()[rollout.learner_E]
        before = state.get("performance")
        if not len(own_E):
            return after | {"threshold": threshold} | ({} if before is None else {"performance": before})
        now = float(own_E.mean())
        sign = 0.0 if before is None or now == before else math.copysign(1.0, now - before)
        if self.rate > 0:
            threshold = min(0.9, max(0.1, threshold + self.rate * sign * (acr - threshold)))
        return after | {"threshold": threshold, "performance": now}


def _all_right(rollout: Rollout) -> Tensor:
    """Whether all episodes of each group are correct, given that they are alike."""
    return rollout.layout.groups.maximum(rollout.verifier_E.double(), empty=0.0) > 0


def _rates(state: State, rate: float, window: int) -> list[float]:
    """ACR of the last rounds and of this one, in order."""
    before = [state[f"acr {place}"] for place in range(window - 1) if f"acr {place}" in state]
    return [*before, rate]
