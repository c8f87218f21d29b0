"""maj@k: how often the answer that most of k samples give is right."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

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
        ValueError: If the lengths differ, ``k`` is not positive, equal answers have different verdicts, an absent
            answer is called correct, or there are more than ``MOST_SAMPLES`` samples.
    """
    votes, right = _candidates(answers, correct)
    samples = len(answers)
    if k < 1:
        raise ValueError(f"k is {k}: it counts samples, from 1")
    if samples > MOST_SAMPLES:
        raise ValueError(f"{samples} samples: at most {MOST_SAMPLES} can vote")
    if samples < k:
        return Value.undefined(f"{samples} samples are fewer than k = {k}")
    absent = samples - sum(votes.values())
    share = 0.0
    for answer in right:
        others = [size for other, size in votes.items() if other != answer]
        share += sum(
            math.comb(votes[answer], height) * _wins(height, others, absent, k - height)
            for height in range(1, min(votes[answer], k) + 1)
        )
    return Value(min(1.0, share / math.comb(samples, k)))


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
    ``ways_TL[t, l]`` counts the ways to draw l samples so far with t ties.
    """
    most_ties = left // height
    ways_TL = np.zeros((most_ties + 1, left + 1))  # noqa: N806
    ways_TL[0] = _binomials(absent, left)
    for size in others:
        below = _binomials(size, min(height - 1, left))
        ways_TL = _add(ways_TL, below, math.comb(size, height) if size >= height else 0, height)  # noqa: N806
    return float((ways_TL[:, left] / np.arange(1, most_ties + 2)).sum())


def _add(
    ways_TL: NDArray[np.float64],  # noqa: N803
    below: NDArray[np.float64],
    ties: int,
    height: int,
) -> NDArray[np.float64]:
    """Adds one more answer: fewer than ``height`` votes for it, or exactly so many."""
    rows, columns = ways_TL.shape
    after = np.stack([np.convolve(row, below)[:columns] for row in ways_TL])
    if ties and rows > 1:
        after[1:, height:] += ties * ways_TL[:-1, : columns - height]
    return after


def _binomials(size: int, most: int) -> NDArray[np.float64]:
    """Ways to draw 0, 1, ..., ``most`` of ``size`` samples."""
    return np.array([float(math.comb(size, drawn)) for drawn in range(most + 1)])
