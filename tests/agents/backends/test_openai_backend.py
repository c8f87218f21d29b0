"""The back end for servers, against a real server that misbehaves on purpose."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace

import pytest

pytest.importorskip("httpx2")

from holdergym.agents.backends import openai_backend
from holdergym.agents.backends.backend import (
    BackendError,
    BackendTimeout,
    ContextOverflow,
    FinishReason,
    Generation,
    Message,
    MessagePrompt,
    Request,
    Sampling,
    TokenPrompt,
)
from holdergym.agents.backends.openai_backend import OpenAIBackend, find_model
from holdergym.agents.backends.openai_wire import Model, body_of, generation_from
from holdergym.agents.backends.settings import OpenAISettings
from holdergym.agents.checkpoints import ModelError
from holdergym.agents.usage import Usage

from .misbehaving_server import (
    RESPONSE_IDS,
    Behaviour,
    MisbehavingServer,
    altered,
    completion,
    drip,
    hang,
    hang_up,
    hang_up_midway,
    pour,
    raw,
    status,
)

MODEL = Model("tiny", "vllm", 100)
WAIT_S = 30
KEY = "sk-secret-0123456789"


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    """A server that does as it is told."""
    running = MisbehavingServer()
    yield running
    running.die()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off as ever, but 50 times as fast; and no key of whoever runs the tests."""
    monkeypatch.setattr(openai_backend, "_FIRST_PAUSE", 0.01)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def settings(server: MisbehavingServer) -> OpenAISettings:
    """How to reach it, with two retries."""
    return OpenAISettings(base_url=server.url, retries=2)


def _tokens(timeout_s: float = WAIT_S, prompt: tuple[int, ...] = (5, 6, 7, 8), max_tokens: int = 16) -> Request:
    return Request(TokenPrompt(prompt), Sampling(max_tokens=max_tokens), timeout_s)


def _messages(timeout_s: float = WAIT_S) -> Request:
    return Request(MessagePrompt((Message("user", "Go!"),)), Sampling(max_tokens=16), timeout_s)


def _garbage() -> dict[str, Behaviour]:
    prompt = [5, 6, 7, 8]
    short = {"token_logprobs": [-0.5, -1.25]}
    return {
        "no JSON": raw(b"{{{"),
        "HTML": raw(b"<html><body>It works!</body></html>"),
        "nothing": raw(b""),
        "half a character": raw(b'{"choices": "\xc3'),
        "deep": raw(b"[" * 100_000),
        "a list": raw(b"[1, 2]"),
        "no choices": raw(b"{}"),
        "empty choices": raw(b'{"choices": []}'),
        "a choice that is none": raw(b'{"choices": [7]}'),
        "a text that is none": altered(text=None),
        "too few log-probabilities": altered(logprobs=short),
        "too many log-probabilities": altered(logprobs={"token_logprobs": [-0.5] * 9}),
        "log-probabilities that are none": altered(logprobs={"token_logprobs": [-0.5, float("nan"), -0.1]}),
        "log-probabilities as texts": altered(logprobs={"token_logprobs": ["-0.5"] * 3}),
        "tokens as texts": altered(token_ids=["go"] * 3),
        "another prompt": altered(prompt_token_ids=prompt[::-1]),
        "an aborted response": altered(finish_reason="abort"),
        "a failed response": altered(finish_reason="error"),
        "a response without an end": altered(finish_reason=None),
        "a response with an unheard-of end": altered(finish_reason="insufficient\nresources" * 9),
        "a response whose end is no word": altered(finish_reason=["stop"]),
    }


