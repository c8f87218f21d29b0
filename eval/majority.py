"""maj@k: how often the answer that most of k samples give is right."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .value import Value

# Above it C(n, k) no longer fits into a float.
MOST_SAMPLES = 1000


def maj_at_k(answers: Sequence[Hashable | None], correct: Sequence[bool], k: int) -> Value:
    """Probability that a vote among k samples of a task gives a correct answer.

    It is the exact mean over all subsets of k of the n samples. Where several answers have the most votes, each of
    them is taken with the same probability. Self-consistency: Wang et al. 2022.

    Args:
        answers: What each sample answered; equal answers are one candidate. None is no answer and no vote: where all
            k samples give none, the vote fails.
        correct: Whether each sample's answer is correct.
        k: Number of samples that vote.

    Raises:
        ValueError: If the lengths differ, ``k`` is not positive, equal answers have different verdicts, or an
            absent answer is called correct.
    """
    votes, right = _candidates(answers, correct)
    samples = len(answers)
    if k < 1:
        raise ValueError(f"k is {k}: it counts samples, from 1")
    if samples > MOST_SAMPLES:
        return Value.undefined(f"{samples} samples are more than the {MOST_SAMPLES} whose votes can be counted exactly")
    if samples < k:
        return Value.undefined(f"{samples} samples are fewer than k = {k}")
    sizes_right = tuple(sorted(votes[answer] for answer in right))
    sizes_wrong = tuple(sorted(size for answer, size in votes.items() if answer not in right))
    return Value(_share(sizes_right, sizes_wrong, samples - sum(votes.values()), k))


@lru_cache(maxsize=100_000)
def _share(right: tuple[int, ...], wrong: tuple[int, ...], absent: int, k: int) -> float:
    """Share of votes that are right, given how many samples gave each right answer, each wrong one, and none."""
    samples = sum(right) + sum(wrong) + absent
    share = 0.0
    for number, size in enumerate(right):
        others = (*right[:number], *right[number + 1 :], *wrong)
        share += sum(
            math.comb(size, height) * _wins(height, others, absent, k - height) for height in range(1, min(size, k) + 1)
        )
    return min(1.0, share / math.comb(samples, k))


def _candidates(answers: Sequence[Hashable | None], correct: Sequence[bool]) -> tuple[Counter[Hashable], set[Hashable]]:
    """How many samples gave each answer, and which answers are correct."""
    if len(answers) != len(correct):
        raise ValueError(f"{len(answers)} answers and {len(correct)} verdicts")
    votes: Counter[Hashable] = Counter()
    verdicts: dict[Hashable, bool] = {}
    for answer, verdict in zip(answers, correct, strict=True):
        if answer is None:
            if verdict:
                raise ValueError("an absent answer cannot be correct")
            continue
        votes[answer] += 1
        if verdicts.setdefault(answer, verdict) != verdict:
            raise ValueError(f"the answer {answer!r} is called both correct and not")
    return votes, {answer for answer, verdict in verdicts.items() if verdict}


def _wins(height: int, others: Sequence[int], absent: int, left: int) -> float:
    """Ways to draw ``left`` samples so that no other answer has more than ``height`` votes.

    A way in which t others reach that height counts as 1 / (1 + t): it is the chance to be taken among the tied.
    ``ways_TL[t, l]`` counts the ways to draw l samples so far with t ties. Answers with fewer samples than ``height``
    cannot tie, so they are one pool with the samples that gave none.
    """
    most_ties = left // height
    ways_TL = np.zeros((most_ties + 1, left + 1))  # noqa: N806
    ways_TL[0] = _binomials(absent + sum(size for size in others if size < height), left)
    for size in others:
        if size >= height:
            below = _binomials(size, min(height - 1, left))
            ways_TL = _add(ways_TL, below, math.comb(size, height), height)  # noqa: N806
    return float((ways_TL[:, left] / np.arange(1, most_ties + 2)).sum())


def _add(
    ways_TL: NDArray[np.float64],  # noqa: N803
    below: NDArray[np.float64],
    ties: int,
    height: int,
) -> NDArray[np.float64]:
    """Adds one more answer: fewer than ``height`` votes for it, or exactly so many."""
    rows, columns = ways_TL.shape
    if rows < len(below):
        after = np.stack([np.convolve(row, below)[:columns] for row in ways_TL])
    else:
        after = below[0] * ways_TL
        for votes in range(1, len(below)):
            after[:, votes:] += below[votes] * ways_TL[:, : columns - votes]
    if rows > 1:
        after[1:, height:] += ties * ways_TL[:-1, : columns - height]
    return after


@lru_cache(maxsize=10_000)
def _binomials(size: int, most: int) -> NDArray[np.float64]:
    """Ways to draw 0, 1, ..., ``most`` of ``size`` samples. Not to be written to."""
    return np.array([float(math.comb(size, drawn)) for drawn in range(most + 1)])
