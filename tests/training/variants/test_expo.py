from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.envs.errors import ConfigError
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.training import Context, preset
from holdergym.training.kl import KLPenalty
from holdergym.training.sampling import DrawInputs, GroupResult, UniformSampler
from holdergym.training.variants.expo import AccuracyScale, GaussianCurriculum

from ..word_game import play, settings

PANEL = Panel.of("made_up", [Task(f"made_up/t{number:02}", "k", "0" * 64) for number in range(30)])


def test_the_coefficient_over_the_accuracy() -> None:
    penalty = KLPenalty(coefficient=0.02, scale=AccuracyScale())
    found = [penalty.coefficient_at(Context(accuracy=accuracy)) for accuracy in (0, 0.25, 0.5, 0.75, 1)]
    assert found == pytest.approx([0.010000, 0.012449, 0.014621, 0.016351, 0.017616], abs=5e-7)
    assert KLPenalty(coefficient=0.02, scale=AccuracyScale(rho="one")).coefficient_at(Context(accuracy=0.3)) == 0.02
    control = preset("expo-constant").kl
    assert control.scale is None
    assert control.coefficient == pytest.approx(0.014621, abs=5e-7)


def test_each_form_has_a_control_with_a_constant_coefficient() -> None:
    """They differ from it in the coefficient alone, and both controls have the same one."""
    for name, control in (("expo", "expo-constant"), ("expo-akl", "expo-akl-constant")):
        for base in ("", "grpo+", "holderpo+"):
            adaptive, constant = preset(base + name), preset(base + control)
            factor = constant.kl.coefficient / adaptive.kl.coefficient
            assert factor == pytest.approx(AccuracyScale()(Context(accuracy=0.5)), rel=1e-12)
            same = replace(adaptive.kl, coefficient=constant.kl.coefficient, scale=None)
            assert replace(adaptive, name=constant.name, kl=same) == constant
    assert isinstance(preset("expo-akl-constant").sampler, UniformSampler)
    assert preset("expo-gcs+expo-akl-constant").kl == preset("expo-constant").kl
    assert isinstance(preset("expo-gcs+expo-akl-constant").sampler, GaussianCurriculum)
    with pytest.raises(ConfigError, match="both fill the stage 'kl'"):
        preset("expo-akl+expo-akl-constant")


def test_the_weight_over_the_running_accuracy() -> None:
    stage = GaussianCurriculum()
    found = [stage.weight(accuracy) for accuracy in (0, 0.125, 0.25, 0.5)]
    assert found == pytest.approx([0.360448, 0.563279, 0.774837, 1.0], abs=1e-6)


def test_the_running_accuracy_of_a_task_that_is_never_solved() -> None:
    stage, state, seen = GaussianCurriculum(), {}, []
    for _ in range(10):
        state = dict(stage.remember([GroupResult("t", 0.0, True)], state).state)
        seen.append(state["t"])
    assert seen[:2] == pytest.approx([0.45, 0.405])
    assert seen[-1] == pytest.approx(0.5 * 0.9**10)


def test_only_played_tasks_move_and_a_task_that_comes_twice_moves_twice() -> None:
    found = GaussianCurriculum().remember([GroupResult("t", 1.0, True), GroupResult("t", 0.0, True)], {"u": 0.3})
    assert found.state == {"u": 0.3, "t": pytest.approx(0.9 * 0.55)}


def test_tasks_that_are_half_known_are_drawn_most() -> None:
    """A table with ten tasks each that are never, half the time and always solved."""
    table = {task.id: (0.0, 0.5, 1.0)[number % 3] for number, task in enumerate(PANEL.tasks)}
    stage, counts = GaussianCurriculum(), Counter()
    for round in range(1, 2001):
        drawn = stage(DrawInputs(PANEL, 3, round, 7), table)
        assert len({task.id for task in drawn}) == 3
        counts.update(table[task.id] for task in drawn)
    # Without replacement the shares are a little more even than the weights 0.36 : 1 : 0.36.
    assert counts[0.0] / counts[0.5] == pytest.approx(0.375, abs=0.04)
    assert counts[1.0] / counts[0.5] == pytest.approx(0.375, abs=0.04)