GARBAGE = _garbage()
PASSING: dict[str, Behaviour] = {
    "429": status(429, "slow down"),
    "429 with Retry-After": status(429, "slow down", Retry_After="0.2"),
    "429 with a date": status(429, "slow down", Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"),
    "500": status(500),
    "500 with HTML": raw(b"<html>oops</html>", 500),
    "502 with nothing": raw(b"", 502),
    "503": status(503, "loading"),
    "520": status(520, "unknown error of a proxy"),
    "524": raw(b"<html>a time-out behind a proxy</html>", 524),
    "529": status(529, "overloaded"),
    "hangs up": hang_up,
    "hangs up midway": hang_up_midway,
}


@pytest.mark.parametrize("fault", [*GARBAGE, *PASSING])
def test_what_may_pass_is_tried_again_and_not_for_ever(
    fault: str, server: MisbehavingServer, settings: OpenAISettings
) -> None:
    behave = (GARBAGE | PASSING)[fault]
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        server.book.planned.extend([behave, behave])
        generation = backend.submit(_tokens()).result(WAIT_S)
        assert (generation.text, generation.response_ids) == ("go", tuple(RESPONSE_IDS))
        first, second, third = [received.moment for received in server.book.received]
        if fault == "429 with Retry-After":
            assert min(second - first, third - second) >= 0.2
        server.book.planned.extend([behave] * 9)
        with pytest.raises(BackendError, match="after 3 attempts: ") as caught:
            backend.submit(_tokens()).result(WAIT_S)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500
        assert len(server.book.received) == 3 + 3


def test_the_pause_grows_and_is_spread() -> None:
    pauses = [[openai_backend._pause(attempt) for _ in range(200)] for attempt in range(20)]
    for attempt, drawn in enumerate(pauses):
        longest = min(30.0, 0.01 * 2**attempt)
        assert longest / 2 <= min(drawn) < max(drawn) <= longest


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (status(400, "temperature must be\nnon-negative"), "status 400: temperature must be non-negative"),
        (raw(b"", 422), "status 422: it says nothing"),
        (raw(b"<html>\n\n<b>Moved</b>", 301), "status 301: <html> <b>Moved</b>"),
        (altered(finish_reason="content_filter"), "content filter has kept the response back"),
    ],
)
def test_what_stays_wrong_is_not_tried_again(
    behave: Behaviour, words: str, server: MisbehavingServer, settings: OpenAISettings
) -> None:
    server.book.planned.append(behave)
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        with pytest.raises(BackendError) as caught:
            backend.submit(_tokens()).result(WAIT_S)
        assert not isinstance(caught.value, BackendTimeout | ContextOverflow)
        assert words in str(caught.value)
        assert len(server.book.received) == 1
        assert backend.submit(_tokens()).result(WAIT_S).text == "go"


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (status(401, "invalid key"), "status 401: invalid key; a key is read from the environment variable MY_KEY"),
        (status(402, "no credit"), "status 402: no credit; a key is read from"),
        (status(403, "no"), "status 403: no; a key is read from the environment variable MY_KEY"),
        (status(404, "no model `tiny`\nhere"), "status 404: no model `tiny` here; set agent.backend.served_model"),
        (raw(b'{"detail": "no such route"}', 404), "no such route'}; set agent.backend.served_model"),
    ],
)
def test_what_every_request_would_be_told_is_no_matter_of_one(
    behave: Behaviour, words: str, server: MisbehavingServer, settings: OpenAISettings
) -> None:
    server.book.planned.append(behave)
    with closing(OpenAIBackend(replace(settings, api_key_env="MY_KEY"), MODEL)) as backend:
        with pytest.raises(ModelError, match="refuses all requests") as caught:
            backend.submit(_tokens()).result(WAIT_S)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
        assert len(server.book.received) == 1


def test_403_is_a_matter_of_one_request_where_others_are_answered(
    server: MisbehavingServer, settings: OpenAISettings
) -> None:
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        backend.submit(_tokens()).result(WAIT_S)
        server.book.planned.append(status(403, "your input was flagged"))
        with pytest.raises(BackendError, match="status 403: your input was flagged"):
            backend.submit(_tokens()).result(WAIT_S)
        server.book.planned.append(status(401, "the key was withdrawn"))
        with pytest.raises(ModelError, match="the key was withdrawn"):
            backend.submit(_tokens()).result(WAIT_S)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "This model's maximum context length is 100 tokens. However, you requested 120 tokens."},
        {"message": "Your input exceeds the limit.", "code": "context_length_exceeded"},
        {"message": "the request exceeds the available context size, try increasing it"},
        {"message": "The input (120 tokens) is longer than the model's context length (100 tokens)."},
    ],
)
def test_a_prompt_that_is_too_long_has_an_error_of_its_own(
    error: dict[str, str], server: MisbehavingServer, settings: OpenAISettings
) -> None:
    server.book.planned.append(raw(json.dumps({"error": error}).encode(), 400))
    backend = OpenAIBackend(settings, MODEL._replace(context_length=None))
    with closing(backend), pytest.raises(ContextOverflow):
        backend.submit(_messages()).result(WAIT_S)
    assert len(server.book.received) == 1


def test_a_known_context_is_kept_without_asking(server: MisbehavingServer, settings: OpenAISettings) -> None:
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        future = backend.submit(_tokens(prompt=tuple(range(100))))  # the future raises, not the call
        with pytest.raises(ContextOverflow, match="100 tokens and the context 100"):
            future.result(WAIT_S)
        assert not server.book.received
        backend.submit(_tokens(prompt=tuple(range(95)))).result(WAIT_S)
    assert server.book.received[0].body["max_tokens"] == 5


