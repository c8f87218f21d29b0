"""The log of a training run, as this room reads it: against a real run's, and damaged in many ways."""

import json
from pathlib import Path

import pytest
from holdergym.leaderboards.site.charts import MOST_POINTS, training_charts
from holdergym.leaderboards.site.training_log import (
    CURVES,
    MOST_BYTES,
    Point,
    TrainingLogError,
    is_training,
    read_training,
)

from .conftest import write_training


def test_curves_and_settings(tmp_path: Path) -> None:
    write_training(tmp_path / "run")
    training = read_training(tmp_path / "run")
    assert training.method == "holderpo"
    assert training.rounds == 6
    assert training.curves["validation/success"] == (Point(0, 0.25), Point(6, 0.5))
    assert training.curves["p"][-1] == Point(6, -1.0)
    assert ("groups a round", "4") in training.settings
    exponent = training_charts(training)[1]
    assert [series.key for series in exponent.series] == ["p", "collapsed_groups", "entropy", "kl"]
    assert [series.right for series in exponent.series] == [False, False, True, True]


@pytest.mark.slow
@pytest.mark.llm
def test_a_real_run_has_the_metrics_by_these_names(tmp_path: Path) -> None:
    """Two rounds of GRPO with a reference policy, so that p, entropy, KL and ACR are all logged."""
    pytest.importorskip("torch", reason="needs the extra `train`")
    from dataclasses import replace

    from holdergym.agents.language_model_settings import LanguageModelSettings
    from holdergym.training.config import TrainConfig, ValidationSettings
    from holdergym.training.presets import preset
    from holdergym.training.run import train
    from holdergym.training.tiny.making import TinySize, make_tiny_policy

    make_tiny_policy(tmp_path / "policy", "alfworld", size=TinySize(layers=1, width=32, heads=4, inner=64))
    method = preset("grpo")
    train(
        TrainConfig(
            panel="builtin_small_train",
            max_steps=3,
            agent=LanguageModelSettings(model=str(tmp_path / "policy"), prompt="tiny", max_tokens=4),
            method=replace(method, kl=replace(method.kl, coefficient=0.02)),
            rounds=2,
            groups=2,
            group_size=2,
            validation=ValidationSettings(panel="builtin_small_valid", limit=2, every=1),
            out=tmp_path / "run",
        )
    )
    assert is_training(tmp_path / "run")
    training = read_training(tmp_path / "run")
    assert set(training.curves) == set(CURVES)
    assert [point.round for point in training.curves["kl"]] == [1, 2]
    assert dict(training.settings)["model"] == str(tmp_path / "policy")


def test_a_half_written_last_line_is_left_out(tmp_path: Path) -> None:
    write_training(tmp_path / "run")
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write('{"round": 7, "suc')
    assert read_training(tmp_path / "run").rounds == 6


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("nonsense", "line 8 of .* is damaged"),
        ("[" * 100_000, "line 8 of .* is damaged"),
        ('{"success": 1}', "line 8 of .* is not of a round"),
        ('{"round": true}', "line 8 of .* is not of a round"),
        ('{"round": 6}', "line 8 of .* is of round 6, after round 6"),
        ('{"round": 1e3}', "line 8 of .* is not of a round"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    write_training(tmp_path / "run")
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(TrainingLogError, match=complaint):
        read_training(tmp_path / "run")


def test_numbers_that_no_picture_can_hold_are_no_points(tmp_path: Path) -> None:
    write_training(tmp_path / "run", rounds=0)
    values = ["NaN", "Infinity", "1e999", str(10**300), "true", '"1"', "null", "0.5"]
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        for number, value in enumerate(values, start=1):
            file.write(f'{{"round": {number}, "kl": {value}}}\n')
    assert read_training(tmp_path / "run").curves["kl"] == (Point(len(values), 0.5),)


def test_too_large_a_log_is_refused(tmp_path: Path) -> None:
    write_training(tmp_path / "run")
    with (tmp_path / "run" / "metrics.jsonl").open("r+b") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(TrainingLogError, match="more than the"):
        read_training(tmp_path / "run")


def test_a_long_run_is_thinned_and_says_so(tmp_path: Path) -> None:
    write_training(tmp_path / "run", rounds=0)
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        for number in range(1, 4001):
            file.write(json.dumps({"round": number, "success": 0.5, "p": 1.0}) + "\n")
    for chart in training_charts(read_training(tmp_path / "run")):
        assert all(len(series.xs) <= MOST_POINTS for series in chart.series)
        assert chart.series[0].xs[-1] == 4000
        assert "spread evenly" in chart.note
        assert chart.numbers.rows[-1][0] == "4000"
