import math

import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.eval.metrics import (
    NO_COMMAND,
    NO_PLAN_LENGTH,
    NOTHING_FINISHED,
    NOTHING_WON,
    SEVERAL_SAMPLES,
    measure,
    path_efficiency,
)
from holdergym.eval.results import Result


def result(
    outcome: Outcome, steps: int = 10, invalid: int = 0, shortest: int | None = 5, goal: float = 0.0, sample: int = 0
) -> Result:
    return Result(f"t/{outcome}/{steps}", "pick", sample, outcome, steps, invalid, shortest, goal)


def test_every_number_of_a_mixed_set() -> None:
    results = [
        result(Outcome.WON, 10, 1, 5, 1.0),
        result(Outcome.WON, 4, 0, 4, 1.0),
        result(Outcome.LIMIT, 50, 25, 6, 0.5),
        result(Outcome.LOST, 6, 0, 6, 0.0),
        result(Outcome.ERROR, 3, 3, 5, 0.0),
        result(Outcome.TIMEOUT, 2, 2, 5, 0.0),
    ]
    metrics = measure(results, tasks=8)
    assert (metrics.tasks, metrics.expected, metrics.finished, metrics.won) == (8, 8, 4, 2)
    assert (metrics.errors, metrics.timeouts, metrics.failed, metrics.missing) == (1, 1, 2, 2)
    assert metrics.success_rate.value == 0.5
    assert metrics.success_rate_failed_as_lost.value == pytest.approx(2 / 6)
    assert metrics.mean_steps.value == pytest.approx((10 + 4 + 50 + 6) / 4)
    assert metrics.invalid_command_rate.value == pytest.approx(26 / 70)
    assert metrics.path_efficiency.value == pytest.approx((0.5 + 1.0) / 2)
    assert metrics.goal_condition_success_rate.value == pytest.approx(2.5 / 4)
    assert metrics.interval.low < 0.5 < metrics.interval.high


def test_nothing_played_is_undefined_everywhere_and_says_why() -> None:
    metrics = measure([], tasks=3)
    assert (metrics.finished, metrics.won, metrics.missing) == (0, 0, 3)
    for value in (metrics.success_rate, metrics.mean_steps, metrics.goal_condition_success_rate):
        assert math.isnan(value.value)
        assert value.cause == NOTHING_FINISHED
    assert metrics.interval.cause == NOTHING_FINISHED
    assert metrics.invalid_command_rate.cause == NO_COMMAND
    assert metrics.path_efficiency.cause == NOTHING_WON


def test_a_run_of_failures_has_no_success_rate_rather_than_zero() -> None:
    metrics = measure([result(Outcome.ERROR), result(Outcome.TIMEOUT)], tasks=2)
    assert math.isnan(metrics.success_rate.value)
    assert metrics.success_rate_failed_as_lost.value == 0.0
    assert (metrics.failed, metrics.missing) == (2, 0)


def test_path_efficiency_leaves_out_what_was_not_won() -> None:
    assert path_efficiency([result(Outcome.WON, 8, shortest=4), result(Outcome.LIMIT, 50)]).value == 0.5


def test_path_efficiency_needs_every_won_plan() -> None:
    results = [result(Outcome.WON, 8, shortest=4), result(Outcome.WON, 8, shortest=None)]
    assert path_efficiency(results).cause == NO_PLAN_LENGTH


def test_samples_of_one_task_have_no_wilson_interval() -> None:
    metrics = measure([result(Outcome.WON, sample=0), result(Outcome.LIMIT, sample=1)], tasks=1, samples=2)
    assert (metrics.expected, metrics.success_rate.value) == (2, 0.5)
    assert metrics.interval.cause == SEVERAL_SAMPLES


def test_an_episode_without_commands_counts_in_the_mean() -> None:
    metrics = measure([result(Outcome.LOST, 0), result(Outcome.LIMIT, 10)], tasks=2)
    assert metrics.mean_steps.value == 5
