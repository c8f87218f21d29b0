"""GiGPO's two-level advantage (arXiv 2505.10978): the episode's, plus that of the step among steps from one state."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..envs.errors import ConfigError
from .advantages import Advantages, Scale, State, standardise, step_row_values
from .batch import Average, Rollout
from .segments import Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class GiGPOAdvantage:
    """A = A^E + step_weight A^S.

    A^E standardises the episodes' rewards in the group: over its turns, as the authors' code does by default, or
    over its episodes. A^S standardises the discounted returns G_t = r_t + discount G_{t+1} among all turns of the
    group with the same observation (its anchor state); a turn with no companion gets A^S = 0. ``scale="unbiased"``
    is the code's mode mean_std_norm, ``"none"`` its mode mean_norm.

    Raises:
        ConfigError: If a setting is out of range.
    """

    name: Literal["gigpo"] = "gigpo"
    step_weight: float = 1.0
    discount: float = 0.95
    votes: Literal["step_rows", "episodes"] = "step_rows"
    scale: Scale = "unbiased"
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        if not 0 <= self.discount <= 1:
            raise ConfigError(f"a discount of {self.discount}: it must be between 0 and 1")
        if not self.epsilon > 0:
            raise ConfigError(f"an epsilon of {self.epsilon} in the advantage: it must be above 0")

    def __call__(self, rollout: Rollout, state: State) -> Advantages:
        """The advantage of each token: that of its turn.

        Raises:
            ValueError: If the rollout lacks step rewards or anchor states.
        """
        if rollout.step_reward_B is None or rollout.anchor_B is None:
            raise ValueError("GiGPO needs step_reward_B and anchor_B: the reward and the observation of each turn")
        layout = rollout.layout
        anchors = Segments.from_keys(torch.stack([layout.row_groups().index, rollout.anchor_B.long()], 1))
        return_B = layout.episodes.discounted_returns(rollout.step_reward_B.double(), self.discount)
        step_B = standardise(return_B, anchors, self.scale, self.epsilon)
        value_B = self._episode_part(rollout) + self.step_weight * step_B
        dtype = torch.promote_types(rollout.reward_E.dtype, torch.float32)
        shared_B = anchors.spread(anchors.sizes) > 1
        metrics = {"anchor_shared_share": Average.of(shared_B)}
        return Advantages(layout.rows.spread(value_B).to(dtype), state, metrics)

    def _episode_part(self, rollout: Rollout) -> Tensor:
        if self.votes == "step_rows":
            return step_row_values(rollout, self.scale, self.epsilon)
        layout = rollout.layout
        value_E = standardise(rollout.reward_E.double(), layout.groups, self.scale, self.epsilon)
        return layout.episodes.spread(value_E)
