"""Who computes rollouts: the trainer's own model, or a real vLLM engine or server that gets its weights each round.

The engine's tests run where vLLM is installed: ``make test-vllm``. Those of a server run anywhere if
HOLDERGYM_VLLM_PYTHON names the interpreter of another environment in which it is.
"""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch
from holdergym.agents.backends.settings import (
    OpenAISettings,
    TransformersSettings,
    VllmServerSettings,
    VllmSettings,
)
from holdergym.agents.backends.vllm_backend import VllmBackend
from holdergym.agents.rollout import EpisodeJob
from holdergym.envs.errors import ConfigError
from holdergym.training.config import LoraSettings, TrainConfig
from holdergym.training.metrics_log import read_metrics
from holdergym.training.models import open_models
from holdergym.training.policy import Policy
from holdergym.training.presets import preset
from holdergym.training.processes import Processes
from holdergym.training.serving import FLOAT32_LARGEST, ServingError, VllmEngine
from holdergym.training.trainer import Progress, Trainer
from transformers import LlamaConfig, LlamaForCausalLM

from ..agents.conftest import save_tokenizer
from .word_game import LETTERS, PANEL, settings

HAS_VLLM = importlib.util.find_spec("vllm") is not None
OTHER_PYTHON = os.environ.get("HOLDERGYM_VLLM_PYTHON")


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


def run(
    folder: Path, backend: TransformersSettings | VllmSettings | VllmServerSettings, **changes: object
) -> TrainConfig:
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
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where servers have their files; pytest's own folders have too long names for a socket."""
    with tempfile.TemporaryDirectory() as folder, monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@pytest.fixture(params=["engine", "server"])
def small_engine(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, temporary: Path
) -> VllmSettings | VllmServerSettings:
    """Settings of an engine that fits into little memory, in this process or behind a server."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if request.param == "server":
        if not HAS_VLLM and OTHER_PYTHON is None:
            pytest.skip("needs vllm, here or where HOLDERGYM_VLLM_PYTHON says")
        return VllmServerSettings(
            python=OTHER_PYTHON,
            environment={"VLLM_CPU_KVCACHE_SPACE": 1},
            dtype="float32",
            engine={"max_num_seqs": 8},
        )
    if not HAS_VLLM:
        pytest.skip("needs vllm: the extra of that name")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    return VllmSettings(dtype="float32", engine={"max_num_seqs": 8})


class _Reloads:
    """What vLLM itself offers for new weights from a folder, with the prefix cache forgotten."""

    def __init__(self, policy: Policy) -> None:
        self._backend = vars(vars(policy)["_serving"])["backend"]

    def take_weights(self, folder: Path, timeout_s: float) -> None:
        loop = vars(self._backend)["_loop"]
        if not isinstance(self._backend, VllmBackend):
            post = self._backend._post
            body = {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}}
            loop.submit(post("collective_rpc", body)).result(timeout_s)
            assert loop.submit(post("reset_prefix_cache")).result(timeout_s) == {"success": True}
            return
        engine = vars(self._backend)["_engine"]
        loop.submit(engine.collective_rpc("reload_weights", kwargs={"weights_path": str(folder)})).result(timeout_s)
        assert loop.submit(engine.reset_prefix_cache()).result(timeout_s)


@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["untied", "tied", "adapters"])
def test_the_engine_plays_with_the_weights_of_each_round(
    kind: str,
    tmp_path: Path,
    small_engine: VllmSettings | VllmServerSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
        patch.setattr(serving.backend, "scratch", None)
        with pytest.raises(ServingError, match=r"cannot write the weights for vLLM: .*set TMPDIR"):
            policy.weights_changed(progress.update + 1)
    policy.weights_changed(progress.update + 1)
    assert policy.updates == progress.update + 1
    for process in psutil.Process().children(recursive=True):
        if "EngineCore" in " ".join([process.name(), *process.cmdline()]):
            process.kill()
    with pytest.raises(ServingError, match="has died") as error:
        policy.weights_changed(progress.update + 2)
    assert "\n" not in str(error.value)


def test_an_engine_in_one_of_several_processes_is_refused(tmp_path: Path) -> None:
    class Two(Processes):
        count = 2

    with (
        pytest.raises(ConfigError, match=r"set agent\.backend\.name to vllm_server, .* or to transformers"),
        open_models(run(tmp_path, VllmSettings()), Two()),
    ):
        pass


def test_a_server_that_cannot_be_started_is_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    config = run(tmp_path / "no such model", VllmServerSettings(python=str(tmp_path / "python")))
    with pytest.raises(ConfigError, match=r"cannot start the interpreter .*agent\.backend\.python"):
        Policy(config)


class Second(Processes):
    """A process that another one leads."""

    rank = 1
    count = 2


def test_a_process_that_starts_no_server_needs_no_vllm(tmp_path: Path) -> None:
    jobs = [EpisodeJob(task, 0, 1) for task in PANEL.tasks]
    model = checkpoint(tmp_path / "model", tied=False)
    for settings_, mine in (
        (VllmServerSettings(python=str(tmp_path / "python")), []),
        (TransformersSettings(), jobs[1::2]),
    ):
        with closing(Policy(run(model, settings_), Second())) as policy:
            assert policy.share(jobs) == mine
    with pytest.raises(ConfigError, match="cannot start the interpreter"):
        Policy(run(model, VllmServerSettings(python=str(tmp_path / "python"))))


def command(model: Path, out: Path, rounds: int, *more: str) -> list[str]:
    """A run from the command line that plays with a server of its own."""
    backend = ["name=vllm_server", "dtype=float32", "engine.max_num_seqs=8", "environment.VLLM_CPU_KVCACHE_SPACE=1"]
    backend += [] if OTHER_PYTHON is None else [f"python={OTHER_PYTHON}"]
    made = [sys.executable, "-m", "holdergym", "train", "--model", str(model), "--env", "math", "--prompt", "free"]
    made += ["--rounds", str(rounds), "--groups", "2", "--group-size", "3", "--out", str(out)]
    made += [f"--set=agent.backend.{one}" for one in backend]
    made += ["--set=agent.max_tokens=8", "--set=validation.every=0", "--set=save_every=1", "--set=updates=2"]
    return [*made, "--set=method.entropy.coefficient=0.05", *more]  # what moves a policy that never wins


class Run:
    """A run in a process of its own, and all that it has started."""

    def __init__(self, arguments: list[str], out: Path, temporary: Path) -> None:
        self._out = out
        self._temporary = temporary
        environment = os.environ | {"TMPDIR": str(temporary), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def until_round(self, number: int) -> None:
        """Waits until a round is done."""
        end, log = time.monotonic() + 300, self._out / "metrics.jsonl"
        while not log.exists() or f'"round": {number}' not in log.read_text():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.05)

    def end(self) -> tuple[int, str]:
        """Exit code, and what was said on standard error; nothing that was started is left."""
        _, error = self.process.communicate(timeout=300)
        end = time.monotonic() + 60
        while self.processes():
            assert time.monotonic() < end, self.processes()
            time.sleep(0.1)
        return self.process.returncode, error

    def processes(self) -> list[psutil.Process]:
        """The server's processes, with their keeper."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.cwd().startswith(str(self._temporary)):
                    found.append(process)
        return found


