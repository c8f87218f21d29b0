"""The trainer with real small models: what it learns, and that kills and resumes change nothing."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch
from gymnasium import spaces
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.token_file import load_tokens
from holdergym.agents.trajectory import Outcome
from holdergym.envs.errors import ConfigError, HolderGymError
from holdergym.envs.panel import Panel
from holdergym.envs.settings import Layer, as_toml, resolve
from holdergym.envs.task import Task
from holdergym.training import run as training_run
from holdergym.training.config import LoraSettings, OptimiserSettings, TrainConfig, ValidationSettings
from holdergym.training.experience import RewardSettings
from holdergym.training.metrics_log import read_metrics
from holdergym.training.optimiser import Optimiser, rate_at
from holdergym.training.playground import Playground, tasks_of_round
from holdergym.training.plotting import plot_run
from holdergym.training.policy import Policy
from holdergym.training.presets import preset
from holdergym.training.run import train
from holdergym.training.saving import CheckpointError, Checkpoints
from holdergym.training.trainer import NotFiniteError, Progress, Trainer

from ..agents.conftest import tiny_checkpoint

__all__ = ["tiny_checkpoint"]


class WordGame(gymnasium.Env[str, str]):
    """Won by a reply with the letter that the task asks for: what a model with random weights can learn in seconds."""

    observation_space = spaces.Text(200)
    action_space = spaces.Text(200)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):  # type: ignore[no-untyped-def]
        super().reset(seed=seed)
        self._letter = (options or {})["task"].rpartition("/")[2]
        return f"Say {self._letter}", self._info(False)

    def step(self, action: str):  # type: ignore[no-untyped-def]
        won = self._letter in action
        return ("yes" if won else "no"), float(won), True, False, self._info(won)

    def _info(self, won: bool) -> dict[str, Any]:
        return {"won": won, "admissible_commands": [], "goal_condition_success_rate": float(won)}


PANEL = Panel.of("letters", [Task(f"made_up/letters/{letter}", letter, "0" * 64) for letter in "aeo"])
LETTERS = Playground("math", PANEL, PANEL, WordGame, WordGame)


@pytest.fixture
def config(tiny_checkpoint: Path, tmp_path: Path) -> TrainConfig:
    return TrainConfig(
        env="math",
        agent=LanguageModelSettings(model=str(tiny_checkpoint), prompt="free", max_tokens=6),
        method=preset("holderpo"),
        rounds=4,
        groups=3,
        group_size=8,
        updates=2,
        optimiser=OptimiserSettings(learning_rate=2e-3),
        validation=ValidationSettings(every=2),
        save_every=1,
        out=tmp_path / "run",
    )


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_run, "open_playground", lambda config: LETTERS)


def fresh(config: TrainConfig) -> Iterator[tuple[Trainer, Policy]]:
    with closing(Policy(config)) as policy:
        optimiser = Optimiser(policy.trained, config.optimiser, config.rounds * config.updates)
        yield Trainer(config, policy, LETTERS, optimiser), policy


@pytest.mark.parametrize("method", ["grpo", "holderpo", "gspo", "reinforce++"])
def test_it_learns(config: TrainConfig, method: str) -> None:
    """Success rises from a few replies in a hundred to most, whatever the method."""
    stages = preset(method)
    if method == "holderpo":
        stages = resolve(type(stages), [_layer(stages), Layer("", {"aggregation": {"exponent": {"rounds": 25}}})])
    config = replace(config, method=stages, rounds=25, optimiser=OptimiserSettings(learning_rate=3e-3))
    for trainer, _ in fresh(config):
        before = sum(one.outcome is Outcome.WON for one in trainer.validate())
        progress, first, last = Progress(), [], []
        for number in range(1, config.rounds + 1):
            report = trainer.round(progress)
            progress = report.progress
            (first if number <= 4 else last if number > 20 else []).append(report.metrics["success"])
        assert sum(last) / len(last) > max(0.9, sum(first[:2]) / 2 + 0.2)
        assert sum(one.outcome is Outcome.WON for one in trainer.validate()) >= max(2, before)
        assert progress == Progress(25, 50, progress.stage)


def _layer(method: object) -> Layer:
    import tomllib

    return Layer("preset", tomllib.loads(as_toml(method)))


def test_the_log_says_what_happened(config: TrainConfig, letters: None) -> None:
    train(config)
    lines = read_metrics(config.out)
    assert [line["round"] for line in lines] == [0, 1, 2, 3, 4]
    assert {"validation/success", "validation/episodes"} <= lines[0].keys()
    for line in lines[1:]:
        assert line["episodes"] == 24
        assert line["failed_episodes"] == 0
        # Sampler and trainer are two programs for one function.
        assert line["sampler_mismatch"] < 1e-3
        assert 0 <= line["success"] <= 1
        assert {"p", "entropy", "gradient_norm", "clip_share", "ratio_moved_share", "collapsed_groups"} <= line.keys()
        assert line["seconds/rollout"] > 0
    assert [line["p"] for line in lines[1:]] == pytest.approx([2 - 4 * number / 500 for number in range(1, 5)])


def test_the_saved_model_is_an_ordinary_checkpoint(config: TrainConfig, letters: None) -> None:
    best = train(config)
    assert best.parent.name.startswith("round-")
    for trainer, policy in fresh(replace(config, agent=replace(config.agent, model=str(best)))):
        assert policy.checkpoint.folder == best
        assert len(trainer.validate()) == 3
    kept = sorted(path.name for path in (config.out / "checkpoints").iterdir())
    assert len(kept) <= config.keep_last + 1
    assert kept[-1] == "round-000004"


def test_a_resumed_run_goes_on_as_if_nothing_had_been(config: TrainConfig, letters: None, tmp_path: Path) -> None:
    # One episode at a time: in a batch, rounding hangs on who else is in it.
    config = replace(config, in_flight=1)
    train(config)
    whole = _numbers(config.out)
    stopped = replace(config, rounds=2, out=tmp_path / "stopped")
    train(stopped)
    train(replace(stopped, rounds=4), resume=True)
    assert _numbers(stopped.out) == whole


def _numbers(out: Path) -> list[dict[str, float]]:
    """The log without what the clock says."""
    left_out = ("seconds", "sampled_tokens_per_s", "trained_tokens_per_s", "memory")
    return [{key: value for key, value in line.items() if not key.startswith(left_out)} for line in read_metrics(out)]


def test_a_torn_checkpoint_is_not_taken(config: TrainConfig, letters: None) -> None:
    train(replace(config, rounds=2))
    checkpoints = Checkpoints(config.out / "checkpoints", 2)
    (config.out / "checkpoints" / ".round-000003.new").mkdir()
    latest = checkpoints.latest()
    assert latest is not None
    assert latest.name == "round-000002"
    tensors = latest / "tensors.pt"
    tensors.write_bytes(tensors.read_bytes()[:100])
    with pytest.raises(CheckpointError, match="is damaged") as failure:
        train(config, resume=True)
    assert "\n" not in str(failure.value)


def test_another_architecture_is_refused(config: TrainConfig, letters: None) -> None:
    train(replace(config, rounds=1))
    path = config.out / "checkpoints" / "round-000001"
    state = torch.load(path / "tensors.pt", weights_only=True)
    state["weights"]["lm_head.weight"] = state["weights"]["lm_head.weight"][:-1]
    torch.save(state, path / "tensors.pt")
    with pytest.raises(CheckpointError, match=r"holds another model: lm_head.weight"):
        train(replace(config, rounds=2), resume=True)


def test_other_settings_are_refused(config: TrainConfig, letters: None) -> None:
    train(replace(config, rounds=1))
    with pytest.raises(HolderGymError, match="add --resume to go on"):
        train(config)
    with pytest.raises(HolderGymError, match="the setting 'group_size' is 8 there and 4 here"):
        train(replace(config, group_size=4), resume=True)


def test_a_loss_that_is_no_number_stops_before_the_step(config: TrainConfig, letters: None) -> None:
    broken = replace(config, rewards=RewardSettings(won=float("inf")))
    for trainer, policy in fresh(broken):
        before = [one.detach().clone() for one in policy.trained]
        with pytest.raises(NotFiniteError, match=r"round 1, step 1: .* try a lower optimiser\.learning_rate"):
            trainer.round(Progress())
        assert all(torch.equal(old, new) for old, new in zip(before, policy.trained, strict=True))
    with pytest.raises(HolderGymError, match=r"the round's tokens are in .*not-finite\.npz"):
        train(broken)
    assert load_tokens(config.out / "not-finite.npz").episodes == 24


def test_adapters_train_only_themselves(config: TrainConfig, letters: None) -> None:
    adapted = replace(config, lora=LoraSettings(rank=4, alpha=8), optimiser=OptimiserSettings(learning_rate=1e-2))
    for trainer, policy in fresh(adapted):
        frozen = {name: one.clone() for name, one in policy.model.named_parameters() if not one.requires_grad}
        assert sum(one.numel() for one in policy.trained) < 0.2 * sum(one.numel() for one in policy.model.parameters())
        report = trainer.round(Progress())
        report = trainer.round(report.progress)
        assert report.metrics["sampler_mismatch"] < 1e-3
        assert report.metrics["gradient_norm"] > 0
        assert all(torch.equal(one, frozen[name]) for name, one in policy.model.named_parameters() if name in frozen)
    best = train(adapted)
    for trainer, _ in fresh(replace(config, agent=replace(config.agent, model=str(best)))):
        assert len(trainer.validate()) == 3


def test_a_reference_holds_the_policy(config: TrainConfig) -> None:
    free = replace(config, method=preset("grpo"), rounds=3)
    for trainer, _ in fresh(free):
        report = trainer.round(Progress())
        report = trainer.round(report.progress)
        assert report.metrics["kl"] > 0


def test_the_draw_of_tasks_is_a_function_of_the_round() -> None:
    seen = [task.id for number in range(1, 7) for task in tasks_of_round(PANEL, 2, number, 5)]
    assert len(seen) == 12
    for start in range(0, 12, 3):
        assert len(set(seen[start : start + 3])) == 3
    assert seen != [task.id for number in range(1, 7) for task in tasks_of_round(PANEL, 2, number, 6)]


@pytest.mark.parametrize(
    ("decay", "rates"),
    [("constant", [0.5, 1, 1, 1, 1]), ("linear", [0.5, 1, 1, 2 / 3, 1 / 3]), ("cosine", [0.5, 1, 1, 0.75, 0.25])],
)
def test_warm_up_and_decay(decay: str, rates: list[float]) -> None:
    settings = OptimiserSettings(learning_rate=1.0, warmup=2, decay=decay)  # type: ignore[arg-type]
    assert [rate_at(number, settings, 5) for number in range(1, 6)] == pytest.approx(rates)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group_size": 1}, "group_size is 1"),
        ({"updates": 25}, "updates is 25"),
        ({"env": "math", "max_steps": 3}, "leave out max_steps"),
        ({"agent": LanguageModelSettings(model="m", temperature=0.0)}, "agent.temperature is 0"),
        ({"agent": LanguageModelSettings(model="m", top_p=0.9)}, "top_p"),
        ({"agent": LanguageModelSettings(model="m", snap=True)}, "snap"),
    ],
)
def test_settings_that_cannot_train(config: TrainConfig, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(config, **change)


def test_rewards_are_settings(config: TrainConfig) -> None:
    for trainer, _ in fresh(replace(config, rewards=RewardSettings(won=10.0))):
        metrics = trainer.round(Progress()).metrics
        assert metrics["reward"] == pytest.approx(10 * metrics["success"])


def test_the_curves_are_drawn(config: TrainConfig, letters: None, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    train(config)
    for name in ("curves.png", "curves.svg"):
        plot_run(config.out, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
    assert "validation, greedy" in (tmp_path / "curves.svg").read_text()
    with pytest.raises(HolderGymError, match=r"ends in \.png"):
        plot_run(config.out, tmp_path / "curves.gif")
    with pytest.raises(HolderGymError, match="not the folder of a training run"):
        plot_run(tmp_path, tmp_path / "curves.png")
