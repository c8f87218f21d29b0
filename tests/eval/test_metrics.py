import math
from dataclasses import replace

import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.agents.usage import Usage
from holdergym.eval.bootstrap import bootstrap_rate
from holdergym.eval.intervals import wilson
from holdergym.eval.metrics import (
    NO_COMMAND,
    NO_PLAN_LENGTH,
    NO_REPLY,
    NOT_COUNTED,
    NOTHING_FINISHED,
    NOTHING_WON,
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


def sampled(won: list[int], samples: int) -> list[Result]:
    """Tasks of which so many samples were won, and the others reached the limit."""
    return [
        replace(result(Outcome.WON if sample < count else Outcome.LIMIT, sample=sample), task_id=f"t/{task:03}")
        for task, count in enumerate(won)
        for sample in range(samples)
    ]


def test_one_attempt_a_task_has_wilson_s_interval() -> None:
    metrics = measure(sampled([1] * 120 + [0] * 8, 1), tasks=128)
    assert (metrics.method, metrics.interval) == ("wilson", wilson(120, 128))
    assert metrics.at_k == ()


def test_several_samples_of_a_task_have_the_bootstrap_s_interval() -> None:
    won = [number % 5 for number in range(60)]
    metrics = measure(sampled(won, 4), tasks=60, samples=4)
    assert metrics.method == "cluster_bootstrap"
    assert metrics.interval == bootstrap_rate(won, [4] * 60)
    assert measure(sampled(won, 4)[::-1], tasks=60, samples=4) == metrics


def test_a_task_that_was_drawn_twice_is_no_independent_attempt() -> None:
    results = sampled([1] * 30 + [0] * 30, 1) + [replace(r, sample=1) for r in sampled([1], 1)]
    metrics = measure(results, tasks=60, expected=61)
    assert (metrics.method, metrics.missing) == ("cluster_bootstrap", 0)


def test_pass_at_k_for_every_k_up_to_the_number_of_samples() -> None:
    won = [0, 1, 2, 3, 4, 5, 6, 6]
    metrics = measure(sampled(won, 6), tasks=8, samples=6)
    assert [row.k for row in metrics.at_k] == [1, 2, 3, 4, 5, 6]
    one, two, *_, six = metrics.at_k
    assert [*two.estimates] == ["pass@2", "pass^2", "avg@2"]
    assert one.estimates["pass@1"].value == one.estimates["avg@1"].value == metrics.success_rate
    assert six.estimates["pass@6"].value.value == 7 / 8
    assert six.estimates["pass^6"].value.value == 2 / 8
    for row in metrics.at_k:
        for value, interval in row.estimates.values():
            assert interval.low < value.value < interval.high
    # The rate weighs samples and avg@k tasks: the same here, and so is the interval, up to the chance of the draws.
    assert one.estimates["pass@1"].interval[:2] == pytest.approx(metrics.interval[:2], abs=0.02)


def test_a_task_with_too_few_finished_samples_leaves_pass_at_k_undefined() -> None:
    results = sampled([2, 1, 4], 4)
    results[0] = replace(results[0], outcome=Outcome.ERROR)
    metrics = measure(results, tasks=3, samples=4)
    assert [row.estimates[f"pass@{row.k}"].value.defined for row in metrics.at_k] == [True, True, True, False]
    value, interval = metrics.at_k[3].estimates["pass@4"]
    assert value.cause == interval.cause == "1 of 3 tasks have fewer than 4 finished samples"
    unplayed = measure(results[4:], tasks=3, samples=4).at_k[0].estimates["pass@1"]
    assert unplayed.value.cause == "1 of 3 tasks have fewer than 1 finished samples"


def test_samples_vote() -> None:
    """Three of four samples say 12; two write it another way."""
    answers = [("12", "correct"), ("$12$", "correct"), ("12.0", "correct"), ("13", "incorrect")]
    results = [
        replace(
            result(Outcome.WON if verdict == "correct" else Outcome.LOST, sample=sample), task_id="m", answer=answer,
            verdict=verdict,
        )
        for sample, (answer, verdict) in enumerate(answers)
    ]  # fmt: skip
    row = measure(results, tasks=1, samples=4, votes=True).at_k[-1]
    assert row.estimates["maj@4"].value.value == 1.0
    assert measure(results, 1, 4, votes=True).at_k[0].estimates["maj@1"].value.value == pytest.approx(3 / 4)
    assert "maj@4" not in measure(results, 1, 4).at_k[2].estimates
    unanswered = [replace(each, answer=None, verdict="unparsable", outcome=Outcome.LOST) for each in results]
    assert measure(unanswered, 1, 4, votes=True).at_k[-1].estimates["maj@4"].value.value == 0.0


def test_tokens_and_replies() -> None:
    def spoken(each: Result, **changes) -> Result:
        return replace(each, replies=10, usage=Usage(1000, 600, 50), **changes)

    results = [
        spoken(result(Outcome.WON), cut_replies=1),
        spoken(result(Outcome.LIMIT), unparsable_replies=4),
        spoken(result(Outcome.TOKENS, 10), unparsable_replies=1),
        spoken(result(Outcome.ERROR)),
    ]
    metrics = measure(results, tasks=4)
    assert (metrics.finished, metrics.won) == (3, 1)
    assert metrics.unparsable_reply_rate.value == pytest.approx(5 / 30)
    assert metrics.cut_reply_rate.value == pytest.approx(1 / 30)
    assert metrics.prompt_tokens_per_episode.value == 1000
    assert metrics.generated_tokens_per_success.value == 150
    uncounted = measure([*results[:2], replace(results[2], usage=None)], tasks=3)
    assert uncounted.prompt_tokens_per_episode.cause == uncounted.generated_tokens_per_success.cause == NOT_COUNTED
    assert measure(results[1:2], tasks=1).prompt_tokens_per_success.cause == NOTHING_WON
    assert measure([result(Outcome.WON)], tasks=1).unparsable_reply_rate.cause == NO_REPLY


def test_an_episode_without_commands_counts_in_the_mean() -> None:
    metrics = measure([result(Outcome.LOST, 0), result(Outcome.LIMIT, 10)], tasks=2)
    assert metrics.mean_steps.value == 5