def test_the_curriculum_finds_the_frontier_by_itself() -> None:
    """From an empty table, with outcomes of known chances: narrow kernels concentrate on tasks of chance one half."""
    import random

    chance = {task.id: (0.0, 0.5, 1.0)[number % 3] for number, task in enumerate(PANEL.tasks)}
    rng = random.Random(0)
    stage, state, late = GaussianCurriculum(sigma=0.15, rate=0.2), {}, Counter()
    for round in range(1, 401):
        results = []
        for task in stage(DrawInputs(PANEL, 6, round, 0), state):
            won = [rng.random() < chance[task.id] for _ in range(8)]
            results.append(GroupResult(task.id, sum(won) / 8, len(set(won)) == 1))
            if round > 200:
                late[chance[task.id]] += 1
        state = dict(stage.remember(results, state).state)
    assert late[0.5] > 0.75 * late.total()


def test_the_rate_under_uniform_drawing_undoes_the_weights() -> None:
    state = {"easy": 1.0, "half": 0.5}
    results = [GroupResult("easy", 1.0, True), GroupResult("half", 0.5, False), GroupResult("half", 0.5, False)]
    found = GaussianCurriculum().remember(results, state).metrics["collapsed_groups_uniform"]
    share = 1 / 0.360448
    assert found == pytest.approx(share / (share + 2), abs=1e-4)


def test_a_draw_is_a_function_of_round_seed_and_table() -> None:
    stage = GaussianCurriculum()
    assert stage(DrawInputs(PANEL, 5, 3, 1), {}) == stage(DrawInputs(PANEL, 5, 3, 1), {})
    assert stage(DrawInputs(PANEL, 5, 3, 1), {}) != stage(DrawInputs(PANEL, 5, 4, 1), {})
    assert stage(DrawInputs(PANEL, 5, 3, 1), {}) != stage(DrawInputs(PANEL, 5, 3, 2), {})


def test_more_tasks_than_the_panel_has() -> None:
    counts = Counter(task.id for task in GaussianCurriculum()(DrawInputs(PANEL, 70, 1, 0), {}))
    assert sorted(counts.values()) == [2] * 20 + [3] * 10


def test_narrow_kernels_do_not_end_in_a_division_by_zero() -> None:
    table = dict.fromkeys((task.id for task in PANEL.tasks), 0.0)
    assert len(GaussianCurriculum(sigma=1e-3)(DrawInputs(PANEL, 5, 1, 0), table)) == 5


def test_infinite_width_draws_as_uniform_does() -> None:
    stage = GaussianCurriculum(sigma=float("inf"))
    for round in range(1, 20):
        inputs = DrawInputs(PANEL, 7, round, 3)
        assert stage(inputs, {}) == UniformSampler()(inputs, {})
    assert stage.remember([GroupResult("t", 1.0, True)], {}).state == {}


def test_bad_settings() -> None:
    with pytest.raises(ConfigError, match="width"):
        GaussianCurriculum(sigma=0.0)
    with pytest.raises(ConfigError, match="rate"):
        GaussianCurriculum(rate=0.0)


def test_a_run_moves_its_table_and_its_coefficient(tiny_checkpoint: Path) -> None:
    reports, _ = play(settings(tiny_checkpoint, preset("expo")))
    table: dict[str, float] = {}
    for report in reports:
        metrics = report.metrics
        assert metrics["kl_coefficient"] == pytest.approx(0.02 * AccuracyScale()(Context(accuracy=metrics["success"])))
        assert report.progress.stage["sampler"] != table
        table = dict(report.progress.stage["sampler"])
        assert set(table) <= {"made_up/letters/a", "made_up/letters/e", "made_up/letters/o"}
        assert metrics["collapsed_groups"] >= 0
