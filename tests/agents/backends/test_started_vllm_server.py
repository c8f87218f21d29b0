"""A real vLLM server that the back end starts itself, against plain forward passes of the transformers library.

Run it where vLLM is installed: ``make test-vllm``.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

pytest.importorskip("httpx2")

from holdergym.agents.backends.backend import (
    BackendError,
    ContextOverflow,
    FinishReason,
    Generation,
    Message,
    MessagePrompt,
    Request,
    Sampling,
)
from holdergym.agents.backends.settings import VllmServerSettings
from holdergym.agents.backends.vllm_server import VllmServerBackend, open_vllm_server
from holdergym.agents.checkpoints import ModelError

pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(600)]

MakeRequest = Callable[..., Request]
WAIT_S = 120
PROMPTS = [tuple(range(start, start + length)) for start, length in ((5, 1), (40, 7), (90, 60), (3, 200))]
SETTINGS = VllmServerSettings(
    environment={"VLLM_CPU_KVCACHE_SPACE": 1, "HF_HUB_OFFLINE": 1}, dtype="float32", engine={"max_num_seqs": 8}
)


@pytest.fixture(scope="module")
def backend(tiny_checkpoint: Path, tiny_tokenizer) -> Iterator[VllmServerBackend]:  # type: ignore[no-untyped-def]
    """A server for all tests that leave it whole."""
    with closing(open_vllm_server(tiny_checkpoint, SETTINGS, tiny_tokenizer)) as server:
        yield server


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the servers of a test have their files; pytest's own folders have too long names for a socket."""
    with tempfile.TemporaryDirectory() as folder, monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_tokens_and_logprobs_are_those_of_a_plain_forward_pass(  # type: ignore[no-untyped-def]
    backend: VllmServerBackend, tiny_model, ask: MakeRequest, true_logprobs, assert_greedy
) -> None:
    assert (backend.context_length, backend.dtype) == (512, "float32")
    requests = [ask(ids, max_tokens=32, temperature=t, seed=n) for n, ids in enumerate(PROMPTS) for t in (0.0, 1.0)]
    for request, generation in zip(requests, _answers(backend, requests), strict=True):
        assert generation.prompt_ids == request.prompt.ids  # type: ignore[union-attr]
        assert generation.logprobs == pytest.approx(true_logprobs(tiny_model, generation), abs=1e-3)
        assert generation.usage is not None
        assert (generation.usage.prompt, generation.usage.generated) == (
            len(generation.prompt_ids or ()),
            len(generation.response_ids or ()),
        )
        if request.sampling.temperature == 0.0:
            assert_greedy(tiny_model, generation)


def test_it_says_the_same_as_the_transformers_back_end_to_the_character(  # type: ignore[no-untyped-def]
    backend: VllmServerBackend, tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    from holdergym.agents.backends.transformers_backend import TransformersBackend

    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as other:
        [whole] = _answers(other, [ask(PROMPTS[3], max_tokens=40)])
        letters = re.search(r"[a-z]{2}", whole.text[10:])  # each back end has its own view of halves of characters
        assert letters is not None
        stop = letters.group()
        # A response that begins within a character, or is cut in one, is where a server's own text is another.
        requests = [ask(ids, max_tokens=most) for ids in PROMPTS for most in (1, 2, 3, 24)]
        requests.append(ask(PROMPTS[3], max_tokens=40, stop=(stop,)))
        for ours, theirs in zip(_answers(backend, requests), _answers(other, requests), strict=True):
            assert (ours.text, ours.response_ids, ours.finish) == (theirs.text, theirs.response_ids, theirs.finish)


def test_a_common_beginning_is_counted_as_cached(backend: VllmServerBackend, ask: MakeRequest) -> None:
    long = [7 + place % 90 for place in range(300)]
    _answers(backend, [ask(long)])
    [again] = _answers(backend, [ask(long)])
    assert again.usage is not None
    assert again.usage.cached is not None
    assert again.usage.cached >= 128


def test_limits_are_kept(backend: VllmServerBackend, ask: MakeRequest) -> None:
    [last] = _answers(backend, [ask([7] * 508, max_tokens=50)])
    assert len(last.response_ids or ()) <= 4
    assert last.finish in FinishReason
    with pytest.raises(ContextOverflow, match="512 tokens"):
        backend.submit(ask([7] * 512)).result(WAIT_S)
    with pytest.raises(TypeError, match="takes tokens"):
        backend.submit(Request(MessagePrompt((Message("user", "Hello"),)), Sampling(max_tokens=4)))


def test_nobody_else_reaches_it(backend: VllmServerBackend) -> None:
    folder = vars(backend)["_running"].folder
    assert folder.stat().st_mode & 0o777 == 0o700
    [serving] = _serving(folder)
    assert not [one for one in serving.net_connections("inet") if one.status == psutil.CONN_LISTEN]


def test_what_cannot_be_started_is_one_line_with_its_log(  # type: ignore[no-untyped-def]
    tiny_checkpoint: Path, tiny_tokenizer, tmp_path: Path, temporary: Path
) -> None:
    for folder, changes, reason in (
        (tiny_checkpoint, {"engine": {"max_num_sequences": 8}}, "unrecognized arguments.*max.num.sequences"),
        (tiny_checkpoint, {"max_context": 100_000}, "max_model_len"),
        (tmp_path, {}, "config"),
    ):
        with pytest.raises(ModelError, match=f"(?i)the vLLM server does not start: .*{reason}") as error:
            open_vllm_server(folder, replace(SETTINGS, **changes), tiny_tokenizer)  # type: ignore[arg-type]
        assert "\n" not in str(error.value)
        log = Path(str(error.value).rpartition("(see ")[2].rstrip(")"))
        assert log.stat().st_size > 0
        assert list(log.parent.iterdir()) == [log]
    assert not _of(temporary)


def test_one_that_takes_too_long_to_start_is_ended(tiny_checkpoint: Path, tiny_tokenizer, temporary: Path) -> None:  # type: ignore[no-untyped-def]
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"does not start within 2 seconds \(agent\.backend\.start_s\)"):
        open_vllm_server(tiny_checkpoint, replace(SETTINGS, start_s=2.0), tiny_tokenizer)
    assert time.monotonic() - began < 60
    assert not _of(temporary)


