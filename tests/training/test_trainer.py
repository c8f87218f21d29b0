"""The trainer with real small models: what it learns, and that kills and resumes change nothing."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from holdergym.agents.backends.settings import VllmServerSettings
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
from holdergym.training.learner import NotFiniteError
from holdergym.training.metrics_log import read_metrics
from holdergym.training.models import open_models
from holdergym.training.optimiser import rate_at
from holdergym.training.playground import validation_panel
from holdergym.training.plotting import plot_run
from holdergym.training.policy import Policy
from holdergym.training.presets import preset
from holdergym.training.run import train
from holdergym.training.sampling import DrawInputs, UniformSampler, tasks_of_round
from holdergym.training.saving import CheckpointError, Checkpoints
from holdergym.training.scoring import require_plain_head
from holdergym.training.trainer import Progress, Trainer, shares_of_round
from transformers import AutoModelForCausalLM

from ..agents.conftest import tiny_checkpoint
from .word_game import LETTERS, PANEL

__all__ = ["tiny_checkpoint"]


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
    with open_models(config) as models:
        yield Trainer(config, models, LETTERS), models.policy


@pytest.mark.parametrize("method", ["grpo", "holderpo", "gspo", "reinforce++"])
def test_it_learns(config: TrainConfig, method: str) -> None:
    """Success rises from a few replies in a hundred to most, whatever the method."""
    stages = preset(method)
    if method == "holderpo":
        stages = resolve(type(stages), [_layer(stages), Layer("", {"aggregation": {"exponent": {"rounds": 25}}})])
    config = replace(config, method=stages, rounds=25, optimiser=OptimiserSettings(learning_rate=3e-3))
    for trainer, _ in fresh(config):
        before = sum(one.outcome is Outcome.WON for one in trainer.validate(trainer.learners[0]))
        progress, first, last = Progress(), [], []
        for number in range(1, config.rounds + 1):
            report = trainer.round(progress)
            progress = report.progress
            (first if number <= 4 else last if number > 20 else []).append(report.metrics["success"])
        assert sum(last) / len(last) > max(0.9, sum(first[:2]) / 2 + 0.2)
        assert sum(one.outcome is Outcome.WON for one in trainer.validate(trainer.learners[0])) >= max(2, before)
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
        assert len(trainer.validate(trainer.learners[0])) == 3
    kept = sorted(path.name for path in (config.out / "checkpoints").iterdir())
    assert len(kept) <= config.keep_last + 1
    assert kept[-1] == "round-000004"


def test_a_resumed_run_goes_on_as_if_nothing_had_been(config: TrainConfig, letters: None, tmp_path: Path) -> None:
    # One episode at a time: in a batch, rounding hangs on who else is in it.
    config = replace(config, in_flight=1, epochs=2)
    train(config)
    whole = _numbers(config.out)
    stopped = replace(config, rounds=2, out=tmp_path / "stopped")
    train(stopped)
    train(replace(stopped, rounds=4), resume=True)
    assert _numbers(stopped.out) == whole


def test_epochs_are_further_passes_over_the_same_episodes(config: TrainConfig) -> None:
    config = replace(config, updates=1, optimiser=OptimiserSettings(learning_rate=2e-3, decay="linear"))
    found = {}
    for epochs in (1, 3):
        for trainer, _ in fresh(replace(config, epochs=epochs)):
            found[epochs] = trainer.round(Progress())
            rate = trainer.learners[0].optimiser.rate
            # Linear over all steps of the run, of which these were taken.
            assert rate == pytest.approx(2e-3 * (1 - (epochs - 1) / (4 * epochs)))
    once, thrice = found[1].metrics, found[3].metrics
    assert (found[1].progress.update, found[3].progress.update) == (1, 3)
    assert once["episodes"] == thrice["episodes"] == 24
    assert once["success"] == thrice["success"]  # both were played before anything was learned
    # A pass over everything is one step; by the second pass the policy is not the one that played.
    assert once["ratio_moved_share"] == 0
    assert 0.3 < thrice["ratio_moved_share"] <= 2 / 3
    trained = {epochs: one.metrics["trained_tokens_per_s"] * one.seconds["update"] for epochs, one in found.items()}
    assert trained[3] == pytest.approx(3 * trained[1])


def test_each_pass_deals_all_episodes_out_anew(config: TrainConfig) -> None:
    dealt = shares_of_round(24, replace(config, updates=5, epochs=2), number=3)
    first, second = dealt[:5], dealt[5:]
    for share_of_all in (first, second):
        assert sorted(episode for share in share_of_all for episode in share) == list(range(24))
        assert {len(share) for share in share_of_all} == {4, 5}
    assert first != second
    assert first == shares_of_round(24, replace(config, updates=5, epochs=1), number=3)
    # Fewer episodes than steps are left after a selection: no step is empty.
    assert [len(share) for share in shares_of_round(2, replace(config, updates=5), number=3)] == [1, 1]


def _numbers(out: Path) -> list[dict[str, float]]:
    """The log without what the clock says."""
    left_out = ("seconds", "sampled_tokens_per_s", "trained_tokens_per_s", "memory")
    return [{key: value for key, value in line.items() if not key.startswith(left_out)} for line in read_metrics(out)]


def test_a_run_goes_on_from_wherever_it_is_asked_to(
    config: TrainConfig, letters: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model named by a path from here is the same model from elsewhere."""
    folder = Path(config.agent.model)
    monkeypatch.chdir(folder.parent)
    near = replace(config, agent=replace(config.agent, model=folder.name))
    train(replace(near, rounds=1))
    monkeypatch.chdir(tmp_path)
    train(replace(config, rounds=2), resume=True)
    assert [line["round"] for line in read_metrics(config.out)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("panel", "validated", "expected"),
    [
        (None, None, "builtin_valid"),
        ("builtin_difference_train", None, "builtin_difference_valid"),
        ("builtin_difference_train", "builtin_small_valid", "builtin_small_valid"),
        ("math500", None, "builtin_valid"),
        ("builtin_small_valid", None, "builtin_valid"),
    ],
)
def test_what_is_validated_on_is_like_what_is_trained_on(
    config: TrainConfig, panel: str | None, validated: str | None, expected: str
) -> None:
    assert validation_panel(replace(config, panel=panel, validation=ValidationSettings(panel=validated))) == expected


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