@pytest.mark.parametrize("behave", [hang, drip])
def test_a_server_that_hangs_is_left_and_others_are_served(
    behave: Behaviour, server: MisbehavingServer, settings: OpenAISettings
) -> None:
    server.book.planned.append(behave)
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        began = time.monotonic()
        hanging = backend.submit(_tokens(timeout_s=0.6))
        _until(lambda: server.book.active == 1)
        assert backend.submit(_tokens()).result(WAIT_S).text == "go"
        with pytest.raises(BackendTimeout, match=r"within 0\.6 seconds"):
            hanging.result(WAIT_S)
        assert 0.6 <= time.monotonic() - began < 5
        assert len(server.book.received) == 2  # a late answer is not asked for again


def test_a_pause_longer_than_the_time_left_is_not_waited_for(
    server: MisbehavingServer, settings: OpenAISettings
) -> None:
    server.book.planned.append(status(429, "quota used up", Retry_After="86400"))
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        began = time.monotonic()
        with pytest.raises(BackendError, match="quota used up"):
            backend.submit(_tokens(timeout_s=20)).result(WAIT_S)
    assert time.monotonic() - began < 5


def test_an_answer_of_ten_megabytes_is_not_read_to_its_end(server: MisbehavingServer, settings: OpenAISettings) -> None:
    server.book.planned.extend([pour, raw(b'{"choices": "' + b"x" * 10_000_000)])
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        for _ in range(2):
            with pytest.raises(BackendError, match="more than 1,0"):
                backend.submit(_tokens()).result(WAIT_S)
        assert backend.submit(_tokens()).result(WAIT_S).text == "go"
    assert len(server.book.received) == 3


def test_no_more_requests_than_allowed_are_on_their_way(server: MisbehavingServer, settings: OpenAISettings) -> None:
    server.book.seconds = 0.05
    with closing(OpenAIBackend(replace(settings, concurrency=3), MODEL)) as backend:
        _results([backend.submit(_tokens()) for _ in range(20)])
    assert server.book.most_active == 3


def test_no_more_requests_than_allowed_begin_in_a_minute(server: MisbehavingServer, settings: OpenAISettings) -> None:
    server.book.planned.extend([status(500)] * 2)  # what is sent again counts as well
    with closing(OpenAIBackend(replace(settings, requests_per_minute=600), MODEL)) as backend:
        _results([backend.submit(_tokens()) for _ in range(6)])
    moments = sorted(received.moment for received in server.book.received)
    assert len(moments) == 8
    assert moments[-1] - moments[0] >= 0.1 * 7 - 0.05


def test_the_key_is_sent_and_never_repeated(
    server: MisbehavingServer,
    settings: OpenAISettings,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    settings = replace(settings, api_key_env="MY_KEY", retries=0)
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        for behave in (status(401, f"Incorrect API key: {KEY}"), status(500, f"Bearer {KEY}"), raw(KEY.encode(), 400)):
            server.book.planned.append(behave)
            with pytest.raises((BackendError, ModelError), match=r"\*\*\*") as caught:
                backend.submit(_tokens()).result(WAIT_S)
            assert KEY not in str(caught.value)
    assert {received.headers["Authorization"] for received in server.book.received} == {f"Bearer {KEY}"}
    server.book.models = status(401, f"Incorrect API key: {KEY}")
    with pytest.raises(ModelError, match=r"\*\*\*.*MY_KEY") as caught_too:
        find_model(settings, "tiny", sends_tokens=True)
    assert KEY not in str(caught_too.value)
    assert KEY not in "".join(capfd.readouterr())
    monkeypatch.setenv("MY_KEY", "sk-\u2028with a blank")
    with pytest.raises(ModelError, match="MY_KEY holds characters") as caught_too:
        find_model(settings, "tiny", sends_tokens=True)
    assert "with a blank" not in str(caught_too.value)


def test_without_a_key_none_is_sent(server: MisbehavingServer, settings: OpenAISettings) -> None:
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        backend.submit(_tokens()).result(WAIT_S)
    assert "Authorization" not in server.book.received[0].headers


def test_an_answer_becomes_a_generation(settings: OpenAISettings) -> None:
    ours = Generation("go", FinishReason.STOP, (5, 6, 7, 8), tuple(RESPONSE_IDS), (-0.5, -1.25, -0.125), Usage(4, 2, 3))
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        assert backend.submit(_tokens()).result(WAIT_S) == ours
        # Of a chat the server says what the model saw only where it tells the tokens.
        assert backend.submit(_messages()).result(WAIT_S) == replace(ours, prompt_ids=None)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # Without tokens log-probabilities are of no use, and the trajectory cannot be trained on.
        ({"token_ids": None}, (None, None)),
        ({"logprobs": None}, (tuple(RESPONSE_IDS), None)),
        ({"finish_reason": "length"}, (tuple(RESPONSE_IDS), (-0.5, -1.25, -0.125))),
    ],
)
def test_what_a_server_does_not_tell_is_none(
    changes: dict[str, object], expected: tuple[object, object], server: MisbehavingServer, settings: OpenAISettings
) -> None:
    server.book.planned.append(altered(**changes))
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        generation = backend.submit(_tokens()).result(WAIT_S)
    assert (generation.response_ids, generation.logprobs) == expected
    cut = "finish_reason" in changes
    assert generation.finish is (FinishReason.LENGTH if cut else FinishReason.STOP)


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("stop", FinishReason.STOP),
        ("eos_token", FinishReason.STOP),
        ("tool_calls", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("model_length", FinishReason.LENGTH),
        ("repetition", FinishReason.LENGTH),
    ],
)
def test_why_a_response_ended(
    word: str, finish: FinishReason, server: MisbehavingServer, settings: OpenAISettings
) -> None:
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        for request in (_tokens(), _messages()):
            server.book.planned.append(altered(finish_reason=word))
            assert backend.submit(request).result(WAIT_S).finish is finish
    assert len(server.book.received) == 2


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_thinking_that_a_server_cuts_out_is_put_back(
    field: str, server: MisbehavingServer, settings: OpenAISettings
) -> None:
    server.book.planned.append(altered(message={"content": "look", field: "Hm."}))
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        assert backend.submit(_messages()).result(WAIT_S).text == "<think>Hm.</think>look"


