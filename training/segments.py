"""Ragged reductions: which part each item belongs to, and sums over the parts."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """A partition of items into numbered parts; a part may be empty.

    Attributes:
        index: The part of each item, int64, each in [0, ``count``).
        count: Number of parts.
    """

    index: Tensor
    count: int

    @classmethod
    def from_lengths(cls, lengths: Sequence[int] | Tensor) -> "Segments":
        """Makes parts of consecutive items, with this many items each."""
        lengths = torch.as_tensor(lengths, dtype=torch.int64)
        return cls(torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths), len(lengths))

    @classmethod
    def from_keys(cls, keys: Tensor) -> "Segments":
        """Puts items with equal keys into one part; parts are numbered by rising key.

        Args:
            keys: One key an item, or one row of keys an item.
        """
        unique, index = torch.unique(keys, dim=0, return_inverse=True)
        return cls(index, len(unique))

    @property
    def sizes(self) -> Tensor:
        """Number of items of each part, int64."""
        return torch.bincount(self.index, minlength=self.count)

    def sum(self, items: Tensor) -> Tensor:
        """Adds up the items of each part; an empty part gives 0."""
        return items.new_zeros(self.count).index_add(0, self.index, items)

    def mean(self, items: Tensor) -> Tensor:
        """Averages the items of each part; an empty part gives 0.

        The average is taken around the part's maximum, so equal items give exactly their value. Without that,
        a group of eight rewards of 0.1 has a deviation of 1e-9 from its own mean, which a standard deviation
        of 0 plus 1e-8 turns into an advantage.
        """
        centre = self.maximum(items, empty=0.0)
        return centre + self.sum(items - self.spread(centre)) / self.sizes.clamp(min=1)

    def maximum(self, items: Tensor, empty: float) -> Tensor:
        """Takes the largest item of each part, or ``empty``. Not meant to be differentiated."""
        start = items.new_full((self.count,), empty)
        return start.scatter_reduce(0, self.index, items.detach(), "amax", include_self=False)

    def spread(self, parts: Tensor) -> Tensor:
        """Gives each item the value of its part."""
        return parts[self.index]

    def compose(self, outer: "Segments") -> "Segments":
        """Follows a partition of the parts: items to parts to outer parts."""
        return Segments(outer.index[self.index], outer.count)

    def positions(self) -> Tensor:
        """Numbers the items within each part from 0, in the order in which they stand, int64."""
        order = torch.argsort(self.index, stable=True)
        starts = torch.cumsum(self.sizes, 0) - self.sizes
        positions = torch.empty_like(self.index)
        positions[order] = torch.arange(len(order), device=order.device) - starts[self.index[order]]
        return positions

    def discounted_returns(self, rewards: Tensor, discount: float) -> Tensor:
        """Adds to each item's reward the discounted rewards of the later items of its part.

        G_k = r_k + discount * G_{k+1}, the items of a part being in order of time.
        """
        sizes, positions = self.sizes, self.positions()
        longest = int(sizes.max()) if self.count else 0
        padded = rewards.new_zeros(longest, self.count)
        padded[positions, self.index] = rewards
        running = rewards.new_zeros(self.count)
        for step in range(longest - 1, -1, -1):
            running = padded[step] + discount * running
            padded[step] = running
        return padded[positions, self.index]
