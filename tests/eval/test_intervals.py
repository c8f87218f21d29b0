import math

import numpy as np
import pytest
from holdergym.eval.intervals import wilson


def test_the_headline_example() -> None:
    low, high, cause = wilson(120, 128)
    assert (round(100 * low, 1), round(100 * high, 1)) == (88.2, 96.8)
    assert cause == ""


@pytest.mark.parametrize(
    ("won", "total", "low", "high"),
    [
        # Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17
        # (1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_examples(won: int, total: int, low: float, high: float) -> None:
    interval = wilson(won, total)
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


def test_equal_to_the_formula_and_symmetric_for_every_count() -> None:
    z = 1.959963984540054
    for total in (1, 2, 7, 134, 140):
        for won in range(total + 1):
            low, high, _ = wilson(won, total)
            rate = won / total
            middle = (rate + z * z / (2 * total)) / (1 + z * z / total)
            half = z / (1 + z * z / total) * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total**2))
            assert low == pytest.approx(middle - half, abs=1e-12)
            assert high == pytest.approx(middle + half, abs=1e-12)
            assert 0.0 <= low <= rate <= high <= 1.0
            mirrored = wilson(total - won, total)
            assert (mirrored.low, mirrored.high) == pytest.approx((1 - high, 1 - low))


def test_statsmodels_agrees() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for won, total in [(120, 128), (0, 5), (5, 5), (37, 134)]:
        assert wilson(won, total)[:2] == pytest.approx(proportion.proportion_confint(won, total, method="wilson"))


@pytest.mark.parametrize("total", [60, 128, 134, 140])
def test_coverage_of_every_rate_from_5_to_95_percent(total: int) -> None:
    """Computed exactly. Counts are whole, so a single rate may be off; 95% is held on average (Brown et al. 2001)."""
    stats = pytest.importorskip("scipy.stats")
    counts = np.arange(total + 1)
    ends = np.array([wilson(int(won), total)[:2] for won in counts])
    held = [
        float(stats.binom.pmf(counts, total, rate)[(ends[:, 0] <= rate) & (rate <= ends[:, 1])].sum())
        for rate in np.arange(0.05, 0.9501, 0.01)
    ]
    assert np.mean(held) == pytest.approx(0.95, abs=0.005)
    assert min(held) >= 0.93
    assert max(held) <= 0.975


def test_nothing_finished_is_undefined_with_a_cause() -> None:
    low, high, cause = wilson(0, 0)
    assert math.isnan(low)
    assert math.isnan(high)
    assert cause == "no episode finished"


@pytest.mark.parametrize(("won", "total"), [(3, 2), (-1, 2)])
def test_impossible_counts(won: int, total: int) -> None:
    with pytest.raises(ValueError, match="attempts"):
        wilson(won, total)
