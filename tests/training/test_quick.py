"""The recipe ``quick``, cut to one round a step: its parts fit together, and it goes on where it was interrupted."""

from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.checkpoints import find_checkpoint
from holdergym.agents.loading import load_model
from holdergym.envs.errors import ConfigError
from holdergym.training.metrics_log import read_metrics
from holdergym.training.quick import Quick, quick_settings, run_quick
from holdergym.training.schedules import Schedule
from holdergym.training.tiny.making import TinySize

ENVIRONMENTS = ("alfworld", "math")


def cut(full: Quick) -> Quick:
    return replace(
        full,
        size=TinySize(layers=1, width=32, heads=4, inner=32),
        warm=replace(full.warm, rounds=1, updates=3),
        train=replace(full.train, rounds=1, groups=2, group_size=4, updates=1),
    )


@pytest.mark.llm
@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_the_steps_follow_each_other_and_are_gone_on_with(env: str, tmp_path: Path) -> None:
    settings = cut(quick_settings(tmp_path, env))
    seen: list[tuple[str, int]] = []

    class Killed(Exception):
        pass

    def kill(step: str, number: int, metrics: dict[str, float]) -> None:
        seen.append((step, number))
        if step == "trained":
            raise Killed

    with pytest.raises(Killed):
        run_quick(settings, each_round=kill)
    assert seen == [("warm-start", 1), ("trained", 1)]
    seen.clear()
    models = run_quick(settings, each_round=lambda step, number, metrics: seen.append((step, number)))
    assert seen == [("trained", 1)]
    for model in models:
        assert load_model(find_checkpoint(str(model))).num_parameters() > 0
    assert "warm-start" in str(models.warm)
    metrics = read_metrics(tmp_path / "trained")[-1]
    # The policy that plays and the one that is trained say the same of every token.
    assert metrics["sampler_mismatch"] < 1e-3
    assert run_quick(settings) == models


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_episode_has_one_vote_and_p_falls_from_1_to_minus_1(env: str, short: bool, tmp_path: Path) -> None:
    settings = quick_settings(tmp_path, env, short=short)
    training = settings.train
    exponent = training.method.aggregation.exponent
    assert isinstance(exponent, Schedule)
    assert training.method.reduction.over == "trajectories"
    assert (exponent.high, exponent.low, exponent.rounds) == (1.0, -1.0, training.rounds)
    assert training.updates > 1  # with one, p could not matter
    # What is compared was picked by nothing, and neither step has seen its tasks.
    assert training.validation.every == settings.warm.validation.every == 0
    assert settings.held_out not in (training.panel, settings.warm.panel)


def test_there_is_no_other_environment(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'quick' is for alfworld and math, not for math_retry"):
        quick_settings(tmp_path, "math_retry")
