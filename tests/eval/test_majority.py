"""maj@k against an enumeration of every subset and every way to break its ties."""

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest
from holdergym.eval.majority import MOST_SAMPLES, maj_at_k


def enumerated(answers: list[str | None], right: set[str], k: int) -> Fraction:
    total = Fraction(0)
    subsets = list(combinations(answers, k))
    for subset in subsets:
        votes = Counter(answer for answer in subset if answer is not None)
        if votes:
            leaders = [answer for answer, count in votes.items() if count == max(votes.values())]
            total += Fraction(sum(answer in right for answer in leaders), len(leaders))
    return total / len(subsets)


@pytest.mark.parametrize("seed", range(40))
def test_equal_to_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randrange(1, 10)
    answers = [rng.choice(["a", "b", "c", "d", None]) for _ in range(n)]
    right = set(rng.sample("abcd", rng.randrange(3)))
    for k in range(1, n + 1):
        value = maj_at_k(answers, [answer in right for answer in answers], k).value
        assert value == pytest.approx(float(enumerated(answers, right, k)), abs=1e-12)


def test_one_vote_is_the_success_rate_and_all_votes_are_the_plain_vote() -> None:
    answers = ["7"] * 5 + ["8"] * 4 + ["9"] * 3
    assert maj_at_k(answers, [answer == "7" for answer in answers], 1).value == pytest.approx(5 / 12)
    assert maj_at_k(answers, [answer == "7" for answer in answers], 12).value == pytest.approx(1.0)
    assert maj_at_k(answers, [answer == "8" for answer in answers], 12).value == pytest.approx(0.0)


def test_a_tie_at_the_top_is_shared() -> None:
    assert maj_at_k(["7", "7", "8", "8", "9"], [True, True, False, False, False], 5).value == pytest.approx(0.5)


def test_samples_without_an_answer_do_not_vote() -> None:
    assert maj_at_k(["7", None, None, None], [True, False, False, False], 4).value == pytest.approx(1.0)
    assert maj_at_k([None, None], [False, False], 2).value == 0.0


def test_many_samples_are_exact_enough_and_bounded() -> None:
    answers = [number % 10 for number in range(1000)]
    correct = [answer == 0 for answer in answers]
    assert maj_at_k(answers, correct, 500).value == pytest.approx(0.1, rel=1e-9)  # by symmetry
    found = maj_at_k([1] * (MOST_SAMPLES + 1), [True] * (MOST_SAMPLES + 1), 3)
    assert not found.defined
    assert "1001 samples are more than the 1000" in found.cause


def test_too_few_samples_are_undefined() -> None:
    value = maj_at_k(["7"], [True], 2)
    assert math.isnan(value.value)
    assert value.cause == "1 samples are fewer than k = 2"


@pytest.mark.parametrize(
    ("answers", "correct", "message"),
    [
        (["7"], [True, False], "1 answers and 2 verdicts"),
        (["7", "7"], [True, False], "both correct and not"),
        ([None], [True], "absent answer"),
    ],
)
def test_contradictions(answers: list[str | None], correct: list[bool], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        maj_at_k(answers, correct, 1)