def test_a_dead_server_costs_the_retries_once_and_serves_again_when_it_is_back(
    server: MisbehavingServer, settings: OpenAISettings
) -> None:
    with closing(OpenAIBackend(settings, MODEL)) as backend:
        assert backend.submit(_tokens()).result(WAIT_S).text == "go"
        server.book.planned.append(hang)
        on_its_way = backend.submit(_tokens())
        _until(lambda: server.book.active == 1)
        server.die()
        with pytest.raises(BackendError, match="after 3 attempts: the connection failed"):
            on_its_way.result(WAIT_S)
        with pytest.raises(BackendError, match="/v1: the connection failed"):
            backend.submit(_tokens()).result(WAIT_S)
        server.come_back()
        assert backend.submit(_tokens()).result(WAIT_S).text == "go"
        # From here on failures may pass again.
        server.book.planned.append(status(503))
        assert backend.submit(_tokens()).result(WAIT_S).text == "go"


def test_closing_ends_requests_and_connections(server: MisbehavingServer, settings: OpenAISettings) -> None:
    server.book.planned.extend([hang] * 3)
    backend = OpenAIBackend(replace(settings, concurrency=3), MODEL)
    futures = [backend.submit(_tokens()) for _ in range(5)]
    _until(lambda: server.book.active == 3)
    last = backend.submit(_tokens())
    began = time.monotonic()
    backend.close()
    backend.close()
    assert time.monotonic() - began < 2
    for future in [*futures, last, backend.submit(_tokens())]:
        with pytest.raises(BackendError, match="was closed"):
            future.result(1)
    assert "language-model-server" not in {thread.name for thread in threading.enumerate()}
    assert vars(backend)["_client"].is_closed


@pytest.mark.parametrize(
    ("models", "model", "sends_tokens", "found"),
    [
        ([{"id": "a", "owned_by": "vllm", "max_model_len": 64}], "some/folder", True, Model("a", "vllm", 64)),
        ([{"id": "a"}, {"id": "b", "owned_by": "sglang"}], "b", False, Model("b", "sglang", None)),
        (status(404), "gpt", False, Model("gpt", "", None)),
        (
            [{"id": "a"}, {"id": "b"}],
            "folder",
            True,
            "serves several models: set agent.backend.served_model to one of a, b",
        ),
        ([], "folder", True, "does not tell what it serves"),
        ([{"id": "llama"}], "lama", False, "does not serve 'lama'; did you mean 'llama'?"),
        (status(500, "on fire"), "a", False, "refuses to list its models, status 500: on fire"),
        (raw(b"<html>"), "a", False, "is not an OpenAI-compatible server: to GET /models, it is not JSON"),
        (raw(b'{"data": [{"name": "a"}]}'), "a", False, "its 'id' is not a str"),
        (hang_up, "a", False, "cannot reach a server at"),
    ],
)
def test_what_a_server_serves(
    models: list[dict[str, object]] | Behaviour,
    model: str,
    sends_tokens: bool,
    found: Model | str,
    server: MisbehavingServer,
    settings: OpenAISettings,
) -> None:
    server.book.models = models
    if isinstance(found, Model):
        assert find_model(settings, model, sends_tokens=sends_tokens) == found._replace(owner=found.owner or "")
        return
    with pytest.raises(ModelError) as caught:
        find_model(settings, model, sends_tokens=sends_tokens)
    assert found in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("behave", [drip, hang])
