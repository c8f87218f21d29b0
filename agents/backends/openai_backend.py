"""Any OpenAI-compatible server as a back end: bounded in time, size, number and speed of requests."""

import asyncio
import math
import os
import random
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from ...envs.errors import MissingExtraError, nearest
from ..checkpoints import ModelError
from .backend import BackendError, BackendTimeout, ContextOverflow, Generation, Request, TokenPrompt
from .loop_thread import LoopThread
from .openai_wire import (
    GarbageError,
    Model,
    body_of,
    error_message,
    generation_from,
    is_context_overflow,
    models_from,
    most_bytes,
    path_of,
)
from .settings import OpenAISettings

try:
    import httpx2
except ModuleNotFoundError:
    raise MissingExtraError("agent.backend.name=openai", "openai", "httpx2") from None

_CONNECT_SECONDS = 10.0
_PROBE_SECONDS = 60.0
_PROBE_BYTES = 1 << 24
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
# What may pass by itself: a busy server. So may everything from 500 on: a server that restarts, a proxy without one
# behind it, and what proxies have numbers of their own for, such as 520 to 529.
_PASSING = frozenset({408, 425, 429})
_FIRST_SERVER_ERROR = 500
# What every request would be told: a wrong key, an account without credit, an unknown model or path. 403 is among them
# only until a request was answered: some servers also refuse a single prompt with it.
_UNAUTHORIZED, _NO_CREDIT, _FORBIDDEN, _NOT_FOUND = 401, 402, 403, 404


class _Passing(Exception):
    """A failure that may pass. ``pause`` is how long the server asks to wait, in seconds."""

    def __init__(self, reason: str, pause: float = 0.0, *, reachable: bool = True) -> None:
        self.pause = pause
        self.reachable = reachable
        super().__init__(reason)


@dataclass(slots=True)
class _State:
    """What requests tell each other.

    Attributes:
        reachable: Whether the server could be reached last time. While it cannot, requests are tried once only, so
            that a dead server does not cost each episode the time of all retries.
        next_start: Moment before which no request may begin, for the rate limit.
        answered: Whether a request was answered.
    """

    reachable: bool = True
    next_start: float = 0.0
    answered: bool = False


class OpenAIBackend:
    """Sends requests to a server.

    Args:
        settings: Where it is and how it is to be treated.
        model: The model there.
        socket: The socket that the server listens at, where it does not listen at a port.

    Attributes:
        context_length: Most tokens of prompt and response, where the server tells.
    """

    def __init__(self, settings: OpenAISettings, model: Model, socket: Path | None = None) -> None:
        self.context_length = model.context_length
        self._settings = settings
        self._model = model
        self._key = _key(settings)
        self._client = _client(settings, socket)
        self._room = asyncio.Semaphore(settings.concurrency)
        self._state = _State()
        self._loop = LoopThread("language-model-server", self._client.aclose)

    def submit(self, request: Request) -> Future[Generation]:
        """Begins to answer; see ``Backend.submit``."""
        return self._loop.submit(self._answer(request, monotonic() + request.timeout_s))

    def close(self) -> None:
        """Breaks off all requests."""
        self._loop.close()

    async def _answer(self, request: Request, deadline: float) -> Generation:
        if isinstance(request.prompt, TokenPrompt) and self.context_length is not None:
            length = len(request.prompt.ids)
            if length >= self.context_length:
                raise ContextOverflow(f"the prompt has {length} tokens and the context {self.context_length}")
        try:
            async with asyncio.timeout(deadline - monotonic()), self._room:
                return await self._try(request, deadline)
        except TimeoutError:
            raise BackendTimeout(
                f"no response from {self._settings.base_url} within {request.timeout_s:g} seconds"
            ) from None

    async def _try(self, request: Request, deadline: float) -> Generation:
        """Sends a request, and sends it again while its failure may pass and there is time."""
        retries = self._settings.retries if self._state.reachable else 0
        attempt = 0
        while True:
            await self._keep_rate()
            try:
                generation = await self._send(request)
            except _Passing as failure:
                pause = max(_pause(attempt), failure.pause)
                attempt += 1
                if attempt > retries or monotonic() + pause > deadline:
                    self._state.reachable = failure.reachable
                    tried = f" after {attempt} attempts" if attempt > 1 else ""
                    raise BackendError(f"{self._settings.base_url}{tried}: {failure}") from None
                await asyncio.sleep(pause)
            else:
                self._state.reachable = self._state.answered = True
                return generation

    async def _send(self, request: Request) -> Generation:
        body = body_of(request, self._model)
        try:
            async with self._client.stream("POST", path_of(request), json=body) as response:
                text = await _read(response, most_bytes(request))
        except httpx2.RequestError as error:
            raise _Passing(f"the connection failed ({_said(error, self._key)})", reachable=False) from None
        if response.status_code == httpx2.codes.OK:
            try:
                return generation_from(text, request)
            except GarbageError as error:
                raise _Passing(f"the answer cannot be used: {error}") from None
        message = _without(self._key, error_message(text))
        if response.status_code in _PASSING or response.status_code >= _FIRST_SERVER_ERROR:
            raise _Passing(f"status {response.status_code}: {message}", _retry_after(response))
        if is_context_overflow(text):
            raise ContextOverflow(message)
        advice = self._advice(response.status_code)
        if advice:
            raise ModelError(
                f"{self._settings.base_url} refuses all requests, status {response.status_code}: {message}; {advice}"
            )
        raise BackendError(f"{self._settings.base_url} refuses the request, status {response.status_code}: {message}")

    def _advice(self, status: int) -> str:
        """What to do about a status that every request would get; empty for another one."""
        if status == _NOT_FOUND:
            return "set agent.backend.served_model to a model that it serves, or agent.backend.base_url"
        if status in (_UNAUTHORIZED, _NO_CREDIT) or (status == _FORBIDDEN and not self._state.answered):
            return f"a key is read from the environment variable {self._settings.api_key_env}"
        return ""

    async def _keep_rate(self) -> None:
        if self._settings.requests_per_minute is None:
            return
        start = max(monotonic(), self._state.next_start)
        self._state.next_start = start + 60.0 / self._settings.requests_per_minute
        await asyncio.sleep(start - monotonic())


