"""How the response tokens of a batch are arranged: tokens in rows, rows in episodes, episodes in groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from .segments import Segments

Unit = Literal["turn", "trajectory"]


class LayoutSlice(NamedTuple):
    """A part of a layout, renumbered, and which entries of the whole it took, in order."""

    layout: "Layout"
    tokens: Tensor
    rows: Tensor
    episodes: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The arrangement of a batch.

    Attributes:
        rows: The row (turn) of each response token.
        episodes: The episode (trajectory) of each row; the rows of an episode stand in order of time.
        groups: The group of each episode.
    """

    rows: Segments
    episodes: Segments
    groups: Segments

    def __post_init__(self) -> None:
        for inner, outer, names in (
            (self.rows, self.episodes, "rows and episodes"),
            (self.episodes, self.groups, "episodes and groups"),
        ):
            if inner.count != len(outer.index):
                raise ValueError(f"{names} do not fit: {inner.count} parts, but {len(outer.index)} items above them")

    @classmethod
    def of_single_turns(cls, lengths: Sequence[int] | Tensor, group_size: int) -> "Layout":
        """Arranges episodes of one turn each, as in question answering.

        Args:
            lengths: Response tokens of each episode; the episodes of a group are neighbours.
            group_size: Episodes a group.

        Raises:
            ValueError: If the groups do not come out even.
        """
        rows = Segments.from_lengths(lengths)
        if rows.count % group_size:
            raise ValueError(f"{rows.count} episodes do not divide into groups of {group_size}")
        each = torch.arange(rows.count, device=rows.index.device)
        groups = Segments(each // group_size, rows.count // group_size)
        return cls(rows, Segments(each, rows.count), groups)

    def units(self, per: Unit) -> Segments:
        """The sequence of eq. 1 that each token belongs to: its turn or its whole trajectory."""
        return self.rows if per == "turn" else self.rows.compose(self.episodes)

    def row_groups(self) -> Segments:
        """The group of each row."""
        return self.episodes.compose(self.groups)

    def take(self, rows: Tensor) -> LayoutSlice:
        """Cuts out some rows. They keep the order that they have here, in whatever order they are named.

        Args:
            rows: Numbers of the rows to keep, each at most once.
        """
        keep_B = torch.zeros(self.rows.count, dtype=torch.bool, device=self.rows.index.device)
        keep_B[rows] = True
        if int(keep_B.sum()) != len(rows):
            raise ValueError("a row is named twice")
        kept_T = keep_B[self.rows.index].nonzero().squeeze(1)
        kept_B = keep_B.nonzero().squeeze(1)
        renumber_B = torch.cumsum(keep_B, 0) - 1
        kept_E, episode_B = torch.unique(self.episodes.index[kept_B], return_inverse=True)
        layout = Layout(
            rows=Segments(renumber_B[self.rows.index[kept_T]], len(kept_B)),
            episodes=Segments(episode_B, len(kept_E)),
            groups=Segments.from_keys(self.groups.index[kept_E]),
        )
        return LayoutSlice(layout, kept_T, kept_B, kept_E)

    def rows_of(self, episodes: Sequence[int]) -> Tensor:
        """Numbers of the rows of some episodes, in order."""
        keep_E = torch.zeros(self.episodes.count, dtype=torch.bool, device=self.rows.index.device)
        keep_E[list(episodes)] = True
        return self.episodes.spread(keep_E).nonzero().squeeze(1)

    def cuts_episode(self, rows: Tensor) -> bool:
        """Whether some episode has rows both among the given ones and outside them."""
        taken_E = torch.bincount(self.episodes.index[rows], minlength=self.episodes.count)
        return bool(((taken_E > 0) & (taken_E < self.episodes.sizes)).any())
