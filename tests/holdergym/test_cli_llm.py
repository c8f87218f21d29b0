"""Language models from the command line: real processes with a real small checkpoint, killed and gone on with."""

import importlib.util
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..agents.backends.misbehaving_server import Behaviour, MisbehavingServer, altered, properly, raw, status
from .test_cli_eval import HOLDERGYM, holdergym, summary_of

pytestmark = [pytest.mark.llm, pytest.mark.slow]

# Windows without lists of commands fit the small model's context of 512 tokens.
SHORT = ["--prompt", "window", "--set", "agent.history=0", "--set", "agent.admissible=false", "--max-steps", "4"]


@pytest.fixture(scope="module")
def model(tiny_checkpoint: Path) -> list[str]:
    return ["--model", str(tiny_checkpoint), *SHORT, "--set", "agent.max_tokens=10", "--set", "agent.temperature=1.0"]


@pytest.fixture(scope="module")
def whole(model: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "whole"
    holdergym("eval", *model, "--limit", "24", "--out", out)
    return out


def outcomes(run: Path) -> list[str]:
    return [json.loads(line)["outcome"] for line in (run / "episodes.jsonl").read_text().splitlines()]


def test_a_run_folder_has_everything(whole: Path) -> None:
    assert {path.name for path in whole.iterdir()} >= {
        "config.toml",
        "manifest.json",
        "episodes.jsonl",
        "summary.json",
        "tokens.npz",
    }
    manifest = json.loads((whole / "manifest.json").read_text())
    assert manifest["agent"] == "tiny-llama (window)"
    assert "prompt window@" in manifest["agent_fingerprint"]
    assert {"torch", "transformers", "tokenizers"} <= set(manifest["sessions"][0]["versions"])
    assert "limit" in outcomes(whole)
    assert set(outcomes(whole)) <= {"limit", "context_overflow"}


def test_kill_and_resume_give_the_same_summary_to_the_byte(whole: Path, model: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    rng = random.Random(5)
    command = [*HOLDERGYM, "eval", *model, "--limit", "24", "--out", str(out), "--workers", "3"]
    for _ in range(3):
        process = subprocess.Popen([*command, "--resume"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        lines = out / "episodes.jsonl"
        before = lines.read_bytes().count(b"\n") if lines.exists() else 0
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if lines.exists() and lines.read_bytes().count(b"\n") >= before + 2:
                break
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.wait()
    holdergym("eval", *model, "--limit", "24", "--out", out, "--resume")
    assert (out / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()


def test_text_is_the_same_with_other_neighbours(whole: Path, model: list[str], tmp_path: Path) -> None:
    holdergym("eval", *model, "--limit", "24", "--out", tmp_path / "one", "--workers", "1")
    said = [
        {json.loads(line)["task_id"]: [turn["response_ids"] for turn in json.loads(line)["turns"]] for line in lines}
        for lines in ((run / "episodes.jsonl").read_text().splitlines() for run in (whole, tmp_path / "one"))
    ]
    assert said[0] == said[1]


_SERVE = """
import sys, time
sys.path.insert(0, sys.argv[1])
from misbehaving_server import Book, MisbehavingServer
server = MisbehavingServer.__new__(MisbehavingServer)
server.book = Book(models=[{"id": "tiny", "owned_by": "vllm", "max_model_len": 512}], seconds=0.05)
server._start(int(sys.argv[2]))
print(server.url, flush=True)
time.sleep(600)
"""
_FOLDER = Path(__file__).resolve().parent.parent / "agents" / "backends"


class ServerProcess:
    """A server in a process of its own, which can be killed and begun again at the same address."""

    def __init__(self) -> None:
        self.url = ""
        self.begin()

    def begin(self) -> None:
        port = self.url.removesuffix("/v1").rpartition(":")[2] or "0"
        command = [sys.executable, "-c", _SERVE, str(_FOLDER), port]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def server_process() -> Iterator[ServerProcess]:
    made = ServerProcess()
    yield made
    made.kill()


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    made = MisbehavingServer()
    made.book.models = [{"id": "tiny", "owned_by": "vllm", "max_model_len": 512}]
    yield made
    made.die()


def served(server: MisbehavingServer | ServerProcess, tiny_checkpoint: Path) -> list[str]:
    backend = {"base_url": server.url, "retries": 1, "send": "tokens"}
    settings = [f"--set=agent.backend.{key}={value}" for key, value in backend.items()]
    return ["--model", str(tiny_checkpoint), "--backend", "openai", *settings, *SHORT, "--set", "agent.max_tokens=10"]


def needs_client() -> None:
    if importlib.util.find_spec("httpx") is None and importlib.util.find_spec("httpx2") is None:
        pytest.skip("needs the extra `openai`")


def test_a_server_that_dies_costs_no_finished_episode_and_scores_nothing_0(
    server_process: ServerProcess, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    needs_client()
    out = tmp_path / "run"
    arguments = [*served(server_process, tiny_checkpoint), "--limit", "12", "--workers", "2", "--out", str(out)]
    process = subprocess.Popen(
        [*HOLDERGYM, "eval", *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    lines = out / "episodes.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if lines.exists() and lines.read_bytes().count(b"\n") >= 3:
            break
        time.sleep(0.01)
    server_process.kill()
    shown, complaint = process.communicate(timeout=120)
    assert process.returncode == 1, complaint
    summary = summary_of(out)["overall"]
    assert summary["errors"] > 0
    assert summary["finished"] + summary["errors"] == 12
    assert summary["finished"] >= 3
    kept = [line for line in lines.read_text().splitlines() if json.loads(line)["outcome"] != "error"]
    assert "error" in shown
    server_process.begin()
    holdergym("eval", "--resume", "--out", out)
    assert summary_of(out)["overall"]["finished"] == 12
    assert set(kept) < set(lines.read_text().splitlines())


def test_garbage_and_refusals_in_the_middle_of_a_run(
    server: MisbehavingServer, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    needs_client()
    big = altered(text="go " * 3_400_000)
    server.book.planned.extend([status(429, **{"Retry-After": "0"}), status(500), status(503), raw(b"<html>")])
    out = tmp_path / "run"
    arguments = [*served(server, tiny_checkpoint), "--limit", "3", "--out", str(out), "--workers", "1"]
    holdergym("eval", *arguments, "--set", "agent.backend.retries=5")
    assert summary_of(out)["overall"]["finished"] == 3
    # 10 MB where ten tokens were asked for are no answer: an error, which is played again.
    server.book.planned.extend([big] * 2)
    out = tmp_path / "big"
    arguments[arguments.index("--out") + 1] = str(out)
    holdergym("eval", *arguments, code=1)
    assert summary_of(out)["overall"]["errors"] >= 1
    holdergym("eval", "--resume", "--out", out)
    assert summary_of(out)["overall"]["finished"] == 3


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (status(401, "the key was withdrawn"), "status 401: the key was withdrawn; a key is read from"),
        (status(404, "tiny was unloaded"), "status 404: tiny was unloaded; set agent.backend.served_model"),
    ],
)
def test_a_server_that_refuses_all_requests_ends_the_run_and_costs_nothing(
    server: MisbehavingServer, tiny_checkpoint: Path, tmp_path: Path, refusal: Behaviour, words: str, workers: int
) -> None:
    needs_client()
    out = tmp_path / "run"
    server.book.planned.extend([properly] * 15 + [refusal] * 100)
    arguments = [*served(server, tiny_checkpoint), "--limit", "12", "--workers", str(workers), "--out", str(out)]
    said = holdergym("eval", *arguments, code=2)
    (line,) = [line for line in said.splitlines() if line.startswith("holdergym")]
    assert words in line
    assert line.endswith(f"what was played is in {out}, and --resume goes on from there")
    assert "Traceback" not in said
    assert len(server.book.received) <= 15 + workers  # not once an episode
    kept = (out / "episodes.jsonl").read_text().splitlines()
    assert 1 <= len(kept) <= 15 // 4 + workers
    assert "error" not in outcomes(out)
    server.book.planned.clear()
    holdergym("eval", "--resume", "--out", out)
    assert summary_of(out)["overall"]["finished"] == 12
    assert (out / "episodes.jsonl").read_text().splitlines()[: len(kept)] == kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "no-such-folder/x"], "no-such-folder/x"),
        (["--model", "smollm2"], "smollm2"),
        (["--model", "EMPTY"], "config.json"),
        (["--model", "TORN"], "TORN"),
        (["--model", "TINY", "--backend", "vlm"], "did you mean 'vllm'?"),
        (["--model", "TINY", "--prompt", "windw"], "did you mean 'window'?"),
        (
            ["--model", "TINY", "--backend", "openai", "--set", "agent.backend.base_url=http://127.0.0.1:9/v1"],
            "127.0.0.1:9",
        ),
        (["--model", "TINY", "--set", "agent.temperature=-1"], "agent.temperature"),
        (["--model", "TINY", "--set", "agent.backend.max_batch=0"], "agent.backend.max_batch"),
        (["--model", "TINY", "--set", "agent.backend.tensor_parallel_size=2"], "agent.backend.tensor_parallel_size"),
        (["--agent", "llm"], "agent.model"),
        (["--agent", "expert", "--model", "TINY"], "agent"),
        (["--model", "BARE"], "agent.chat_template=plain"),
        (["--model", "TINY", "--protocol", "gigpo"], "did you mean 'gigpo-128'?"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    arguments: list[str], message: str, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    places = {name: tmp_path / name for name in ("EMPTY", "TORN", "BARE")} | {"TINY": tiny_checkpoint}
    places["EMPTY"].mkdir()
    shutil.copytree(tiny_checkpoint, places["TORN"])
    weights = places["TORN"] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    shutil.copytree(tiny_checkpoint, places["BARE"])
    (places["BARE"] / "chat_template.jinja").unlink()
    given = [str(places.get(argument, argument)) for argument in arguments]
    done = subprocess.run(
        [sys.executable, "-m", "holdergym", "eval", *given, "--limit", "2", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("holdergym: error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "out" / "episodes.jsonl").exists()