def _complaint(path: Path) -> str:
    try:
        Checkpoints(path.parent, 2).restore(path)
    except CheckpointError as error:
        return str(error)
    return ""


def test_every_damage_to_a_checkpoint_is_noticed(config: TrainConfig, letters: None) -> None:
    train(replace(config, rounds=1))
    path = config.out / "checkpoints" / "round-000001"
    whole = {name: (path / name).read_bytes() for name in ("tensors.pt", "state.json")}
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        for name, content in whole.items():
            place = int(torch.randint(len(content), (1,), generator=generator))
            broken = bytearray(content)
            broken[place] ^= 1 << int(torch.randint(7, (1,), generator=generator))
            (path / name).write_bytes(broken)
            said = _complaint(path)
            assert "\n" not in said
            # JSON has bits that say nothing of a run: those of a blank, or of the best rate.
            assert said or name == "state.json"
            (path / name).write_bytes(content)


def test_another_architecture_is_refused(config: TrainConfig, letters: None) -> None:
    train(replace(config, rounds=1))
    path = config.out / "checkpoints" / "round-000001"
    state = torch.load(path / "tensors.pt", weights_only=True)
    weights = state["learners"]["policy"]["weights"]
    weights["lm_head.weight"] = weights["lm_head.weight"][:-1]
    torch.save(state, path / "tensors.pt")
    record = json.loads((path / "state.json").read_text())
    record["sha256"] = hashlib.sha256((path / "tensors.pt").read_bytes()).hexdigest()
    (path / "state.json").write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match=r"holds another model: lm_head.weight"):
        train(replace(config, rounds=2), resume=True)


def test_a_checkpoint_of_the_first_form_is_gone_on_from(config: TrainConfig, letters: None, tmp_path: Path) -> None:
    """Before there were stages that remember and second learners, it held one policy's weights and optimiser."""
    config = replace(config, in_flight=1)
    train(replace(config, rounds=2))
    shutil.copytree(config.out, tmp_path / "old")
    path = tmp_path / "old" / "checkpoints" / "round-000002"
    state = torch.load(path / "tensors.pt", weights_only=True)
    torch.save(state["learners"]["policy"], path / "tensors.pt")
    record = json.loads((path / "state.json").read_text())
    record |= {"schema": 1, "stage": {}, "sha256": hashlib.sha256((path / "tensors.pt").read_bytes()).hexdigest()}
    (path / "state.json").write_text(json.dumps(record))
    train(config, resume=True)
    train(replace(config, out=tmp_path / "old"), resume=True)
    window = "collapsed_groups_50"  # the form did not hold the rates of the rounds before
    logs = [
        [{key: line[key] for key in line if key != window} for line in _numbers(out)]
        for out in (config.out, tmp_path / "old")
    ]
    assert logs[0] == logs[1]


def test_one_process_at_a_time(config: TrainConfig, letters: None) -> None:
    config = replace(config, agent=replace(config.agent, temperature=1.0))
    train(replace(config, rounds=1))
    with training_run.set_up(config), pytest.raises(HolderGymError, match=r"another process \(pid \d+\) is writing"):
        train(replace(config, rounds=2), resume=True)