def test_a_server_that_never_ends_its_list_is_left(
    behave: Behaviour, server: MisbehavingServer, settings: OpenAISettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_backend, "_PROBE_SECONDS", 0.5)
    server.book.models = behave
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"does not list its models within 0\.5 seconds"):
        find_model(settings, "tiny", sends_tokens=True)
    assert time.monotonic() - began < 5


def test_a_list_of_ten_megabytes_is_not_read_to_its_end(
    server: MisbehavingServer, settings: OpenAISettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_backend, "_PROBE_BYTES", 1 << 20)
    server.book.models = pour
    with pytest.raises(ModelError, match="to GET /models, the answer has more than 1,048,576 bytes"):
        find_model(settings, "tiny", sends_tokens=True)


def test_addresses_that_are_none_are_refused(server: MisbehavingServer) -> None:
    port = server.url.rpartition(":")[2].removesuffix("/v1")
    for url in (
        "http://127.0.0.1:1/v1",
        "localhost:8000",
        "ftp://x/v1",
        "http://",
        "http://[::1",
        f"https://127.0.0.1:{port}",
    ):
        with pytest.raises(ModelError, match="base_url"):
            find_model(OpenAISettings(base_url=url), "a", sends_tokens=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        find_model(OpenAISettings(base_url="http://me:pass@127.0.0.1/v1"), "a", sends_tokens=False)
    assert "pass@" not in str(caught.value)


def test_the_shorter_context_counts(settings: OpenAISettings) -> None:
    for length, expected in ((50, 50), (1000, 100), (None, 100)):
        assert find_model(replace(settings, max_context=length), "t", sends_tokens=True).context_length == expected


def test_a_server_gets_what_it_understands_and_nothing_is_left_to_its_taste() -> None:
    request = Request(TokenPrompt((1, 2)), Sampling(max_tokens=7, temperature=0.4, top_p=0.9, stop=("x",), seed=3))
    plain = {
        "model": "m",
        "max_tokens": 7,
        "temperature": 0.4,
        "top_p": 0.9,
        "seed": 3,
        "stop": ["x"],
        "prompt": [1, 2],
        "logprobs": 1,
    }
    assert body_of(request, Model("m", "somebody", None)) == plain
    # These would else draw from the 20 or 40 most likely tokens, or punish repetition, as the model's files say.
    for owner, penalty in (
        ("vllm", "repetition_penalty"),
        ("sglang", "repetition_penalty"),
        ("llamacpp", "repeat_penalty"),
    ):
        body = body_of(request, Model("m", owner, None))
        assert body.pop("return_token_ids", False) is (owner == "vllm")
        assert body == plain | {"top_k": -1, "min_p": 0.0, penalty: 1.0}
    chat = body_of(replace(request, prompt=MessagePrompt((Message("user", "Go!"),))), Model("m", "somebody", None))
    assert chat["messages"] == [{"role": "user", "content": "Go!"}]
    assert chat["logprobs"] is True


def _results(futures: list[Future[Generation]]) -> list[Generation]:
    return [future.result(WAIT_S) for future in futures]


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_half_a_character_spoils_no_later_request() -> None:
    """JSON can spell a lone surrogate. It could neither be sent back in a conversation nor be tokenized."""
    record = completion({"prompt": [5, 6, 7, 8]})
    record["choices"][0]["text"] = "go \ud83d on \ud83d\ude42"  # type: ignore[index]
    generation = generation_from(json.dumps(record).encode(), _tokens())
    assert generation.text == "go \ufffd on \U0001f642"
    generation.text.encode()


@pytest.mark.parametrize(
    ("details", "cached"),
    [({"cached_tokens": 2}, 2), ({"cached_tokens": 0}, 0), ({"cached_tokens": None}, None), ({}, None), (None, None)],
)
def test_what_a_server_does_not_say_of_cached_tokens_is_not_known(
    details: dict[str, object] | None, cached: int | None
) -> None:
    record = completion({"prompt": [5, 6, 7, 8]})
    record["usage"] = {"prompt_tokens": 4, "completion_tokens": 3, "prompt_tokens_details": details}
    assert generation_from(json.dumps(record).encode(), _tokens()).usage == Usage(4, cached, 3)
