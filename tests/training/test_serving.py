"""Who computes rollouts: the trainer's own model, or a real vLLM engine that gets its weights after each round.

The engine's tests run where vLLM is installed: ``make test-vllm``.
"""

import importlib.util
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from holdergym.agents.backends.settings import OpenAISettings, TransformersSettings, VllmSettings
from holdergym.agents.rollout import EpisodeJob
from holdergym.envs.errors import ConfigError
from holdergym.training.config import LoraSettings, TrainConfig
from holdergym.training.models import open_models
from holdergym.training.policy import Policy
from holdergym.training.presets import preset
from holdergym.training.serving import FLOAT32_LARGEST, ServingError, VllmEngine
from holdergym.training.trainer import Progress, Trainer
from transformers import LlamaConfig, LlamaForCausalLM

from ..agents.conftest import save_tokenizer
from .word_game import LETTERS, PANEL, settings

HAS_VLLM = importlib.util.find_spec("vllm") is not None


def checkpoint(folder: Path, *, tied: bool) -> Path:
    """A small Llama with random weights and a head size that vLLM's attention for CPUs has."""
    vocabulary = save_tokenizer(folder)
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=128,
            intermediate_size=192,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=64,
            max_position_embeddings=512,
            initializer_range=0.1,
            eos_token_id=2,
            bos_token_id=None,
            pad_token_id=0,
            tie_word_embeddings=tied,
        )
    )
    model.save_pretrained(folder)
    return folder


def run(folder: Path, backend: TransformersSettings | VllmSettings, **changes: object) -> TrainConfig:
    """Two rounds of two optimiser steps."""
    config = settings(folder, preset("grpo"), in_flight=4, **changes)
    return replace(config, agent=replace(config.agent, backend=backend))


def trained(config: TrainConfig) -> Iterator[tuple[Trainer, Policy, Progress]]:
    """Plays the rounds of a run and yields before the first and after each."""
    with open_models(config) as models:
        trainer, progress = Trainer(config, models, LETTERS), Progress()
        yield trainer, models.policy, progress
        for _ in range(config.rounds):
            report = trainer.round(progress)
            progress = report.progress
            # What the sampler said of its tokens is what the trainer finds.
            assert report.metrics["sampler_mismatch"] < FLOAT32_LARGEST
            yield trainer, models.policy, progress


def played_with(trainer: Trainer) -> set[int | None]:
    """With which weights episodes are played, in training and in validation."""
    jobs = [EpisodeJob(task, 0, 1) for task in PANEL.tasks]
    episodes = [*trainer._request(PANEL.tasks, 1).policy.play(jobs).values(), *trainer.validate(trainer.learners[0])]
    assert all(one.outcome.finished for one in episodes)
    return {one.updates for one in episodes}


def test_each_episode_says_with_which_weights_it_was_played(tmp_path: Path) -> None:
    config = run(checkpoint(tmp_path / "model", tied=False), TransformersSettings())
    for trainer, _, progress in trained(config):
        assert played_with(trainer) == {progress.update}
    assert progress.update == 4


def test_a_server_that_takes_no_weights_is_refused(tmp_path: Path) -> None:
    config = run(checkpoint(tmp_path / "model", tied=False), TransformersSettings())
    with pytest.raises(ConfigError, match="cannot be given the weights"):
        Policy(replace(config, agent=replace(config.agent, backend=OpenAISettings())))


@pytest.fixture
def small_engine(monkeypatch: pytest.MonkeyPatch) -> VllmSettings:
    """Settings of an engine that fits into little memory."""
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return VllmSettings(dtype="float32", engine={"max_num_seqs": 8})


class _Reloads:
    """What vLLM itself offers for new weights from a folder, with the prefix cache forgotten."""

    def __init__(self, policy: Policy) -> None:
        self._backend = vars(vars(policy)["_serving"])["backend"]

    def take_weights(self, folder: Path, timeout_s: float) -> None:
        engine, loop = vars(self._backend)["_engine"], vars(self._backend)["_loop"]
        loop.submit(engine.collective_rpc("reload_weights", kwargs={"weights_path": str(folder)})).result(timeout_s)
        assert loop.submit(engine.reset_prefix_cache()).result(timeout_s)


@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not HAS_VLLM, reason="needs vllm: the extra of that name")
@pytest.mark.parametrize("kind", ["untied", "tied", "adapters"])
def test_the_engine_plays_with_the_weights_of_each_round(
    kind: str, tmp_path: Path, small_engine: VllmSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psutil")
    if kind == "adapters":
        pytest.importorskip("peft")
    config = run(
        checkpoint(tmp_path / "model", tied=kind == "tied"),
        small_engine,
        lora=LoraSettings(rank=4) if kind == "adapters" else None,
    )
    before: list[torch.Tensor] = []
    for trainer, policy, progress in trained(config):
        serving = vars(policy)["_serving"]
        assert isinstance(serving, VllmEngine)
        assert serving.check().largest < FLOAT32_LARGEST
        assert played_with(trainer) == {progress.update}
        now = [one.detach().clone() for one in policy.trained]
        assert not before or not all(torch.equal(one, other) for one, other in zip(before, now, strict=True))
        before = now
        if progress.round == config.rounds:
            _assert_caught(kind, policy, progress, monkeypatch)
    assert progress == Progress(2, 4, progress.stage)


def _assert_caught(kind: str, policy: Policy, progress: Progress, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that goes on with older weights, wholly or in part, is noticed, and one that catches up is not."""
    import psutil

    serving = vars(policy)["_serving"]
    stale = "does not play with the weights that are trained: .* off by .* set agent.backend.name=transformers"
    with torch.no_grad():
        for weight in policy.trained:
            weight.add_(0.01 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))
    with pytest.raises(ServingError, match=stale) as error:
        serving.check()
    assert "\n" not in str(error.value)
    with monkeypatch.context() as patch:
        patch.setattr(serving.backend, "take_weights", lambda folder, timeout_s: None)
        with pytest.raises(ServingError, match=stale):
            policy.weights_changed(progress.update + 1)
        assert policy.updates == progress.update
        if kind == "tied":  # returns as if all were well, and the output layer has the old weights
            patch.setattr(serving.backend, "take_weights", _Reloads(policy).take_weights)
            with pytest.raises(ServingError, match=stale):
                policy.weights_changed(progress.update + 1)
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", "/dev/null/nowhere")
        with pytest.raises(ServingError, match=r"cannot write the weights for vLLM: .*set TMPDIR"):
            policy.weights_changed(progress.update + 1)
    policy.weights_changed(progress.update + 1)
    assert policy.updates == progress.update + 1
    for process in psutil.Process().children(recursive=True):
        if "EngineCore" in " ".join([process.name(), *process.cmdline()]):
            process.kill()
    with pytest.raises(ServingError, match="has died"):
        policy.weights_changed(progress.update + 2)
