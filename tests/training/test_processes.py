"""Two real processes: the loss and the gradient are those of one, and what happens to one happens to both."""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from holdergym.agents.backends.settings import VllmServerSettings, VllmSettings
from holdergym.agents.checkpoints import ModelError
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.envs.errors import ConfigError
from holdergym.training.metrics_log import read_metrics
from holdergym.training.models import open_models
from holdergym.training.presets import preset
from holdergym.training.processes import ALONE, Processes, ProcessesError, open_processes

from ..agents.conftest import tiny_checkpoint
from ..conftest import REPOSITORY
from .one_of_several import every_gradient, one_round
from .word_game import settings

__all__ = ["tiny_checkpoint"]

SETTINGS = {
    "agent.max_tokens": 8,
    "in_flight": 1,  # in a batch, rounding hangs on who else is in it
    "save_every": 1,
    "validation.every": 5,
    "validation.limit": 5,
    "updates": 2,
    "method.entropy.coefficient": 0.05,  # what moves a policy that never wins
}


def run_of(model: Path, out: Path, rounds: int) -> list[str]:
    made = [f"--set={key}={value}" for key, value in SETTINGS.items()]
    size = ["--rounds", str(rounds), "--groups", "2", "--group-size", "3", "--learning-rate", "0.001"]
    return ["train", "--model", str(model), "--env", "math", "--prompt", "free", *size, *made, "--out", str(out)]


class Member:
    """A process of several, started as a launcher does."""

    def __init__(self, arguments: list[str], rank: int, count: int, port: int, folder: Path) -> None:
        self.said = folder / f"said-{port}-{rank}"
        environment = {
            **os.environ,
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(count),
            "LOCAL_WORLD_SIZE": str(count),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "OMP_NUM_THREADS": "1",
        }
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *arguments], env=environment, cwd=REPOSITORY, stdout=said, stderr=said
            )

    def end(self, seconds: float = 150) -> tuple[int, str]:
        """The exit code and what was said."""
        try:
            code = self.process.wait(seconds)
        finally:
            self.process.kill()
        return code, self.said.read_text()