def find_model(settings: OpenAISettings, model: str, *, sends_tokens: bool, socket: Path | None = None) -> Model:
    """Asks the server what it serves.

    Args:
        settings: Where it is.
        model: The model as the user named it.
        sends_tokens: Whether prompts are sent as tokens, so that ``model`` is a name here and not there.
        socket: As for ``OpenAIBackend``.

    Raises:
        ModelError: If the server cannot be reached, does not serve the model, or several where none is named; or if
            the address or the key are none.
    """
    if "@" in settings.base_url:
        raise ModelError(
            "agent.backend.base_url holds a name or a password, which would be written into the run folder: put a key "
            f"into the environment variable {settings.api_key_env}"
        )
    wanted = settings.served_model or (None if sends_tokens else model)
    found = _choose(_list_models(settings, socket), wanted, settings.base_url)
    lengths = [length for length in (found.context_length, settings.max_context) if length is not None]
    return found._replace(context_length=min(lengths, default=None))


def _list_models(settings: OpenAISettings, socket: Path | None) -> list[Model]:
    """The models of a server; none if it does not list them."""
    url, key = settings.base_url, _key(settings)
    loop = LoopThread("language-model-server")
    try:
        status, text = loop.submit(_probe(settings, socket)).result()
    except (httpx2.RequestError, httpx2.InvalidURL) as error:
        raise ModelError(
            f"cannot reach a server at {url} ({_said(error, key)}): start it, or set agent.backend.base_url"
        ) from None
    except TimeoutError:
        raise ModelError(
            f"{url} does not list its models within {_PROBE_SECONDS:g} seconds: start it again, or set "
            "agent.backend.base_url"
        ) from None
    except BackendError as error:
        raise ModelError(f"{url} is not an OpenAI-compatible server: to GET /models, {error}") from None
    finally:
        loop.close()
    if status == httpx2.codes.NOT_FOUND:
        return []
    if status != httpx2.codes.OK:
        raise ModelError(
            f"{url} refuses to list its models, status {status}: {_without(key, error_message(text))}; "
            f"a key is read from the environment variable {settings.api_key_env}"
        )
    try:
        return models_from(text)
    except GarbageError as error:
        raise ModelError(f"{url} is not an OpenAI-compatible server: to GET /models, {error}") from None


async def _probe(settings: OpenAISettings, socket: Path | None) -> tuple[int, bytes]:
    """Status and body of the list of models, within a time and a size."""
    async with (
        asyncio.timeout(_PROBE_SECONDS),
        _client(settings, socket) as client,
        client.stream("GET", "models") as response,
    ):
        return response.status_code, await _read(response, _PROBE_BYTES)


def _choose(models: list[Model], wanted: str | None, url: str) -> Model:
    if wanted is None:
        if len(models) == 1:
            return models[0]
        if not models:
            raise ModelError(f"{url} does not tell what it serves: set agent.backend.served_model")
        listed = ", ".join(model.id for model in models[:8])
        raise ModelError(f"{url} serves several models: set agent.backend.served_model to one of {listed}")
    for model in models:
        if model.id == wanted:
            return model
    if not models:
        return Model(wanted, "", None)
    raise ModelError(f"{url} does not serve {wanted!r}{nearest(wanted, [model.id for model in models])}")


def _client(settings: OpenAISettings, socket: Path | None) -> httpx2.AsyncClient:
    limits = httpx2.Limits(max_connections=settings.concurrency, max_keepalive_connections=settings.concurrency)
    # The whole request has a time limit of its own; a long response may be silent for as long as that.
    timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    # A transport of one's own also leaves proxies aside, which the environment may name.
    transport = None if socket is None else httpx2.AsyncHTTPTransport(uds=str(socket), limits=limits)
    return httpx2.AsyncClient(
        base_url=settings.base_url, headers=_headers(settings), limits=limits, timeout=timeout, transport=transport
    )


def _headers(settings: OpenAISettings) -> dict[str, str]:
    key = _key(settings)
    return {"Authorization": f"Bearer {key}"} if key else {}


def _key(settings: OpenAISettings) -> str:
    """The key, or nothing. It is read where it is needed and kept out of every message and file."""
    key = os.environ.get(settings.api_key_env, "").strip()
    if not all("!" <= character <= "~" for character in key):
        raise ModelError(f"the environment variable {settings.api_key_env} holds characters that no key has")
    return key


def _without(key: str, message: str) -> str:
    """A message without the key: some servers repeat what they were sent."""
    return message.replace(key, "***") if key else message


async def _read(response: httpx2.Response, limit: int) -> bytes:
    """Reads a body, but no more than an honest one can have."""
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > limit:
            raise BackendError(f"the answer has more than {limit:,} bytes: the server does not keep to what was asked")
    return b"".join(parts)


def _retry_after(response: httpx2.Response) -> float:
    """Seconds that the server asks to wait; dates are left aside."""
    try:
        seconds = float(response.headers.get("Retry-After", "0"))
    except ValueError:
        return 0.0
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def _pause(attempt: int) -> float:
    """Seconds before the next attempt: doubled each time, and spread so that not all come back at once."""
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**attempt) * random.uniform(0.5, 1.0)


def _said(error: Exception, key: str) -> str:
    return _without(key, str(error) or type(error).__name__)
