"""Sizes of comparisons: the published example, statsmodels, and simulated comparisons."""

import math
import tracemalloc

import numpy as np
import pytest
from holdergym.eval.power import (
    discordant_share,
    paired_power,
    paired_size,
    unpaired_power,
    unpaired_size,
    visible_effect,
)
from holdergym.eval.significance import mcnemar


def test_the_headline_gap() -> None:
    """90.8 against 93.8 at 80% power: about 1,240 episodes an arm."""
    assert 1235 <= unpaired_size(0.908, 0.938) <= 1245
    assert unpaired_size(0.938, 0.908) == unpaired_size(0.908, 0.938)


def test_statsmodels_power_of_a_size() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for first, second in [(0.908, 0.938), (0.5, 0.7), (0.1, 0.05)]:
        size = unpaired_size(first, second)
        theirs = proportion.power_proportions_2indep(second - first, first, size, alternative="two-sided").power
        assert unpaired_power(first, second, size) == pytest.approx(theirs, abs=0.005)
        assert unpaired_power(first, second, size) >= 0.8 > unpaired_power(first, second, size - 2)


@pytest.mark.parametrize(("effect", "discordant", "tasks"), [(0.1, 0.2, 100), (0.05, 0.06, 134), (0.3, 0.3, 20)])
def test_paired_power_is_how_often_the_test_rejects(effect: float, discordant: float, tasks: int) -> None:
    rng = np.random.default_rng(0)
    split = rng.multinomial(tasks, [(discordant - effect) / 2, (discordant + effect) / 2, 1 - discordant], 4000)
    rejected = np.mean([mcnemar(int(a), int(b)) < 0.05 for a, b, _ in split])
    assert paired_power(effect, discordant, tasks) == pytest.approx(rejected, abs=3.5 * math.sqrt(0.25 / 4000))


def test_the_paired_size_reaches_its_power_and_few_tasks_fewer_do_not() -> None:
    for effect, discordant in [(0.03, 0.142), (0.1, 0.1), (0.2, 0.5)]:
        size = paired_size(effect, discordant)
        assert paired_power(effect, discordant, size) >= 0.8
        assert paired_power(effect, discordant, int(size * 0.9)) < 0.8


def test_above_a_million_tasks_the_formula_s_number_has_the_power_and_takes_little_memory() -> None:
    """Worked out over likely numbers of discordant tasks only: over all of them it took gigabytes."""
    tracemalloc.start()
    for effect, discordant in [(0.00108, 0.15), (0.0009, 0.9), (0.0001, 0.18)]:
        size = paired_size(effect, discordant)
        assert size > 1_000_000
        # One in 500 tasks is 0.0011 of the power here.
        assert paired_power(effect, discordant, size) == pytest.approx(0.8, abs=0.0011)
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    assert paired_size(1e-6, 0.18) == pytest.approx(paired_size(1e-5, 0.18) * 100, rel=1e-6)


@pytest.mark.parametrize(("effect", "discordant", "tasks"), [(0.0, 1.0, 50), (0.1, 0.1, 1), (0.3, 0.7, 90)])
def test_numbers_of_discordant_tasks_that_are_left_out_do_not_matter(
    effect: float, discordant: float, tasks: int
) -> None:
    """Against a sum over every split of the tasks."""
    stats = pytest.importorskip("scipy.stats")
    better = (discordant + effect) / (2 * discordant)
    expected = 0.0
    for apart in range(tasks + 1):
        rejecting = [won for won in range(apart + 1) if mcnemar(won, apart - won) <= 0.05]
        expected += stats.binom.pmf(apart, tasks, discordant) * stats.binom.pmf(rejecting, apart, better).sum()
    assert paired_power(effect, discordant, tasks) == pytest.approx(expected, abs=1e-9)


def test_pairing_pays_the_more_the_outcomes_are_alike() -> None:
    independent = discordant_share(0.908, 0.938)
    alike = discordant_share(0.908, 0.938, 0.5)
    assert independent == pytest.approx(0.908 * 0.062 + 0.938 * 0.092)
    assert paired_size(0.03, alike) < paired_size(0.03, independent) < 1.05 * unpaired_size(0.908, 0.938)
    with pytest.raises(ValueError, match="cannot have a correlation"):
        discordant_share(0.5, 0.9, 0.9)


@pytest.mark.parametrize("correlation", [None, 0.0, 0.5])
def test_the_visible_effect_is_the_one_with_the_power(correlation: float | None) -> None:
    effect = visible_effect(0.5, 134, correlation=correlation)
    assert 0.1 < effect < 0.2
    if correlation is None:
        assert unpaired_power(0.5, 0.5 + effect, 134) == pytest.approx(0.8, abs=1e-6)
    else:
        assert paired_power(effect, discordant_share(0.5, 0.5 + effect, correlation), 134) == pytest.approx(
            0.8, abs=0.01
        )
    assert math.isnan(visible_effect(0.99, 10, correlation=correlation))


@pytest.mark.parametrize("wrong", [(0.5, 0.5), (0.0, 0.5), (0.5, 1.0)])
def test_rates_that_say_nothing(wrong: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="rate"):
        unpaired_size(*wrong)
    with pytest.raises(ValueError, match="effect"):
        paired_size(0.3, 0.2)
