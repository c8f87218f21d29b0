"""A real vLLM server behind the back end for servers, killed and started again while requests are on their way.

Run it where vLLM is installed: ``make test-vllm``.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

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
from holdergym.agents.backends.openai_backend import OpenAIBackend, find_model
from holdergym.agents.backends.settings import OpenAISettings
from holdergym.agents.checkpoints import ModelError

pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(600)]
MakeRequest = Callable[..., Request]
WAIT_S = 120
START_S = 240
PROMPTS = [tuple(range(start, start + length)) for start, length in ((5, 1), (40, 7), (90, 60), (3, 200))]


class Server:
    """A ``vllm serve`` in a process group of its own."""

    def __init__(self, model: Path, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._model = model
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it answers."""
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(self._model)]
        command += ["--served-model-name", "tiny", "--dtype", "float32", "--enforce-eager", "--max-num-seqs", "8"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(self.port)],
                stdout=log,
                stderr=log,
                env=os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"},
                start_new_session=True,
            )
        end = time.monotonic() + START_S
        while not self._answers():
            assert self._process.poll() is None, self._log.read_text()[-2000:]
            assert time.monotonic() < end, self._log.read_text()[-2000:]
            time.sleep(0.5)

    def kill(self) -> None:
        """kill -9, with all its workers."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/models", timeout=2) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False


@pytest.fixture(scope="module")
def server(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all tests; the one that kills it starts it again."""
    running = Server(tiny_checkpoint, tmp_path_factory.mktemp("server") / "log")
    try:
        running.start()
        yield running
    finally:
        running.kill()


@pytest.fixture
def backend(server: Server) -> Iterator[OpenAIBackend]:
    """The back end under test."""
    settings = OpenAISettings(base_url=server.url, retries=1)
    with closing(OpenAIBackend(settings, find_model(settings, "a folder here", sends_tokens=True))) as opened:
        yield opened


def test_what_it_serves_is_found(server: Server) -> None:
    settings = OpenAISettings(base_url=server.url)
    model = find_model(settings, "a folder here", sends_tokens=True)
    assert (model.id, model.owner, model.context_length) == ("tiny", "vllm", 512)
    with pytest.raises(ModelError, match="does not serve 'tony'; did you mean 'tiny'"):
        find_model(settings, "tony", sends_tokens=False)


def test_tokens_and_logprobs_are_those_of_a_plain_forward_pass(  # type: ignore[no-untyped-def]
    backend: OpenAIBackend, tiny_model, ask: MakeRequest, true_logprobs, assert_greedy
) -> None:
    requests = [ask(ids, max_tokens=32, temperature=t, seed=n) for n, ids in enumerate(PROMPTS) for t in (0.0, 1.0)]
    for request, future in [(request, backend.submit(request)) for request in requests]:
        generation = future.result(WAIT_S)
        assert generation.prompt_ids == request.prompt.ids  # type: ignore[union-attr]
        assert generation.logprobs == pytest.approx(true_logprobs(tiny_model, generation), abs=1e-3)
        assert generation.usage is not None
        assert (generation.usage.prompt, generation.usage.generated) == (
            len(generation.prompt_ids or ()),
            len(generation.response_ids or ()),
        )
        if request.sampling.temperature == 0.0:
            assert_greedy(tiny_model, generation)


def test_it_agrees_with_the_transformers_back_end(  # type: ignore[no-untyped-def]
    backend: OpenAIBackend, tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    from holdergym.agents.backends.transformers_backend import TransformersBackend

    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as other:
        for request in [ask(ids, max_tokens=24) for ids in PROMPTS]:
            ours, theirs = (one.submit(request).result(WAIT_S) for one in (backend, other))
            assert (ours.response_ids, ours.finish) == (theirs.response_ids, theirs.finish)
            assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-3)


def test_seeds_stop_texts_and_limits(backend: OpenAIBackend, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    first, second, again = _answers(backend, [ask(PROMPTS[1], temperature=1.0, seed=seed) for seed in (1, 2, 1)])
    assert first.response_ids == again.response_ids != second.response_ids
    [whole] = _answers(backend, [ask(PROMPTS[3], max_tokens=40)])
    assert whole.response_ids is not None
    assert (len(whole.response_ids), whole.finish) == (40, FinishReason.LENGTH)
    middle = len(tiny_tokenizer.decode(whole.response_ids[:21]))
    stop = whole.text[middle - 1 : middle + 2]
    [cut] = _answers(backend, [ask(PROMPTS[3], max_tokens=40, stop=(stop,))])
    assert (cut.text, cut.finish) == (whole.text[: whole.text.find(stop)], FinishReason.STOP)
    assert cut.response_ids == whole.response_ids[: len(cut.response_ids or ())]


def test_the_end_of_the_context_is_kept(backend: OpenAIBackend, ask: MakeRequest) -> None:
    assert backend.context_length == 512
    [last] = _answers(backend, [ask([7] * 508, max_tokens=50)])
    assert len(last.response_ids or ()) <= 4
    with pytest.raises(ContextOverflow, match="512 tokens"):
        backend.submit(ask([7] * 512)).result(WAIT_S)
    # Where the server is the first to see the tokens.
    long = Request(MessagePrompt((Message("user", "apple " * 600),)), Sampling(max_tokens=4))
    with pytest.raises(ContextOverflow):
        backend.submit(long).result(WAIT_S)


def test_messages_become_the_same_tokens_as_here(  # type: ignore[no-untyped-def]
    backend: OpenAIBackend, tiny_tokenizer, tiny_model, ask: MakeRequest, true_logprobs
) -> None:
    messages = (Message("system", "You play."), Message("user", "You see a desk 1."))
    chat = Request(MessagePrompt(messages), Sampling(max_tokens=16))
    generation = backend.submit(chat).result(WAIT_S)
    ids = tiny_tokenizer.apply_chat_template(
        [message._asdict() for message in messages], add_generation_prompt=True, return_dict=False
    )
    assert generation.prompt_ids == tuple(ids)
    assert generation.logprobs == pytest.approx(true_logprobs(tiny_model, generation), abs=1e-3)
    assert generation.response_ids == backend.submit(ask(ids, max_tokens=16)).result(WAIT_S).response_ids


def test_what_it_refuses_is_an_error_of_that_request_alone(backend: OpenAIBackend, ask: MakeRequest) -> None:
    with pytest.raises(BackendError, match="refuses the request, status 4"):
        backend.submit(ask((400_000,))).result(WAIT_S)
    assert _answers(backend, [ask(PROMPTS[0])])


def test_a_killed_server_costs_what_was_on_its_way_and_is_used_when_it_is_back(
    server: Server, backend: OpenAIBackend, ask: MakeRequest
) -> None:
    before = _answers(backend, [ask(ids) for ids in PROMPTS])
    on_their_way = [backend.submit(ask(ids, max_tokens=450, temperature=1.0, seed=9)) for ids in PROMPTS]
    time.sleep(0.3)
    server.kill()
    for future in on_their_way:
        with pytest.raises(BackendError, match="the connection failed"):
            future.result(WAIT_S)
    with pytest.raises(BackendError, match="the connection failed"):
        backend.submit(ask(PROMPTS[0])).result(WAIT_S)
    server.start()
    after = _answers(backend, [ask(ids) for ids in PROMPTS])
    assert [one.response_ids for one in after] == [one.response_ids for one in before]


def _answers(backend: OpenAIBackend, requests: list[Request]) -> list[Generation]:
    return [future.result(WAIT_S) for future in [backend.submit(request) for request in requests]]