def test_a_run_killed_in_its_first_round_is_not_validated_twice(config: TrainConfig, letters: None) -> None:
    config = replace(config, keep_last=9)
    train(config)
    for number in range(1, 5):
        shutil.rmtree(config.out / "checkpoints" / f"round-{number:06}")
    train(config, resume=True)
    assert [line["round"] for line in read_metrics(config.out)] == [0, 1, 2, 3, 4]


def test_gradient_checkpointing_computes_again_and_changes_no_gradient(config: TrainConfig) -> None:
    found = []
    for checkpointing in (False, True):
        for trainer, policy in fresh(replace(config, in_flight=1, gradient_checkpointing=checkpointing)):
            calls = []
            layer = policy.model.model.layers[0].mlp
            layer.register_forward_pre_hook(lambda *_, calls=calls: calls.append(torch.is_grad_enabled()))
            report = trainer.round(Progress())
            assert not policy.model.training
            found.append((report.metrics["gradient_norm"], report.metrics["loss"], sum(calls)))
    assert found[0][:2] == pytest.approx(found[1][:2], rel=1e-4)
    assert found[1][2] > found[0][2]


def test_a_model_whose_logits_are_scaled_is_refused(tiny_checkpoint: Path) -> None:
    from transformers import GraniteConfig, GraniteForCausalLM

    small = dict(vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    with pytest.raises(HolderGymError, match="cannot be trained here yet"):
        require_plain_head(GraniteForCausalLM(GraniteConfig(**small, num_key_value_heads=2, logits_scaling=4.0)))
    require_plain_head(AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype=torch.float32))


def test_other_temperatures(config: TrainConfig) -> None:
    """Old log-probabilities are those at the sampling temperature, so the first ratios are 1 at any."""
    hot = replace(config, agent=replace(config.agent, temperature=0.7), updates=1)
    for trainer, _ in fresh(hot):
        metrics = trainer.round(Progress()).metrics
        assert metrics["ratio_moved_share"] == 0
        assert "sampler_mismatch" not in metrics
    behaviour = replace(config.method, aggregation=replace(config.method.aggregation, denominator="behaviour"))
    with pytest.raises(ConfigError, match=r"leave agent\.temperature at 1"):
        replace(hot, method=behaviour)


def test_other_settings_are_refused(config: TrainConfig, letters: None) -> None:
    train(replace(config, rounds=1))
    with pytest.raises(HolderGymError, match="add --resume to go on"):
        train(config)
    with pytest.raises(HolderGymError, match="the setting 'group_size' is 8 there and 4 here"):
        train(replace(config, group_size=4), resume=True)


def test_where_a_server_runs_may_change(config: TrainConfig) -> None:
    def with_server(**changes: Any) -> TrainConfig:
        backend = VllmServerSettings(python="here/python", environment={"CUDA_VISIBLE_DEVICES": 1})
        return replace(config, agent=replace(config.agent, backend=replace(backend, **changes)))

    config.out.mkdir()
    (config.out / "config.toml").write_text(with_server().to_toml())
    checkpoints = Checkpoints(config.out / "checkpoints", 2)
    there = with_server(python="there/python", environment={"CUDA_VISIBLE_DEVICES": 0}, start_s=60.0)
    assert training_run.look(there, checkpoints, resume=True) is None
    with pytest.raises(HolderGymError, match=r"the setting 'agent\.backend\.dtype' is 'auto' there"):
        training_run.look(with_server(dtype="float32"), checkpoints, resume=True)


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
        assert len(trainer.validate(trainer.learners[0])) == 3


def test_a_reference_holds_the_policy(config: TrainConfig) -> None:
    free = replace(config, method=preset("grpo"), rounds=3)
    for trainer, _ in fresh(free):
        report = trainer.round(Progress())
        report = trainer.round(report.progress)
        assert report.metrics["kl"] > 0


def test_further_tasks_of_a_round_pass_none_over() -> None:
    """The first tasks of the rounds are those of a run that wants no further ones."""
    panel = Panel.of("numbers", [Task(f"made_up/numbers/{number:02}", "", "0" * 64) for number in range(12)])
    sampler, seen = UniformSampler(), []
    for number in range(1, 7):
        drawn = sampler(DrawInputs(panel, 4, number, 5, further=12), {})
        assert drawn[:4] == sampler(DrawInputs(panel, 4, number, 5), {})
        assert len({task.id for task in drawn[:12]}) == 12  # those that are left, before one comes again
        assert len(drawn) == 16
        assert drawn[4:] != sampler(DrawInputs(panel, 4, number, 6, further=12), {})[4:]
        seen += [task.id for task in drawn[:4]]
    assert sorted(seen) == sorted(2 * [task.id for task in panel.tasks])


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
