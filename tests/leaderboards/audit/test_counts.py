import math
from decimal import ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from holdergym.leaderboards.audit.counts import always_possible, common_size, counts, counts_cut, is_cut, ulp
from holdergym.leaderboards.audit.parts import adds_up
from holdergym.leaderboards.audit.virtual_samples import number_of
from hypothesis import given
from hypothesis import strategies as st

TENTH = Decimal("0.1")


def test_the_examples_of_the_issue() -> None:
    assert list(counts(Decimal("40.0"), 30)) == [12]
    assert not counts(Decimal("93.8"), 134)
    assert not counts(Decimal("93.8"), 140)
    assert list(counts(Decimal("93.8"), 128)) == [120]
    assert list(counts(Decimal("93.8"), 402)) == [377]
    assert list(counts_cut(Decimal("48.1"), 83)) == [40]
    assert not counts(Decimal("48.1"), 83)


@given(st.integers(0, 1000), st.integers(1, 700))
def test_counts_are_those_of_a_search(tenths: int, trials: int) -> None:
    printed = Decimal(tenths) / 10
    printed = printed.quantize(TENTH)

    def rounds_to(k: int, rounding: str) -> bool:
        return (Decimal(100 * k) / Decimal(trials)).quantize(TENTH, rounding) == printed

    found = [k for k in range(trials + 1) if rounds_to(k, ROUND_HALF_UP) or rounds_to(k, ROUND_HALF_DOWN)]
    assert list(counts(printed, trials)) == found
    assert list(counts_cut(printed, trials)) == [k for k in range(trials + 1) if rounds_to(k, ROUND_FLOOR)]


@given(st.decimals(-100, 100, places=4), st.integers(-1000, 1000))
def test_a_number_is_cut_where_its_further_digits_are_left_out(exact: Decimal, tenths: int) -> None:
    printed = (Decimal(tenths) / 10).quantize(TENTH)
    for number in (exact, printed, printed + Decimal("0.06"), printed - Decimal("0.06")):
        expected = number.quantize(TENTH, ROUND_DOWN) == printed and number.is_signed() == printed.is_signed()
        assert is_cut(Fraction(number), Fraction(number), printed) == (expected or number == printed)


def test_a_range_is_cut_where_a_part_of_it_is() -> None:
    assert is_cut(Fraction("52.68"), Fraction("52.71"), Decimal("52.7"))
    assert is_cut(Fraction("52.79"), Fraction("52.84"), Decimal("52.7"))
    assert not is_cut(Fraction("52.80"), Fraction("52.84"), Decimal("52.7"))
    assert not is_cut(Fraction("52.64"), Fraction("52.69"), Decimal("52.7"))


def test_digits_and_their_unit() -> None:
    assert ulp(Decimal("43.3")) == TENTH
    assert ulp(Decimal("52")) == 1
    assert ulp(Decimal("63.33")) == Decimal("0.01")
    assert always_possible(Decimal("57.3"), 8000)
    assert not always_possible(Decimal("57.3"), 500)
    with pytest.raises(ValueError, match="over 0 problems"):
        counts(Decimal("1.0"), 0)


def test_a_size_is_guessed_only_where_chance_does_not_explain_it() -> None:
    assert common_size({Decimal("7.4"), Decimal("18.5"), Decimal("22.2")}) == 27
    assert common_size({Decimal("52"), Decimal("44")}) is None  # 13/25 and 11/25, but whole per cents fit anything
    assert common_size({Decimal("61.3")}) is None
    assert common_size(set()) is None
    assert common_size({Decimal("0.0"), Decimal("100.0")}) is None


def test_parts_add_up_or_do_not() -> None:
    fits = [Decimal(text) for text in ("93.1", "78.6", "81.0", "88.2", "82.1", "89.5")]
    assert adds_up(fits, range(110, 111), 128)
    impossible = [Decimal(text) for text in ("96.9", "100.0", "100.0", "100.0", "85.7", "84.5")]
    assert not adds_up(impossible, range(120, 121), 128)
    assert adds_up([Decimal("50.0"), Decimal("100.0")], range(2, 3), 3)
    assert not adds_up([Decimal("50.0"), Decimal("100.0")], range(3, 4), 3)


def test_parts_agree_with_a_search() -> None:
    percents = [Decimal("66.7"), Decimal("40.0"), Decimal("25.0")]
    episodes = 24
    possible = {
        sum(counts(percent, size)[0] for percent, size in zip(percents, sizes, strict=True))
        for sizes in [(a, b, episodes - a - b) for a in range(1, episodes) for b in range(1, episodes - a)]
        if all(counts(percent, size) for percent, size in zip(percents, sizes, strict=True))
    }
    assert possible
    assert {won for won in range(episodes + 1) if adds_up(percents, range(won, won + 1), episodes)} == possible


@pytest.mark.parametrize(("rate", "expected"), [(0, 1), (0.05, 2), (0.125, 3), (0.25, 4), (0.375, 5), (0.5, 6), (1, 8)])
def test_the_number_of_virtual_samples(rate: float, expected: int) -> None:
    assert number_of(rate, 0.5, 8) == expected
    assert number_of(rate, 0.5, 8) == max(1, min(8, math.ceil(8 * math.sqrt(rate))))
