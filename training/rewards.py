"""Stage 3: shaping of the episodes' rewards."""

from dataclasses import dataclass
from typing import Literal

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
    """Correctness alone, 0 or 1, without any shaping."""

    name: Literal["verifier"] = "verifier"

    def __call__(self, rollout: Rollout) -> Tensor:
        """The verifier's reward of each episode."""
        return rollout.verifier_E.to(rollout.reward_E.dtype)