def start(arguments: list[str], folder: Path, count: int = 2, own: list[str] | None = None) -> list[Member]:
    """Starts processes.

    Args:
        arguments: Of all.
        folder: For what they say.
        count: How many.
        own: What the last one is told besides.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    more = [[]] * (count - 1) + [own or []]
    return [Member([*arguments, *more[rank]], rank, count, port, folder) for rank in range(count)]


def numbers(out: Path) -> list[dict[str, float]]:
    """The log without what the clock says."""
    left_out = ("seconds", "sampled_tokens_per_s", "trained_tokens_per_s", "memory")
    return [{key: value for key, value in line.items() if not key.startswith(left_out)} for line in read_metrics(out)]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "more"), [(2, []), (3, []), (2, ["shard"])], ids=["two", "three", "two-spread"])
def test_the_gradient_does_not_hang_on_the_number_of_processes(
    tiny_checkpoint: Path, tmp_path: Path, count: int, more: list[str]
) -> None:
    members = start(
        ["tests.training.one_of_several", str(tiny_checkpoint), str(tmp_path / "found.pt"), *more], tmp_path, count
    )
    for code, said in [member.end() for member in members]:
        assert code == 0, said
    record = torch.load(tmp_path / "found.pt", weights_only=True)
    assert record["count"] == count
    expected = every_gradient(tiny_checkpoint, ALONE)
    assert record["gradients"].keys() <= expected.keys()
    assert len(record["gradients"]) == (12 if more else len(expected))
    for name, (loss, gradient, metrics) in record["gradients"].items():
        whole = expected[name]
        assert loss == pytest.approx(whole.loss, abs=1e-5), name
        assert float((gradient - whole.gradient).norm()) <= 1e-5 * max(1.0, float(whole.gradient.norm())), name
        assert metrics == pytest.approx(whole.metrics, rel=1e-4, abs=1e-6, nan_ok=True), name
    clock = ("sampled_tokens_per_s", "trained_tokens_per_s", "sampler_mismatch")
    alone = one_round(tiny_checkpoint, ALONE).metrics
    for made in ("round", "recomputed"):
        assert record[made].keys() == alone.keys()
        for name, value in record[made].items():
            if name not in clock:
                assert value == pytest.approx(alone[name], rel=1e-4, abs=1e-6), (made, name)
    assert len(record["passes"]) == count
    for plain, recomputed in record["passes"]:
        assert recomputed == 2 * plain > 0
    assert record["adapters"]["alike"]
    assert record["adapters"]["gradient_norm"] > 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("shard", [False, True])
def test_a_killed_process_ends_all_and_the_run_goes_on(tiny_checkpoint: Path, tmp_path: Path, shard: bool) -> None:
    def command(out: str, rounds: int = 10, *, spread: bool = shard) -> list[str]:
        resume = ["--resume"] if (tmp_path / out / "config.toml").exists() else []
        more = [f"--set=shard={str(spread).lower()}", *resume]
        return ["holdergym", *run_of(tiny_checkpoint, tmp_path / out, rounds), *more]

    for member in start(command("whole"), tmp_path):
        code, said = member.end()
        assert code == 0, said
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for victim, lines in ((0, 3), (1, 6)):
        members = start(command("killed"), tmp_path)
        log, deadline = killed / "metrics.jsonl", time.monotonic() + 150
        while time.monotonic() < deadline and not (log.exists() and log.read_bytes().count(b"\n") >= lines):
            time.sleep(0.02)
        members[victim].process.kill()
        code, said = members[1 - victim].end(30)
        members[victim].end()
        assert code == 2, said
        assert "another process of the run has ended" in said
        assert "Traceback" not in said
    ended = [member.end() for member in start(command("killed"), tmp_path)]
    assert [code for code, _ in ended] == [0, 0], ended
    assert "best checkpoint" in ended[0][1]
    assert ended[1][1] == ""
    assert numbers(killed) == numbers(whole)
    assert [line["round"] for line in numbers(whole)] == list(range(11))
    # A run of two goes on as one, and of one as two, whichever way the weights are held.
    for count, rounds in ((1, 11), (2, 12)):
        for member in start(command("whole", rounds, spread=not shard), tmp_path, count):
            code, said = member.end()
            assert code == 0, said
    assert [line["round"] for line in numbers(whole)] == list(range(13))


@pytest.mark.parametrize(
    ("name", "backend", "message"),
    [
        ("agent", VllmSettings(), r"set agent\.backend\.name to vllm_server, .* or to transformers"),
        ("partner", VllmSettings(), r"set partner\.backend\.name to vllm_server, .* or to transformers"),
        ("explorer", VllmSettings(), r"set explorer\.backend\.name to transformers, .* or start one process"),
        ("explorer", VllmServerSettings(), r"set explorer\.backend\.name to transformers, .* or start one process"),
    ],
)
def test_engines_that_several_processes_cannot_have_are_refused(
    name: str, backend: VllmSettings | VllmServerSettings, message: str, tmp_path: Path
) -> None:
    class Two(Processes):
        count = 2

    plain = settings(
        tmp_path / "none",
        preset({"agent": "grpo", "explorer": "s2l-po", "partner": "codistill"}[name]),
        **({} if name == "agent" else {name: LanguageModelSettings(model="none", backend=backend)}),
    )
    if name == "agent":
        plain = replace(plain, agent=replace(plain.agent, backend=backend))
    with pytest.raises(ConfigError, match=message), open_models(plain, Two()):
        pass
    if name == "explorer":  # what plays from a file starts nothing: the next thing that is missing is the policy
        stored = replace(plain, explorer_samples=tmp_path / "tokens.npz")
        with pytest.raises(ModelError, match="there is no model"), open_models(stored, Two()):
            pass


@pytest.mark.slow
def test_a_warm_start_shares_its_demonstrations(tiny_checkpoint: Path, tmp_path: Path) -> None:
    def command(out: Path) -> list[str]:
        shown = ["--env", "math", "--panel", "builtin_small_valid", "--agent", "scratchpad", "--prompt", "free"]
        size = ["--rounds", "2", "--updates", "4", "--step-tokens", "400", "--set=validation.every=0"]
        return ["holdergym", "train", "sft", "--model", str(tiny_checkpoint), *shown, *size, "--out", str(out)]

    found = {}
    for count in (1, 3):
        ended = [member.end() for member in start(command(tmp_path / str(count)), tmp_path, count)]
        assert [code for code, _ in ended] == [0] * count, ended
        # 80 do not go evenly into 3, and the order of the sequences decides what is in a batch.
        assert "80 of 80 demonstrations were won: 80 sequences" in ended[0][1]
        found[count] = [(line["loss"], line["gradient_norm"]) for line in read_metrics(tmp_path / str(count))]
    assert len(found[1]) == 2
    for several, alone in zip(found[3], found[1], strict=True):
        assert several == pytest.approx(alone, rel=1e-4)


@pytest.mark.slow
def test_a_mistake_is_one_line_of_one_process(tiny_checkpoint: Path, tmp_path: Path) -> None:
    arguments = ["holdergym", *run_of(tiny_checkpoint, tmp_path / "run", 2)]
    # All make it.
    ended = [member.end() for member in start([*arguments, "--set=grup=3"], tmp_path)]
    assert [code for code, _ in ended] == [2, 2]
    said = "".join(text for _, text in ended)
    assert said.count("\n") == 1
    assert "did you mean" in said
    # The last one makes it.
    ended = [member.end() for member in start(arguments, tmp_path, own=["--model", str(tmp_path / "none")])]
    assert [code for code, _ in ended] == [2, 2]
    said = "".join(text for _, text in ended)
    assert said.count("\n") == 1
    assert str(tmp_path / "none") in said
    assert not (tmp_path / "run").exists()
    # They do not play the same.
    ended = [member.end() for member in start(arguments, tmp_path, own=["--panel", "builtin_difference_train"])]
    assert [code for code, _ in ended] == [2, 2]
    said = "".join(text for _, text in ended)
    assert said.count("\n") == 1
    assert "do not agree on the tasks" in said


@pytest.mark.slow
def test_interrupted_together(tiny_checkpoint: Path, tmp_path: Path) -> None:
    members = start(["holdergym", *run_of(tiny_checkpoint, tmp_path / "run", 500)], tmp_path)
    log, deadline = tmp_path / "run" / "metrics.jsonl", time.monotonic() + 150
    while time.monotonic() < deadline and not (log.exists() and log.read_bytes().count(b"\n") >= 2):
        time.sleep(0.02)
    for member in members:
        member.process.send_signal(signal.SIGINT)
    ended = [member.end(30) for member in members]
    assert {code for code, _ in ended} <= {130, 2}
    said = "".join(text for _, text in ended)
    assert said.count("goes on from its last checkpoint with --resume") == 1
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_loss_that_is_no_number_ends_all_and_keeps_the_batch(tiny_checkpoint: Path, tmp_path: Path) -> None:
    arguments = ["holdergym", *run_of(tiny_checkpoint, tmp_path / "run", 2), "--set=rewards.lost=-inf"]
    ended = [member.end() for member in start(arguments, tmp_path)]
    assert [code for code, _ in ended] == [2, 2]
    said = "".join(text for _, text in ended)
    assert said.count("the round's tokens are in") == 1
    assert (tmp_path / "run" / "not-finite.npz").is_file()


class Second(Processes):
    rank, count = 1, 3


class Third(Processes):
    rank, count = 2, 3


class First(Processes):
    rank, count = 0, 3


def test_work_is_dealt_out_whole_and_evenly() -> None:
    costs, together = [5, 1, 1, 9, 2, 2, 4, 3], [0, 0, 1, 2, 3, 3, 4, 5]
    dealt = [processes.deal(costs, together) for processes in (First(), Second(), Third())]
    assert sorted(number for mine in dealt for number in mine) == list(range(8))
    for mine in dealt:
        assert all(number in mine for key in {together[one] for one in mine} for number in _of(together, key))
        assert sum(costs[number] for number in mine) == 9
    assert ALONE.deal(costs, together) == list(range(8))
    shares = [processes.share("abcdefg") for processes in (First(), Second(), Third())]
    assert sorted("".join(letter for share in shares for letter in share)) == list("abcdefg")
    assert ALONE.share("abc") == ["a", "b", "c"]
    assert Third().share("ab") == []


def _of(keys: list[int], key: int) -> list[int]:
    return [number for number, other in enumerate(keys) if other == key]


def test_one_process_needs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with open_processes() as processes:
        assert processes is ALONE
    monkeypatch.setenv("WORLD_SIZE", "several")
    with pytest.raises(ConfigError, match="WORLD_SIZE is 'several'"), open_processes():
        pass


def test_what_differs_is_said() -> None:
    class Two(Processes):
        count = 2

        def gather(self, item: object) -> list[object]:  # type: ignore[override]
            return [item, "other"]

    ALONE.require_same("the tasks", 1)
    with pytest.raises(
        ProcessesError, match=r"do not agree on the tasks: 'mine' in process 0 and 'other' in process 1"
    ):
        Two().require_same("the tasks", "mine")


@pytest.mark.slow
def test_the_launchers_own_fsdp_is_refused(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    ended = [member.end() for member in start(["holdergym", *run_of(tiny_checkpoint, tmp_path / "r", 1)], tmp_path)]
    assert [code for code, _ in ended] == [2, 2]
    assert "the launcher asks for FSDP" in ended[0][1]
