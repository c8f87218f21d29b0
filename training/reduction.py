"""Stage 9: how much each unit counts in the loss. Worked out over the whole mini-batch, before it is cut up."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..envs.errors import ConfigError
from .layout import Layout, Unit
from .segments import Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """The weights c_u of a loss sum_u c_u L_u, L_u being the mean over the unit's tokens.

    With U units that have tokens, n_u tokens in unit u and N tokens in all:

    | over | c_u | used by |
    |---|---|---|
    | ``units`` | 1/U | GRPO, GSPO, GMPO, HölderPO |
    | ``tokens`` | n_u/N | DAPO, verl's default |
    | ``trajectories`` | 1/(E k), k units in the trajectory, E trajectories | one vote an episode |
    | ``constant_length`` | n_u/(``length`` U) | Dr.GRPO |

    A unit without tokens counts nowhere, so rows that only fill up a batch change nothing.

    Raises:
        ConfigError: If ``length`` is missing, not positive, or given where it has no effect.
    """

    over: Literal["units", "tokens", "trajectories", "constant_length"] = "units"
    length: int | None = None

    def __post_init__(self) -> None:
        if self.over == "constant_length" and (self.length is None or self.length < 1):
            raise ConfigError("the reduction 'constant_length' needs a length of at least 1 token")
        if self.over != "constant_length" and self.length is not None:
            raise ConfigError(f"the reduction {self.over!r} has no length")

    def __call__(self, layout: Layout, per: Unit) -> Tensor:
        """The share c_u / n_u of each token, float64: what a term that is one number a token is multiplied by.

        Args:
            layout: The whole mini-batch, over all processes.
            per: What a unit is.
        """
        units = layout.units(per)
        size_U = units.sizes.double()
        present_U = size_U > 0
        match self.over:
            case "units":
                share_U = present_U.double() / present_U.sum().clamp(min=1)
            case "tokens":
                share_U = size_U / size_U.sum().clamp(min=1)
            case "trajectories":
                trajectories = _trajectories(layout, per)
                each_E = torch.bincount(trajectories.index[present_U], minlength=trajectories.count).double()
                share_U = 1 / (trajectories.spread(each_E).clamp(min=1) * (each_E > 0).sum().clamp(min=1))
            case "constant_length":
                assert self.length is not None
                share_U = size_U / (self.length * present_U.sum().clamp(min=1))
        return units.spread(share_U / size_U.clamp(min=1))


def _trajectories(layout: Layout, per: Unit) -> Segments:
    """The trajectory of each unit."""
    if per == "turn":
        return layout.episodes
    return Segments(torch.arange(layout.episodes.count, device=layout.rows.index.device), layout.episodes.count)