def test_it_plays_for_the_evaluator_and_leaves_nothing(tiny_checkpoint: Path, tmp_path: Path, temporary: Path) -> None:
    settings = ["environment.VLLM_CPU_KVCACHE_SPACE=1", "dtype=float32", "engine.max_num_seqs=8"]
    command = [sys.executable, "-m", "holdergym", "eval", "--env", "math", "--model", str(tiny_checkpoint), "--quiet"]
    command += ["--backend", "vllm_server", *(f"--set=agent.backend.{one}" for one in settings)]
    command += ["--limit", "3", "--set", "agent.max_tokens=8", "--out", str(tmp_path / "run")]
    environment = os.environ | {"TMPDIR": str(temporary), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WAIT_S * 2, check=False)
    assert done.returncode == 0, done.stderr
    episodes = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert len(episodes) == 3
    assert not {one["outcome"] for one in episodes} & {"error", "timeout"}
    assert list(temporary.iterdir()) == []
    assert not _of(temporary)


def test_its_end_is_the_reason_of_what_it_cannot_answer(  # type: ignore[no-untyped-def]
    tiny_checkpoint: Path, tiny_tokenizer, ask: MakeRequest, temporary: Path
) -> None:
    server = open_vllm_server(tiny_checkpoint, SETTINGS, tiny_tokenizer)
    with closing(server):
        futures = [server.submit(ask(PROMPTS[1], max_tokens=400, temperature=1.0, seed=seed)) for seed in range(16)]
        [serving] = _serving(temporary)
        serving.kill()
        errors = [future.exception(WAIT_S) for future in futures]
        assert any(errors)
        for error in filter(None, errors):
            assert isinstance(error, ModelError)
            assert "the vLLM server has died" in str(error)
            assert "signal 9 (SIGKILL)" in str(error)
            assert "\n" not in str(error)
    server.close()
    assert [path.name for folder in temporary.iterdir() for path in folder.iterdir()] == ["server.log"]
    assert not _of(temporary)


def test_weights_of_another_model_end_it_and_say_why(  # type: ignore[no-untyped-def]
    tiny_checkpoint: Path, tiny_tokenizer, tmp_path: Path, temporary: Path
) -> None:
    from safetensors.torch import save_file
    from torch import zeros

    save_file({"model.norm.weight": zeros(3)}, tmp_path / "model.safetensors")
    with closing(open_vllm_server(tiny_checkpoint, SETTINGS, tiny_tokenizer)) as server:
        with pytest.raises((BackendError, ModelError), match="Attempted to load weight") as error:
            server.take_weights(tmp_path, WAIT_S)
        assert "\n" not in str(error.value)
    assert not _of(temporary)


def _answers(backend: object, requests: list[Request]) -> list[Generation]:
    futures = [backend.submit(request) for request in requests]  # type: ignore[attr-defined]
    return [future.result(WAIT_S) for future in futures]


def _of(folder: Path) -> list[psutil.Process]:
    """The processes that work in a folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.cwd().startswith(str(folder)):
                found.append(process)
    return found


def _serving(folder: Path) -> list[psutil.Process]:
    """The process that answers; its keeper has the same words behind others."""
    return [one for one in _of(folder) if one.cmdline()[1:2] and "vllm_launcher" in one.cmdline()[1]]
