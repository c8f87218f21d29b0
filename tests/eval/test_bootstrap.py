"""The bootstrap over tasks: equal to scipy's, equal to drawing tasks one by one, and right as often as it says."""

import math

import numpy as np
import pytest
from holdergym.eval.bootstrap import bootstrap_mean, bootstrap_rate, bootstrap_rates, expanded_level
from holdergym.eval.intervals import Interval, wilson, wilson_rate

from .coverage import Rng, coverage, is_95_percent, won_counts


def test_equal_to_scipy_s_bootstrap_of_the_tasks() -> None:
    """scipy draws each task; here a multinomial draws how often each kind of task comes. The laws are the same."""
    stats = pytest.importorskip("scipy.stats")
    for seed, (samples, rate) in enumerate([(4, 0.1), (8, 0.5), (2, 0.9)]):
        rng = np.random.default_rng(seed)
        won = won_counts(rng, 100, samples, rate, 0.4)
        ours = bootstrap_rate(won, np.full(100, samples))
        theirs = stats.bootstrap(
            (won / samples,),
            np.mean,
            confidence_level=expanded_level(0.95, 100),
            n_resamples=20_000,
            method="BCa",
            batch=2_000,
            random_state=rng,
        ).confidence_interval
        # Both ends are quantiles of 10,000 and 20,000 draws, among rates that are 1 / (100 * samples) apart.
        apart = 0.02 * (theirs.high - theirs.low) + 1 / (100 * samples)
        assert ours.low == pytest.approx(theirs.low, abs=apart)
        assert ours.high == pytest.approx(theirs.high, abs=apart)


def test_the_level_is_expanded_by_student_s_t() -> None:
    stats = pytest.importorskip("scipy.stats")
    for tasks in (2, 10, 100, 10_000):
        wide = stats.norm.ppf((1 + expanded_level(0.95, tasks)) / 2) if tasks > 2 else None
        if wide is not None:
            assert wide == pytest.approx(stats.t.ppf(0.975, tasks - 1) * (tasks / (tasks - 1)) ** 0.5, rel=1e-6)
    assert expanded_level(0.95, 10) == pytest.approx(0.983, abs=0.0005)
    assert expanded_level(0.95, 100) == pytest.approx(0.954, abs=0.0005)
    assert expanded_level(0.95, 1) == 0.95


@pytest.mark.parametrize("won", [[1, 3], [6, 6, 5, 0, 0, 1, 2, 6, 3], [1] + [0] * 59, [4] * 59 + [3]])
def test_tasks_of_which_few_succeed_or_fail_count_once_each(won: list[int]) -> None:
    """Two tasks, nine tasks, and one success or failure among many: resamples would hardly differ."""
    tasks = len(won)
    interval = bootstrap_rate(won, [6] * tasks) if max(won) > 4 else bootstrap_rate(won, [4] * tasks)
    rate = sum(won) / tasks / (6 if max(won) > 4 else 4)
    assert interval == wilson_rate(rate, tasks)


def test_one_success_says_no_more_than_none() -> None:
    none, one = bootstrap_rate([0] * 60, [4] * 60), bootstrap_rate([1] + [0] * 59, [4] * 60)
    assert none.low <= one.low < 1 / 240
    assert one.high >= none.high > 0.06


def test_few_tasks_with_unequal_weights_count_as_fewer() -> None:
    """One task with 97 of 100 episodes is nearly all that the rate is about."""
    heavy = bootstrap_rate([50, 1, 0, 1], [97, 1, 1, 1])
    assert heavy == wilson_rate(0.52, 100**2 / (97**2 + 3))
    assert heavy.high - heavy.low > 0.6


def test_equal_seeds_give_equal_intervals_and_the_order_of_tasks_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    finished = rng.integers(5, 60, 40)
    won = rng.binomial(finished, 0.6)
    interval = bootstrap_rate(won, finished, seed=5)
    assert bootstrap_rate(won[::-1], finished[::-1], seed=5) == interval
    assert bootstrap_rate(won, finished, seed=6) != interval
    assert interval.low < won.sum() / finished.sum() < interval.high


def test_rates_of_the_same_tasks_share_their_resamples() -> None:
    """Each column as if it were alone, up to chance; a column without spread falls back to Wilson's interval."""
    rng = np.random.default_rng(1)
    finished = np.full(80, 8)
    won = won_counts(rng, 80, 8, 0.4, 0.3)
    both, same, none = bootstrap_rates(np.column_stack([won, 8 - won, np.zeros(80)]), finished)
    alone = bootstrap_rate(won, finished)
    assert both[:2] == pytest.approx(alone[:2], abs=1 / 320)
    assert (1 - same.high, 1 - same.low) == pytest.approx(both[:2], abs=1 / 320)
    assert none[:2] == pytest.approx(wilson(0, 80)[:2])