@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not HAS_VLLM and OTHER_PYTHON is None, reason="needs vllm, or HOLDERGYM_VLLM_PYTHON")
def test_a_run_with_a_server_is_killed_gone_on_with_and_loses_its_server(tmp_path: Path, temporary: Path) -> None:
    model, out = checkpoint(tmp_path / "model", tied=True), tmp_path / "run"
    killed = Run(command(model, out, 1000), out, temporary)
    killed.until_round(2)
    assert len(killed.processes()) >= 3  # the keeper, the server, its engine
    killed.process.kill()
    assert killed.end()[0] == -signal.SIGKILL
    before = len(read_metrics(out))

    gone_on = Run(command(model, out, before + 2, "--resume"), out, temporary)
    code, error = gone_on.end()
    assert code == 0, error
    assert [line["round"] for line in read_metrics(out)] == list(range(1, before + 3))
    assert all(line["sampler_mismatch"] < FLOAT32_LARGEST for line in read_metrics(out))

    assert list(temporary.iterdir()) == []  # nor does the run that was killed leave anything
    dying = Run(command(model, out, 1000, "--resume"), out, temporary)
    dying.until_round(before + 3)
    engines = [one for one in dying.processes() if "EngineCore" in " ".join([one.name(), *one.cmdline()])]
    for one in engines:
        one.kill()
    assert engines
    code, error = dying.end()
    assert code == 2
    [line] = [one for one in error.splitlines() if one.startswith("holdergym: error: ")]
    assert "the vLLM server has died, start again with --resume" in line
    assert "Traceback" not in error
    [kept] = temporary.iterdir()
    assert [path.name for path in kept.iterdir()] == ["server.log"]

    interrupted = Run(command(model, out, 1000, "--resume"), out, temporary)
    interrupted.until_round(len(read_metrics(out)) + 1)
    interrupted.process.send_signal(signal.SIGINT)
    code, error = interrupted.end()
    assert code == 130, error
    assert "Traceback" not in error
    assert list(temporary.iterdir()) == [kept]


@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not HAS_VLLM and OTHER_PYTHON is None, reason="needs vllm, or HOLDERGYM_VLLM_PYTHON")
def test_several_processes_share_one_server(tmp_path: Path, temporary: Path) -> None:
    model, out = checkpoint(tmp_path / "model", tied=True), tmp_path / "run"
    launched = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    dying = Run([*launched, *command(model, out, 1000, "--set=shard=true")], out, temporary)
    dying.until_round(2)
    engines = [one for one in dying.processes() if "EngineCore" in " ".join([one.name(), *one.cmdline()])]
    assert len(engines) == 1
    engines[0].kill()
    code, error = dying.end()
    assert code != 0
    assert error.count("the vLLM server has died, start again with --resume") == 1, error
    assert error.count("holdergym: error: ") == 1, error
    done = len(read_metrics(out))
    # One process goes on where two were.
    code, error = Run(command(model, out, done + 1, "--resume"), out, temporary).end()
    assert code == 0, error
    lines = read_metrics(out)
    assert [line["round"] for line in lines] == list(range(1, len(lines) + 1))
    assert len(lines) == done + 1
    assert all(line["sampler_mismatch"] < FLOAT32_LARGEST for line in lines)
    assert all(line["episodes"] == 6 for line in lines)  # each was played once
