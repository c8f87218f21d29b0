"""Stage 4: which groups of a rollout are trained on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..agents.trajectory import Outcome, Trajectory
from ..envs.errors import ConfigError
from .advantages import COLLAPSED, deviation
from .batch import Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class DropUniformGroups:
    """DAPO's dynamic sampling (arXiv 2503.14476): drops the groups whose verifier rewards are all alike.

    Such a group has no advantage. Further batches of tasks are played until as many groups as a batch has are left,
    and the first of these are trained on. Where that takes more than ``max_rounds`` batches, the authors' code ends the
    run; here the round is trained on what is left [X].

    Attributes:
        max_rounds: Most batches of a round, the first included; 10 in the authors' recipe, and 1 refills nothing.

    Raises:
        ConfigError: If ``max_rounds`` is below 1.
    """

    name: Literal["drop_uniform"] = "drop_uniform"
    max_rounds: int = 10

    def __post_init__(self) -> None:
        if self.max_rounds < 1:
            raise ConfigError(f"selection.max_rounds is {self.max_rounds}: it must be 1 or more")

    @property
    def batches(self) -> int:
        """Most batches of tasks that a round plays."""
        return self.max_rounds

    def left(self, groups: Sequence[Sequence[Trajectory]]) -> int:
        """How many groups of episodes are not dropped. Episodes that failed, or have no turn, are in none."""
        won = [{one.outcome is Outcome.WON for one in group if one.outcome.finished and one.turns} for group in groups]
        return sum(len(kinds) > 1 for kinds in won)

    def __call__(self, rollout: Rollout, wanted: int | None = None) -> Tensor:
        """Which episodes to keep, one truth value an episode.

        Args:
            rollout: The round.
            wanted: Groups of a batch: the first so many are kept, of those that are left, or of all if none is; None
                keeps all that are left.
        """
        groups = rollout.layout.groups
        left_P = deviation(rollout.verifier_E.double(), groups, "population") >= COLLAPSED
        if wanted is None:
            return groups.spread(left_P)
        left_P = left_P if bool(left_P.any()) else torch.ones_like(left_P)
        return groups.spread(left_P & (left_P.cumsum(0) <= wanted))
