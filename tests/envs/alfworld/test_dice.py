from collections import Counter

import pytest
from holdergym.envs.alfworld.dice import Dice
from hypothesis import given
from hypothesis import strategies as st


def test_draws_are_those_of_every_other_machine() -> None:
    dice = Dice("a key", 7, 0.5)
    assert [dice.below(1000) for _ in range(8)] == [281, 125, 122, 251, 587, 702, 52, 504]
    assert dice.shuffled("abcdef") == list("cbfade")


def test_equal_keys_draw_alike_and_other_keys_differently() -> None:
    draws = {key: tuple(Dice(*key).below(10**9) for _ in range(3)) for key in [("a", 1), ("a", 2), ("a1",), (1, "a")]}
    assert Dice("a", 1).below(10**9) == draws["a", 1][0]
    assert len(set(draws.values())) == 4


@given(st.integers(), st.integers(1, 10**12))
def test_a_draw_stays_below_its_bound(seed: int, bound: int) -> None:
    assert 0 <= Dice(seed).below(bound) < bound


@given(st.integers(), st.integers(-50, 50), st.integers(0, 100))
def test_both_ends_are_inside(seed: int, low: int, width: int) -> None:
    assert low <= Dice(seed).between(low, low + width) <= low + width


@given(st.integers(), st.lists(st.integers(), max_size=30))
def test_shuffling_loses_nothing_and_leaves_its_argument(seed: int, items: list[int]) -> None:
    before = list(items)
    assert sorted(Dice(seed).shuffled(items)) == sorted(before)
    assert items == before


def test_weights_are_kept() -> None:
    dice = Dice("weights")
    counts = Counter(dice.weighted({"never": 0, "one": 1, "three": 3}) for _ in range(4000))
    assert set(counts) == {"one", "three"}
    assert counts["three"] == pytest.approx(3000, abs=120)  # four standard deviations
    assert sum(dice.chance(20) for _ in range(4000)) == pytest.approx(800, abs=105)


def test_every_order_is_as_likely_as_any_other() -> None:
    dice = Dice("orders")
    counts = Counter("".join(dice.shuffled("abc")) for _ in range(6000))
    assert len(counts) == 6
    assert all(count == pytest.approx(1000, abs=120) for count in counts.values())


def test_weights_without_a_sum_are_refused() -> None:
    with pytest.raises(ValueError, match="no positive sum"):
        Dice("x").weighted({"a": 0})
