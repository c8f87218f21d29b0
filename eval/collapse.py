"""The advantage collapse rate (ACR) of AVSPO (arXiv 2605.21125): how many groups have nothing to compare.

A group is the episodes of one task. Where all are won or all are lost, every advantage of GRPO is 0. Correctness is 0
or 1, so a deviation below the paper's 1e-6 means just that.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..agents.trajectory import Outcome
from .results import Result

STAGNATION, STAGNATION_ROUNDS = 0.35, 50
EARLY, EARLY_ROUNDS, EARLY_ACCURACY = 0.50, 100, 0.35
UNSTEADY, UNSTEADY_ROUNDS = 0.15, 25


class Collapse(NamedTuple):
    """The groups of an evaluation.

    Attributes:
        groups: Tasks with two finished samples or more.
        wrong: Those of which no sample was won.
        right: Those of which all were.
        lonely: Tasks with fewer finished samples, which are left out.
    """

    groups: int
    wrong: int
    right: int
    lonely: int

    @property
    def rate(self) -> float:
        """ACR; NaN without groups."""
        return (self.wrong + self.right) / self.groups if self.groups else math.nan


class Finding(NamedTuple):
    """What the paper reports of runs like its own, held against a run. None of it is a law.

    Attributes:
        measured: What was measured, in words.
        value: The number; NaN where the run is too short.
        threshold: The paper's.
        reported: What the paper says of runs above it.
    """

    measured: str
    value: float
    threshold: float
    reported: str

    @property
    def above(self) -> bool:
        """Whether the run is above the threshold."""
        return self.value > self.threshold


def collapse_of(results: Iterable[Result]) -> Collapse:
    """Counts the collapsed groups of an evaluation with several samples a task; failed episodes are left out."""
    won: dict[str, list[bool]] = {}
    for one in results:
        if one.outcome.finished:
            won.setdefault(one.task_id, []).append(one.outcome is Outcome.WON)
    groups = [group for group in won.values() if len(group) >= 2]
    wrong = sum(not any(group) for group in groups)
    return Collapse(len(groups), wrong, sum(all(group) for group in groups), len(won) - len(groups))


def findings(rates: Sequence[float]) -> list[Finding]:
    """Holds the rates of a run's rounds against the thresholds of the paper.

    Args:
        rates: ACR of each round, in order.
    """
    early = rates[:EARLY_ROUNDS]
    return [
        Finding(
            f"longest stretch of rounds above {STAGNATION:.2f}",
            float(_longest(rates, STAGNATION)),
            STAGNATION_ROUNDS,
            "no further progress",
        ),
        Finding(
            f"mean over the first {EARLY_ROUNDS} rounds",
            sum(early) / EARLY_ROUNDS if len(early) == EARLY_ROUNDS else math.nan,
            EARLY,
            f"an accuracy above {EARLY_ACCURACY:.0%} was rare",
        ),
        Finding(
            f"largest deviation over {UNSTEADY_ROUNDS} rounds",
            max(map(_deviation, _windows(rates, UNSTEADY_ROUNDS)), default=math.nan),
            UNSTEADY,
            "2.3 times as many runs diverged",
        ),
    ]


def windowed(rates: Sequence[float], window: int) -> list[float]:
    """The mean over the last ``window`` rounds, at each round."""
    return [sum(rates[max(0, end - window) : end]) / min(end, window) for end in range(1, len(rates) + 1)]


def _windows(rates: Sequence[float], length: int) -> list[Sequence[float]]:
    return [rates[end - length : end] for end in range(length, len(rates) + 1)]


def _longest(rates: Sequence[float], threshold: float) -> int:
    longest = length = 0
    for rate in rates:
        length = length + 1 if rate > threshold else 0
        longest = max(longest, length)
    return longest


def _deviation(rates: Sequence[float]) -> float:
    mean = sum(rates) / len(rates)
    return math.sqrt(sum((rate - mean) ** 2 for rate in rates) / len(rates))
