"""The advantage collapse rate over the rounds of a run (AVSPO, arXiv 2605.21125)."""

from collections.abc import Mapping
from typing import NamedTuple

from .advantages import State

WINDOW = 50
"""Rounds over which the log averages the rate: the paper warns of a rate above 0.35 for more than 50 steps."""


class CollapseMemory(NamedTuple):
    """The rates of the last rounds, and what the log should show."""

    state: State
    metrics: Mapping[str, float]


def remember_collapse(rate: float, round: int, state: State) -> CollapseMemory:
    """Adds the rate of a round to those of the last ``WINDOW`` rounds, and averages over them.

    Args:
        rate: Share of the round's groups whose verifier rewards are all alike.
        round: Number of the round.
        state: The rates before, by round.
    """
    rates = {number: one for number, one in state.items() if int(number) > round - WINDOW} | {str(round): rate}
    return CollapseMemory(rates, {f"collapsed_groups_{WINDOW}": sum(rates.values()) / len(rates)})
