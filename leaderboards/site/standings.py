"""Ranks of runs by paired tests, with the runs that cannot be told apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from ...envs.wording import counted
from ...eval.at_k import Attempts
from ...eval.compare import ALPHA
from ...eval.conditions import Mismatch, mismatches, sampling_differences
from ...eval.pairing import Paired, pair
from ...eval.repeated import attempts
from ...eval.run import Run
from ...eval.significance import holm
from ...eval.value import Value
from .letters import tie_letters

RULE = (
    "Two runs are told apart by a paired test over the tasks that both finished: McNemar's exact test where each task "
    "was played once by both, else a permutation test that lets whole tasks change sides. All pairs of a ranking are "
    "one "
    f"family: p-values are corrected by Holm's method, and below {ALPHA:g} two runs count as different. A run's rank "
    "is one "
    "more than the number of runs that win more often than it by this rule. Runs that share a letter cannot be told "
    "apart; runs of one rank are a tie, whatever their rates. Failed episodes (error or timeout) are left out."
)


class Pairing(NamedTuple):
    """Two runs of a ranking.

    Attributes:
        paired: The paired comparison, or None where the two were played under conditions that forbid it.
        adjusted_p: Its p-value after Holm's correction over the ranking; undefined where there is none.
        mismatches: Conditions that differ, which forbid a comparison.
        sampling: Settings of the agents that differ, which a reader must know of.
    """

    paired: Paired | None
    adjusted_p: Value
    mismatches: tuple[Mismatch, ...]
    sampling: tuple[Mismatch, ...]

    @property
    def different(self) -> bool:
        """Whether the two can be told apart."""
        return self.adjusted_p.defined and self.adjusted_p.value < ALPHA

    @property
    def better(self) -> int:
        """1 if the first wins more often, -1 if the second does, 0 if that cannot be told."""
        if self.paired is None or not self.different or not self.paired.difference.value:
            return 0
        return 1 if self.paired.difference.value < 0 else -1


@dataclass(frozen=True)
class Standings:
    """The ranking of a pool.

    Attributes:
        ranks: Of each run, from 1; None for a run that has finished no episode.
        letters: Of each run; runs that share one cannot be told apart. None where that cannot be written in letters.
        pairings: By the numbers of the two runs, the smaller one first.
    """

    ranks: tuple[int | None, ...]
    letters: tuple[str, ...] | None
    pairings: Mapping[tuple[int, int], Pairing]

    @property
    def tests(self) -> int:
        """Number of pairs that were tested."""
        return sum(found.adjusted_p.defined for found in self.pairings.values())

    def of(self, first: int, second: int) -> Pairing:
        """The pairing of two runs, whichever is first in the ranking."""
        return self.pairings[min(first, second), max(first, second)]


def rank_runs(runs: Sequence[Run]) -> Standings:
    """Tests all pairs of runs and ranks them.

    Args:
        runs: Of one pool, best first.
    """
    played = [attempts(run.results) for run in runs]
    pairs = list(combinations(range(len(runs)), 2))
    raw = {(i, j): _paired(runs[i], runs[j], played[i], played[j]) for i, j in pairs}
    tested = [key for key, found in raw.items() if found.adjusted_p.defined]
    adjusted = holm([raw[key].adjusted_p.value for key in tested])
    pairings = raw | {key: raw[key]._replace(adjusted_p=Value(p)) for key, p in zip(tested, adjusted, strict=True)}
    beaten = [0] * len(runs)
    for (i, j), found in pairings.items():
        beaten[j] += found.better == 1
        beaten[i] += found.better == -1
    with_rate = [number for number, done in enumerate(played) if done]
    ranks = tuple(beaten[number] + 1 if played[number] else None for number in range(len(runs)))
    return Standings(ranks, _letters(len(runs), with_rate, pairings), pairings)


def _paired(first: Run, second: Run, one: Mapping[str, Attempts], other: Mapping[str, Attempts]) -> Pairing:
    differing = mismatches(first, second)
    sampling = sampling_differences(first, second)
    if differing:
        return Pairing(None, Value.undefined("played under different conditions"), differing, sampling)
    draws = {task.id: first.panel.draws_of(number) for number, task in enumerate(first.panel.tasks)}
    paired = pair(one, other, tasks=len(first.panel.tasks), draws=draws)
    return Pairing(paired, paired.p, (), sampling)


def _letters(
    count: int, with_rate: Sequence[int], pairings: Mapping[tuple[int, int], Pairing]
) -> tuple[str, ...] | None:
    """Letters of the runs that have a rate. Two that were not compared share none."""
    places = {number: place for place, number in enumerate(with_rate)}
    apart = [
        (places[i], places[j])
        for (i, j), found in pairings.items()
        if i in places and j in places and (found.different or not found.adjusted_p.defined)
    ]
    found = tie_letters(len(with_rate), apart)
    return None if found is None else tuple(found[places[n]] if n in places else "" for n in range(count))


def why_not_compared(found: Pairing) -> str:
    """Why there is no test of two runs, or nothing."""
    if found.mismatches:
        return "; ".join(map(str, found.mismatches))
    return found.adjusted_p.cause


def left_out_note(found: Pairing) -> str:
    """How many tasks a test could not use, or nothing."""
    if found.paired is None or not found.paired.left_out:
        return ""
    return f"{counted(found.paired.left_out, 'task')} left out that one of the two has not finished"
