import math

import pytest
from holdergym.eval.intervals import Interval, wilson
from holdergym.leaderboards.rate_differences import Part, combined


def of(won: int, total: int, weight: float) -> Part:
    return Part(weight, won / total, wilson(won, total))


def test_a_difference_is_newcombes_hybrid_score_interval() -> None:
    # Newcombe 1998, table II, method 10: 56/70 - 48/80.
    difference, (low, high, _) = combined([of(56, 70, 1.0), of(48, 80, -1.0)])
    assert difference == pytest.approx(0.2)
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)
    # 9/10 - 3/10 of the same table.
    _, (low, high, _) = combined([of(9, 10, 1.0), of(3, 10, -1.0)])
    assert (round(low, 4), round(high, 4)) == (0.1705, 0.8090)


def test_the_other_way_round_is_the_mirror_image() -> None:
    value, (low, high, _) = combined([of(12, 30, 1.0), of(13, 30, -1.0)])
    mirrored, (other_low, other_high, _) = combined([of(13, 30, 1.0), of(12, 30, -1.0)])
    assert (value, low, high) == pytest.approx((-mirrored, -other_high, -other_low))


def test_an_exact_number_adds_no_width() -> None:
    mine = wilson(12, 30)
    value, (low, high, _) = combined([of(12, 30, 1.0), Part(-1.0, 0.3, Interval(0.3, 0.3))])
    assert (value, low, high) == pytest.approx((0.1, mine.low - 0.3, mine.high - 0.3))


def test_a_mean_is_narrower_than_its_parts() -> None:
    value, (low, high, _) = combined([of(12, 30, 0.5), of(250, 500, 0.5)])
    assert value == pytest.approx(0.45)
    assert high - low < (wilson(12, 30).high - wilson(12, 30).low)


def test_an_undefined_part_makes_the_sum_undefined() -> None:
    value, interval = combined(
        [of(1, 2, 1.0), Part(1.0, math.nan, Interval(math.nan, math.nan, "no episode finished"))]
    )
    assert math.isnan(value)
    assert interval.cause == "no episode finished"
    with pytest.raises(ValueError, match="no estimates"):
        combined([])
