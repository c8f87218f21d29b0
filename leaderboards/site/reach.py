"""Which share of a run's episodes was won within a budget: of commands, or of tokens that the model said."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...agents.trajectory import Outcome
from ...eval.results import Result

MOST_POINTS = 200
"""Points of a curve; one with more steps up is thinned, and ends where it ends."""


class Reach(NamedTuple):
    """A curve that steps up wherever an episode was won.

    Attributes:
        costs: Budgets, rising; the first is 0 and the last the most that a finished episode took.
        shares: Episodes won within the budget / finished episodes.
    """

    costs: tuple[int, ...]
    shares: tuple[float, ...]

    def at(self, budget: int) -> float:
        """The share within a budget."""
        return self.shares[bisect_right(self.costs, budget) - 1]


def within_steps(results: Sequence[Result]) -> Reach | None:
    """By commands; None without a finished episode."""
    return _reach(results, lambda result: result.steps)


def within_tokens(results: Sequence[Result]) -> Reach | None:
    """By tokens of all replies of an episode; None where no language model played or nobody counted them."""
    finished = [result for result in results if result.outcome.finished]
    if any(result.replies and result.usage is None for result in finished) or not any(r.usage for r in finished):
        return None
    return _reach(results, lambda result: 0 if result.usage is None else result.usage.generated)


def _reach(results: Sequence[Result], cost: Callable[[Result], int]) -> Reach | None:
    finished = [result for result in results if result.outcome.finished]
    if not finished:
        return None
    won = sorted(cost(result) for result in finished if result.outcome is Outcome.WON)
    points = [(0, 0.0)]
    for number, spent in enumerate(won, start=1):
        if points[-1][0] == spent:
            points.pop()
        points.append((spent, number / len(finished)))
    end = max(cost(result) for result in finished)
    if points[-1][0] < end:
        points.append((end, points[-1][1]))
    curve = Reach(tuple(spent for spent, _ in points), tuple(share for _, share in points))
    if end < MOST_POINTS:
        # A point at every budget, so that all curves can be read off at the same place.
        return Reach(tuple(range(end + 1)), tuple(curve.at(budget) for budget in range(end + 1)))
    kept = _thinned(points)
    return Reach(tuple(spent for spent, _ in kept), tuple(share for _, share in kept))


def _thinned(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    if len(points) <= MOST_POINTS:
        return list(points)
    last = len(points) - 1
    return [points[place * last // (MOST_POINTS - 1)] for place in range(MOST_POINTS)]
