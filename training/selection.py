"""Stage 4: which groups of a rollout are trained on."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from .advantages import COLLAPSED, deviation
from .batch import Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class DropUniformGroups:
    """DAPO's dynamic sampling (arXiv 2503.14476): drops the groups whose verifier rewards are all alike.

    Such a group has no advantage. The authors refill the batch with new groups; the trainer here does not, so a round
    is trained on the groups that are left.

    Attributes:
        max_rounds: How often a batch is refilled at most, in the authors' recipe 10. It is recorded for who refills,
            and has no effect here.
    """

    name: Literal["drop_uniform"] = "drop_uniform"
    max_rounds: int = 10

    def __call__(self, rollout: Rollout) -> Tensor:
        """Which episodes to keep, one truth value an episode."""
        groups = rollout.layout.groups
        return groups.spread(deviation(rollout.verifier_E.double(), groups, "population") >= COLLAPSED)
