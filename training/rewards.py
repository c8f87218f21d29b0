"""Stage 3: shaping of the episodes' rewards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from ..envs.errors import ConfigError
from .batch import Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlongPenalty:
    """DAPO's soft punishment of long answers (arXiv 2503.14476).

    Adds min(-(n - (limit - buffer)) / buffer * factor, 0) to the reward of an episode with n response tokens: 0 up to
    limit - buffer tokens, then falling evenly to -factor at the limit.

    Raises:
        ConfigError: If a setting is out of range.
    """

    name: Literal["overlong"] = "overlong"
    limit: int = 20480
    buffer: int = 4096
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.buffer <= self.limit:
            raise ConfigError(
                f"an overlong buffer of {self.buffer} tokens: it must be above 0 and at most {self.limit}"
            )
        if not self.factor >= 0:
            raise ConfigError(f"an overlong factor of {self.factor}: it must be 0 or more")

    def __call__(self, rollout: Rollout) -> Tensor:
        """The shaped reward of each episode."""
        tokens_E = rollout.layout.units("trajectory").sizes
        excess_E = tokens_E - (self.limit - self.buffer)
        return rollout.reward_E + (-(excess_E / self.buffer) * self.factor).clamp(max=0).to(rollout.reward_E.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierReward:
    """Correctness alone, 0 or 1, without any shaping: that of the turns is left out as well, see ``shaped``."""

    name: Literal["verifier"] = "verifier"

    def __call__(self, rollout: Rollout) -> Tensor:
        """The verifier's reward of each episode."""
        return rollout.verifier_E.to(rollout.reward_E.dtype)


def shaped(rollout: Rollout, stages: Sequence[Callable[[Rollout], Tensor]]) -> Rollout:
    """The round with its rewards shaped by one stage after the other.

    Args:
        rollout: The round.
        stages: The stages. After ``VerifierReward`` statistics over turns see correctness alone too: it is the reward
            of an episode's last turn, and no turn is charged for an invalid command.
    """
    for stage in stages:
        rollout = replace(rollout, reward_E=stage(rollout))
        if isinstance(stage, VerifierReward):
            rollout = replace(rollout, step_reward_B=_at_the_end(rollout), penalty_B=None)
    return rollout


def _at_the_end(rollout: Rollout) -> Tensor:
    """An episode's reward at its last turn."""
    episodes = rollout.layout.episodes
    last_B = episodes.positions() == episodes.spread(episodes.sizes) - 1
    return torch.where(last_B, episodes.spread(rollout.reward_E), 0.0)