def test_tasks_with_unequal_numbers_of_samples_are_weighted_by_them() -> None:
    """A rate of sums, as scipy computes it with the tasks' pairs drawn together."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    finished = rng.integers(1, 9, 120)
    won = rng.binomial(finished, 0.7)
    ours = bootstrap_rate(won, finished)
    theirs = stats.bootstrap(
        (won, finished),
        lambda won, finished, axis: won.sum(axis) / finished.sum(axis),
        paired=True,
        vectorized=True,
        confidence_level=expanded_level(0.95, 120),
        n_resamples=20_000,
        batch=2_000,
        random_state=rng,
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.003)


def test_samples_of_one_task_are_not_taken_as_independent() -> None:
    """Ten identical samples of each task say no more than one does."""
    won = np.array([10] * 30 + [0] * 30)
    interval = bootstrap_rate(won, np.full(60, 10))
    once = wilson(30, 60)
    # A rate of 60 tasks moves in steps of 1/60, and so do both ends.
    assert interval.high - interval.low == pytest.approx(once.high - once.low, abs=1.5 / 60)
    assert interval.high - interval.low > 2.9 * np.ptp(wilson(300, 600)[:2])


@pytest.mark.parametrize(("won", "tasks"), [(4, 50), (0, 50), (2, 50), (3, 1)])
def test_tasks_that_are_all_alike_count_once_each(won: int, tasks: int) -> None:
    """No resample would differ: a width of 0 would be claimed."""
    interval = bootstrap_rate([won] * tasks, [4] * tasks)
    assert interval.high - interval.low > 0.05
    if won in (0, 4):
        assert interval[:2] == pytest.approx(wilson(won // 4 * tasks, tasks)[:2])


def test_a_task_without_finished_samples_is_left_out() -> None:
    assert bootstrap_rate([2, 0, 1], [4, 0, 4]) == bootstrap_rate([2, 1], [4, 4])
    assert bootstrap_rate([0], [0]).cause == "no episode finished"


def test_the_mean_of_differences() -> None:
    interval = bootstrap_mean([0.5, -0.25, 0.0, 0.25, 0.5, 0.0, 0.25, -0.25])
    # Student's t: 0.125 +- 2.365 * 0.2917 / sqrt(8); the mean of 8 such numbers moves in steps of 1/32.
    assert interval[:2] == pytest.approx((-0.119, 0.369), abs=1 / 32)
    flat = bootstrap_mean([0.25] * 9)
    assert math.isnan(flat.low)
    assert "no spread" in flat.cause
    assert "no task" in bootstrap_mean([]).cause


def test_many_different_values_fit_into_memory() -> None:
    values = np.random.default_rng(0).normal(2.0, 1.0, 1_500)
    interval = bootstrap_mean(values)
    assert interval.low == pytest.approx(values.mean() - 1.96 * values.std() / 1_500**0.5, abs=0.004)
    assert interval.high == pytest.approx(values.mean() + 1.96 * values.std() / 1_500**0.5, abs=0.003)


def test_counts_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="finite"):
        bootstrap_rate([1.0, math.nan], [1, 1])


QUICK = [(134, 4, 0.5, 0.3), (60, 8, 0.2, 0.3)]
# What the documentation promises: from 134 tasks on, rates of 10% to 90%, however alike the samples of a task are.
DOCUMENTED = [
    (134, samples, rate, likeness) for samples in (2, 4, 16) for rate in (0.1, 0.5, 0.9) for likeness in (0.0, 0.8)
]


def covered(tasks: int, samples: int, rate: float, likeness: float, runs: int) -> float:
    finished = np.full(tasks, samples)
    return coverage(
        lambda rng: bootstrap_rate(won_counts(rng, tasks, samples, rate, likeness), finished), rate, runs, seed=1
    )


@pytest.mark.parametrize("case", QUICK)
def test_95_percent_of_the_intervals_hold_the_truth(case: tuple[int, int, float, float]) -> None:
    assert is_95_percent(covered(*case, runs=250), 250)


@pytest.mark.parametrize(("stretched", "right"), [(0.75, False), (1.0, True), (1.5, False)])
def test_the_quick_bound_tells_intervals_that_are_too_narrow_or_too_wide(stretched: float, right: bool) -> None:
    def interval(rng: Rng) -> Interval:
        middle, half = rng.normal(), stretched * 1.96
        return Interval(middle - half, middle + half)

    assert is_95_percent(coverage(interval, 0.0, 250, seed=1), 250) == right


FEW_TASKS = [
    (tasks, 6, rate, likeness) for tasks in (2, 5, 9, 12, 20) for rate in (0.1, 0.5) for likeness in (0.0, 0.3, 0.8)
]
RARE = [(tasks, 4, rate, likeness) for tasks in (60, 134) for rate in (0.01, 0.97) for likeness in (0.0, 0.3, 0.8)]


@pytest.mark.slow
@pytest.mark.parametrize("case", FEW_TASKS + RARE)
def test_few_tasks_or_rare_events_do_not_make_intervals_too_narrow(case: tuple[int, int, float, float]) -> None:
    assert covered(*case, runs=400) >= 0.93


@pytest.mark.parametrize("case", [(2, 6, 0.5, 0.3), (60, 4, 0.01, 0.3)])
def test_few_tasks_or_a_rare_event_do_not_make_an_interval_too_narrow(case: tuple[int, int, float, float]) -> None:
    assert covered(*case, runs=250) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("case", DOCUMENTED)
def test_coverage_in_every_documented_case(case: tuple[int, int, float, float]) -> None:
    assert 0.93 <= covered(*case, runs=1000) <= 0.97
