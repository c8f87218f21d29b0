"""Random draws that are the same on every machine and with every Python version."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


class Dice:
    """Draws for the game generator, fixed by a key.

    Only ``random.Random.random()`` is used: it is the one method whose sequence for a given integer seed the
    standard library promises to keep. Every other draw is made of it here with exact arithmetic.

    Args:
        key: What the draws are for, for example a seed and an attempt. Equal keys give equal draws.
    """

    def __init__(self, *key: str | int | float) -> None:
        text = "\t".join([repr(part) for part in key])
        self._random = random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))

    def below(self, bound: int) -> int:
        """An integer in ``[0, bound)``, each equally likely."""
        return int(self._random.random() * bound)

    def between(self, low: int, high: int) -> int:
        """An integer in ``[low, high]``, each equally likely."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True in ``percent`` of 100 cases."""
        return self.below(100) < percent

    def pick(self, items: Sequence[_Item]) -> _Item:
        """One of the items, each equally likely."""
        return items[self.below(len(items))]

    def weighted(self, weights: Mapping[_Item, int]) -> _Item:
        """One of the keys, as likely as its weight; the order of the mapping counts, and it has a positive sum."""
        left = self.below(sum(weights.values()))
        for item, weight in weights.items():
            left -= weight
            if left < 0:
                return item
        raise ValueError("the weights have no positive sum")

    def shuffled(self, items: Sequence[_Item]) -> list[_Item]:
        """The items in random order, each order equally likely."""
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed
