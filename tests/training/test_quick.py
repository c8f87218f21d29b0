"""The recipe ``quick``, cut to one round a step: its parts fit together, and it goes on where it was interrupted."""

from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.checkpoints import find_checkpoint
from holdergym.agents.loading import load_model
from holdergym.envs.errors import ConfigError
from holdergym.training.metrics_log import read_metrics
from holdergym.training.quick import Quick, quick_settings, run_quick
from holdergym.training.tiny.making import TinySize


@pytest.fixture
def settings(tmp_path: Path) -> Quick:
    full = quick_settings(tmp_path)
    validation = replace(full.train.validation, limit=4, every=1)
    return Quick(
        size=TinySize(layers=1, width=32, heads=4, inner=32),
        warm=replace(full.warm, rounds=1, updates=3, validation=validation),
        train=replace(full.train, rounds=1, groups=2, group_size=4, updates=1, validation=validation),
    )


@pytest.mark.llm
def test_the_steps_follow_each_other_and_are_gone_on_with(settings: Quick, tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    class Killed(Exception):
        pass

    def kill(step: str, number: int, metrics: dict[str, float]) -> None:
        seen.append((step, number))
        if step == "trained":
            raise Killed

    with pytest.raises(Killed):
        run_quick(settings, each_round=kill)
    assert seen == [("warm-start", 1), ("trained", 0)]
    seen.clear()
    best = run_quick(settings, each_round=lambda step, number, metrics: seen.append((step, number)))
    assert {step for step, _ in seen} == {"trained"}
    assert seen[-1] == ("trained", 1)
    assert load_model(find_checkpoint(str(best))).num_parameters() > 0
    metrics = read_metrics(tmp_path / "trained")[-1]
    # The policy that plays and the one that is trained say the same of every token.
    assert metrics["sampler_mismatch"] < 1e-3
    assert run_quick(settings) == best


def test_every_episode_has_one_vote_and_p_falls_from_1_to_minus_1(tmp_path: Path) -> None:
    training = quick_settings(tmp_path).train
    aggregation = training.method.aggregation
    assert (aggregation.per, training.method.reduction.over) == ("turn", "trajectories")
    assert (aggregation.exponent.high, aggregation.exponent.low) == (1.0, -1.0)  # type: ignore[union-attr]
    assert aggregation.exponent.rounds == training.rounds  # type: ignore[union-attr]


def test_there_is_no_other_recipe(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'quick' is for alfworld so far"):
        quick_settings(tmp_path, "math")  # type: ignore[arg-type]
