"""pass@k and its kin over the results of a run in which each task was played several times, each with its interval."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..agents.trajectory import Outcome
from ..envs.math.answers.plain import read_number
from ..envs.math.answers.tidy import squash, tidy
from .at_k import Attempts, Estimator, avg_at_k, mean_over_tasks, pass_at_k, pass_hat_k
from .bootstrap import bootstrap_rate, bootstrap_rates
from .intervals import Interval
from .majority import maj_at_k
from .results import Result
from .value import Value

_ESTIMATORS = {"pass@k": pass_at_k, "pass^k": pass_hat_k, "avg@k": avg_at_k}
MAJORITY = "maj@k"
# Up to here every k is listed, beyond it powers of two: a table of all would be as long as the samples are many.
_EVERY = 8


class Estimate(NamedTuple):
    """A number with its 95% interval."""

    value: Value
    interval: Interval


@dataclass(frozen=True, slots=True)
class AtK:
    """The numbers for one k.

    Attributes:
        k: Number of samples that one may take.
        estimates: By name: ``pass@k``, ``pass^k``, ``avg@k``, and ``maj@k`` where answers can vote. Each is a mean over
            tasks; the interval is the cluster bootstrap's.
    """

    k: int
    estimates: Mapping[str, Estimate]


class _Vote(NamedTuple):
    answers: tuple[Hashable | None, ...]
    correct: tuple[bool, ...]


def attempts(results: Iterable[Result]) -> dict[str, Attempts]:
    """For each task with finished episodes how many there are and how many of them were won."""
    samples: dict[str, int] = {}
    won: dict[str, int] = {}
    for result in results:
        if result.outcome.finished:
            samples[result.task_id] = samples.get(result.task_id, 0) + 1
            won[result.task_id] = won.get(result.task_id, 0) + (result.outcome is Outcome.WON)
    return {task_id: Attempts(count, won[task_id]) for task_id, count in samples.items()}


def listed_k(samples: int) -> list[int]:
    """Every k up to 8, then 16, 32, ... below the number of samples, and that number."""
    return [k for k in range(1, samples) if k <= _EVERY or k.bit_count() == 1] + [samples]


def at_every_k(finished: Sequence[Result], tasks: int, samples: int, *, votes: bool = False) -> tuple[AtK, ...]:
    """pass@k, pass^k, avg@k and maj@k for every k of ``listed_k``.

    Undefined for a k that some task has fewer finished samples than: leaving that task out would change what is
    measured.

    Args:
        finished: Finished episodes.
        tasks: Number of tasks, also of those without a finished episode.
        samples: Number of times that each was to be played.
        votes: Whether to give maj@k.
    """
    by_task = attempts(finished)
    played = [*by_task.values(), *[Attempts(0, 0)] * (tasks - len(by_task))]
    ballots = _ballots(finished) if votes else []
    found = []
    columns: list[list[float]] = []
    voted: list[Interval] = []
    for k in listed_k(samples):
        values = {name: mean_over_tasks(played, k, estimator) for name, estimator in _ESTIMATORS.items()}
        if values["pass@k"].defined:
            columns += [_column(played, k, estimator) for estimator in _ESTIMATORS.values()]
        if votes:
            values[MAJORITY] = values["pass@k"]
            if values[MAJORITY].defined:
                votes_won = [maj_at_k(ballot.answers, ballot.correct, k).value for ballot in ballots]
                values[MAJORITY] = Value(math.fsum(votes_won) / len(ballots))
                # By itself: votes tell tasks apart that were won equally often, so that other resamples would be drawn,
                # and pass@1 would have another interval than the success rate, which is the same number.
                voted.append(bootstrap_rate(votes_won, [1.0] * len(votes_won)))
        found.append((k, values))
    rows = list(zip(*columns, strict=True))
    intervals: Iterator[Interval] = iter(bootstrap_rates(rows, [1.0] * len(rows)) if rows else ())
    majorities = iter(voted)
    return tuple(
        AtK(
            k,
            {
                name.replace("k", str(k)): _estimate(value, majorities if name == MAJORITY else intervals)
                for name, value in values.items()
            },
        )
        for k, values in found
    )


def _column(played: Sequence[Attempts], k: int, estimator: Estimator) -> list[float]:
    """The number of each task. Few pairs of samples and wins are different, however many tasks there are."""
    worth = {task: estimator(*task, k).value for task in set(played)}
    return [worth[task] for task in played]


def _estimate(value: Value, intervals: Iterator[Interval]) -> Estimate:
    """Takes the next interval for a number that is defined."""
    if not value.defined:
        return Estimate(value, Interval(math.nan, math.nan, value.cause))
    return Estimate(value, next(intervals))


def _ballots(finished: Sequence[Result]) -> list[_Vote]:
    """The votes of each task, in the order of ``attempts``."""
    answers: dict[str, list[Hashable | None]] = {}
    correct: dict[str, list[bool]] = {}
    for result in finished:
        # By the outcome: a correct answer in a cut response may count as not won.
        right = result.answer is not None and result.outcome is Outcome.WON
        answers.setdefault(result.task_id, []).append(candidate(result.answer, right))
        correct.setdefault(result.task_id, []).append(right)
    return [_Vote(tuple(answers[task_id]), tuple(correct[task_id])) for task_id in answers]


def candidate(answer: str | None, right: bool) -> Hashable | None:
    """What an answer votes for: plain numbers by their value, other answers by their tidied text.

    Answers that are written alike but were graded differently, by a verdict that depends on more than the answer, are
    two candidates.
    """
    if answer is None:
        return None
    text = squash(tidy(answer))
    number = read_number(text)
    return (right, text) if number is None else (right, number.value)
