"""A vLLM server that is started here, with the interpreter of any environment in which vLLM is installed.

It listens at a socket in a folder that only the user can open. Its own key for requests would not guard the paths by
which it takes weights, and a port could be taken by somebody else between the choice and the use.
"""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...envs.errors import ConfigError, MissingExtraError
from ..checkpoints import ModelError
from . import vllm_launcher, vllm_weights
from .backend import BackendError, BackendTimeout, ContextOverflow, Generation, Request, TokenPrompt
from .kept_program import KeptProgram
from .settings import OpenAISettings, VllmServerSettings, engine_arguments
from .stopping import Decode, before_stop, decode_with

if find_spec("httpx2") is None:
    raise MissingExtraError("agent.backend.name=vllm_server", "openai", "httpx2")

import httpx2

from .openai_backend import OpenAIBackend, find_model
from .openai_wire import Model, error_message

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Any name will do: requests go to the socket.
_HOST = "http://vllm"
# More than an engine computes at once; it has a queue of its own.
_CONCURRENCY = 1024
_RETRIES = 2
_LOOK_SECONDS = 0.5
_ANSWER_SECONDS = 10.0
_CHECK_SECONDS = 60.0
# How long after a failure it may take to be known that the server has ended.
_KNOWN_SECONDS = 5.0
# What the time limit of a request needs beyond that of what is requested.
_GRACE_SECONDS = 20.0
# What a socket's path may have on every system.
_LONGEST_PATH = 100
# What would take the server away from here, or what it must be told for it to be usable.
_OURS = frozenset(
    {
        *("model", "served_model_name", "worker_extension_cls", "return_tokens_as_token_ids"),
        *("host", "port", "uds", "api_key", "root_path", "ssl_keyfile", "ssl_certfile", "middleware"),
        *("api_server_count", "headless", "grpc"),
    }
)
# Variables by which torchrun and accelerate tell a process which of several it is.
_OF_LAUNCHERS = frozenset(
    {
        *("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "ROLE_NAME", "MASTER_ADDR", "MASTER_PORT"),
        *("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"),
    }
)
# vLLM's own sockets have such names.
_SOCKET_NAME = 37
_EXTENSION_FILE = "holdergym_vllm_weights.py"
_WEIGHTS = "holdergym_take_weights"
_DTYPE = "holdergym_dtype"


class _Running(NamedTuple):
    """A server that runs.

    Attributes:
        program: Its processes.
        folder: Holds all its files; a temporary one.
    """

    program: KeptProgram
    folder: Path

    @property
    def socket(self) -> Path:
        return _socket(self.folder)

    def why(self) -> str:
        """Why it has ended or does not answer, on one line."""
        reason = self.program.why() if self.program.ended() else self.program.error() or "its engine does not answer"
        return f"{reason} (see {_log(self.folder)})"

    def close(self, *, keep_log: bool = False) -> None:
        """Ends it and removes its files."""
        self.program.close()
        if not keep_log:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        shutil.rmtree(_worker(self.folder), ignore_errors=True)
        self.socket.unlink(missing_ok=True)


class VllmServerBackend(OpenAIBackend):
    """Sends requests to a server that was started for it, and ends it.

    Args:
        running: The server; it is ended with the back end.
        model: What it serves.
        dtype: Form of the numbers that it computes with.
        decode: Makes text of tokens, as in the other back ends that know the tokenizer.

    Attributes:
        context_length: Most tokens of prompt and response.
        dtype: Form of the numbers, as in the settings.
        scratch: A folder for weights that are to be taken: what is in it goes with the server, however that ends.
    """

    context_length: int

    def __init__(self, running: _Running, model: Model, dtype: str, decode: Decode) -> None:
        super().__init__(_requests(), model, running.socket)
        self.dtype = dtype
        self.scratch = running.folder
        self._running = running
        self._decode = decode
        self._failed = False
        self._closing = threading.Lock()

    def submit(self, request: Request) -> Future[Generation]:
        """Begins to answer; see ``Backend.submit``."""
        if not isinstance(request.prompt, TokenPrompt):
            raise TypeError("this back end takes tokens, not messages")
        return super().submit(request)

    def take_weights(self, folder: Path, timeout_s: float) -> None:
        """Puts other weights of the same model into the server, and forgets what was computed with those before.

        Responses that are on their way end first.

        Args:
            folder: An ordinary checkpoint, which the server's processes can read.
            timeout_s: Seconds that this may take.

        Raises:
            BackendTimeout: If it takes longer. The server may then have half of the weights: close it.
            BackendError: If the server does not take them, or is closed.
            ModelError: If it has ended.
        """
        future = self._loop.submit(self._take_weights(folder, timeout_s))
        try:
            future.result(timeout_s + _GRACE_SECONDS)
        except TimeoutError:
            raise BackendTimeout(f"the vLLM server hangs: it took no weights within {timeout_s:g} seconds") from None

    def close(self) -> None:
        """Breaks off all responses and ends the server. Its log is kept if it has failed before."""
        super().close()
        with self._closing:
            self._running.close(keep_log=self._failed)

    async def _answer(self, request: Request, deadline: float) -> Generation:
        try:
            answer = await super()._answer(request, deadline)
        except (ContextOverflow, BackendTimeout):
            raise
        except BackendError as error:
            await self._raise_if_dead()
            raise BackendError(f"the vLLM server cannot answer: {error}") from None
        ids = answer.response_ids
        if ids is None or answer.logprobs is None:
            raise BackendError("the vLLM server gives no tokens or no log-probabilities: install vLLM 0.32 or newer")
        text = before_stop(self._decode(ids), request.sampling.stop)
        return Generation(text, answer.finish, answer.prompt_ids, ids, answer.logprobs, answer.usage)

    async def _take_weights(self, folder: Path, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                forgotten = await self._while_alive(self._hand_over(folder))
        except TimeoutError:
            raise BackendTimeout(
                f"the vLLM server took no weights within {seconds:g} seconds (agent.backend.start_s)"
            ) from None
        if not forgotten:
            raise BackendError("vLLM does not forget what it has computed with other weights: start it afresh")

    async def _hand_over(self, folder: Path) -> bool:
        """Puts weights in between responses. False if what was computed before is not forgotten."""
        await self._post("pause?mode=wait")
        await self._post("collective_rpc", {"method": _WEIGHTS, "args": [str(folder)]})
        forgotten = await self._post("reset_prefix_cache")
        await self._post("resume")
        return forgotten.get("success") is True

    async def _post(self, path: str, body: dict[str, object] | None = None) -> dict[str, object]:
        """Tells the server to do something that is no part of OpenAI's interface."""
        try:
            response = await self._client.post(f"{_HOST}/{path}", json=body)
        except httpx2.RequestError as error:
            await self._raise_if_dead()
            raise BackendError(f"the vLLM server breaks off: {str(error) or type(error).__name__}") from None
        if response.status_code != httpx2.codes.OK:
            await self._raise_if_dead()
            self._failed = True
            raise BackendError(f"vLLM does not take the weights: {error_message(response.content)}")
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            self._failed = True
            raise BackendError(
                f"the vLLM server's answer to {path.partition('?')[0]} is no JSON: {error_message(response.content)}"
            ) from None
        return answer if isinstance(answer, dict) else {}

    async def _while_alive(self, request: Coroutine[object, object, bool]) -> bool:
        """Waits for an answer, but not for that of a dead engine: what it is asked as it dies it never answers."""
        task = asyncio.ensure_future(request)
        try:
            while not (await asyncio.wait([task], timeout=_LOOK_SECONDS))[0]:
                await self._raise_if_dead()
            return task.result()
        finally:
            task.cancel()

    async def _raise_if_dead(self) -> None:
        """Says why the server has ended, if it has."""
        if await _lives(self._client):
            return
        self._failed = True
        end = time.monotonic() + _KNOWN_SECONDS
        while not self._running.program.ended() and time.monotonic() < end:
            await asyncio.sleep(_LOOK_SECONDS)
        # It would answer nothing else either.
        raise ModelError(f"the vLLM server has died, start again with --resume: {self._running.why()}") from None


def require_vllm(settings: VllmServerSettings) -> str:
    """Checks, without loading vLLM, that a server can be started with these settings.

    Returns:
        The interpreter.

    Raises:
        ConfigError: If there is no such interpreter, it has no vLLM, or an option is not for the user to set.
    """
    ours = sorted(_OURS & {name.replace("-", "_") for name in settings.engine})
    if ours:
        raise ConfigError(f"agent.backend.engine.{ours[0]} cannot be set: the server is started for this run alone")
    python = sys.executable if settings.python is None else _interpreter(settings.python)
    code = "from importlib.util import find_spec; print('vLLM is', 'here' if find_spec('vllm') else 'not here')"
    try:
        with tempfile.TemporaryDirectory() as empty:
            asked = subprocess.run(
                [python, "-c", code],
                cwd=empty,  # which Python looks for packages in
                env=_environment(settings),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_CHECK_SECONDS,
                check=False,
            )
    except OSError as error:
        raise ConfigError(f"cannot start the interpreter {python}: {error.strerror} (agent.backend.python)") from None
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"{python} does not answer within {_CHECK_SECONDS:g} seconds (agent.backend.python)"
        ) from None
    said = asked.stdout.decode(errors="replace").strip()
    if said == "vLLM is here":
        return python
    if said != "vLLM is not here":
        raise ConfigError(f"{python} is not a Python interpreter that works (agent.backend.python)")
    advice = "install it there, or set agent.backend.python to the interpreter of an environment that has it"
    raise ConfigError(f"vLLM is not installed for {python}: {advice}")


def _interpreter(name: str) -> str:
    """The path of an interpreter, which is a link in a virtual environment and must not be followed out of it."""
    path = str(Path(name).expanduser())
    return os.path.abspath(shutil.which(path) or path)


def open_vllm_server(
    folder: Path, settings: VllmServerSettings, tokenizer: "PreTrainedTokenizerBase"
) -> VllmServerBackend:
    """Starts a server and waits until it answers.

    Args:
        folder: The model's files.
        settings: How to run it.
        tokenizer: The model's tokenizer, for the text of responses.

    Raises:
        ConfigError: If there is no vLLM to start.
        ModelError: If the server does not start, or not in time; its log is kept, and named.
    """
    running = _start(folder, settings, require_vllm(settings))
    try:
        _await_answer(running, settings.start_s)
        model = find_model(_requests(), "", sends_tokens=True, socket=running.socket)
        if model.context_length is None:
            raise ModelError("the vLLM server does not tell the model's context length: install vLLM 0.32 or newer")
        return VllmServerBackend(running, model, _dtype(running), decode_with(tokenizer))
    except BaseException as error:  # also Ctrl-C; raised again in any case
        running.close(keep_log=isinstance(error, ModelError))
        raise


def _start(folder: Path, settings: VllmServerSettings, python: str) -> _Running:
    try:
        own = Path(tempfile.mkdtemp(prefix="holdergym-vllm-"))
        try:
            if len(os.fsencode(_socket(own))) > _LONGEST_PATH:
                raise ConfigError(f"the temporary folder {own.parent} has too long a name: set TMPDIR to a shorter one")
            worker, environment = _worker(own), _environment(settings)
            worker.mkdir()
            if "TMPDIR" not in settings.environment:
                environment = _with_own_files(environment, worker)
            launcher = worker / Path(vllm_launcher.__file__).name
            shutil.copyfile(vllm_launcher.__file__, launcher)
            shutil.copyfile(vllm_weights.__file__, worker / _EXTENSION_FILE)
            what = {
                "model": str(folder.resolve()),
                "engine": engine_arguments(settings),
                "server": _server_options(_socket(own)),
            }
            program = KeptProgram(
                [python, str(launcher), json.dumps(what)],
                # Workers find what they are taught for weights there, and by itself.
                environment=environment | {"PYTHONPATH": _joined(worker, environment)},
                folder=own,
                work=worker,
                log=_log(own),
            )
        except BaseException:
            shutil.rmtree(own, ignore_errors=True)
            raise
    except OSError as error:
        raise ModelError(
            f"cannot start a vLLM server: {error.strerror or error}; set TMPDIR to another folder"
        ) from None
    return _Running(program, own)


def _server_options(socket: Path) -> dict[str, vllm_launcher.Option]:
    return {
        "uds": str(socket),
        "served_model_name": "policy",
        "worker_extension_cls": f"{Path(_EXTENSION_FILE).stem}.{vllm_weights.TakesWeights.__name__}",
        "api_server_count": 1,
        # The settings say how tokens are drawn, and a model's own limit of new tokens would hold for all requests.
        "generation_config": "vllm",
        "enable_prompt_tokens_details": True,
        "disable_uvicorn_access_log": True,
        "uvicorn_log_level": "warning",
    }


def _environment(settings: VllmServerSettings) -> dict[str, str]:
    """The server's environment variables: the user's, and what makes it quiet and take weights."""
    given = dict(os.environ)
    if settings.python is not None:
        # They are of the environment that this runs in.
        for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
            given.pop(name, None)
    # torchrun sets it for each of several processes, and the server computes for all of them.
    if "TORCHELASTIC_RUN_ID" in given and given.get("OMP_NUM_THREADS") == "1":
        del given["OMP_NUM_THREADS"]
    # It would join the processes of a launcher that has started this one, and wait for them.
    for name in [name for name in given if name in _OF_LAUNCHERS or name.startswith("TORCHELASTIC_")]:
        del given[name]
    given.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    given.setdefault("VLLM_NO_USAGE_STATS", "1")
    given["PYTHONUNBUFFERED"] = "1"
    given.update({name: str(value) for name, value in settings.environment.items()})
    return given | {"VLLM_SERVER_DEV_MODE": "1"}  # else there is no way to hand weights over


def _with_own_files(environment: dict[str, str], folder: Path) -> dict[str, str]:
    """Lets the server have the temporary files that it leaves behind in a folder, if its sockets' names fit then."""
    fits = len(os.fsencode(folder)) + _SOCKET_NAME <= _LONGEST_PATH
    return environment | {"TMPDIR": str(folder)} if fits else environment


def _joined(folder: Path, environment: dict[str, str]) -> str:
    return os.pathsep.join([str(folder), *filter(None, [environment.get("PYTHONPATH")])])


def _await_answer(running: _Running, seconds: float) -> None:
    end = time.monotonic() + seconds
    with _short_requests(running) as client:
        while True:
            if running.program.ended():
                raise ModelError(f"the vLLM server does not start: {running.why()}")
            with contextlib.suppress(httpx2.RequestError):
                if client.get("/health").status_code == httpx2.codes.OK:
                    return
            if time.monotonic() > end:
                raise ModelError(
                    f"the vLLM server does not start within {seconds:g} seconds (agent.backend.start_s): "
                    f"{running.why()}"
                )
            time.sleep(_LOOK_SECONDS)


def _dtype(running: _Running) -> str:
    """Asks the workers which form their numbers have."""
    try:
        with _short_requests(running) as client:
            response = client.post("/collective_rpc", json={"method": _DTYPE}, timeout=_CHECK_SECONDS)
            if response.status_code != httpx2.codes.OK:
                raise ModelError(f"the vLLM server's workers do not answer: {error_message(response.content)}")
            return str(response.json()["results"][0])
    except (httpx2.RequestError, ValueError, LookupError) as error:
        raise ModelError(f"the vLLM server's workers do not answer: {str(error) or type(error).__name__}") from None


def _short_requests(running: _Running) -> httpx2.Client:
    transport = httpx2.HTTPTransport(uds=str(running.socket))
    return httpx2.Client(base_url=_HOST, transport=transport, timeout=_ANSWER_SECONDS)


async def _lives(client: httpx2.AsyncClient) -> bool:
    """Whether the server answers and its engine runs. One that is too busy to say lives."""
    try:
        response = await client.get(f"{_HOST}/health", timeout=_ANSWER_SECONDS)
    except httpx2.TimeoutException:
        return True
    except httpx2.RequestError:
        return False
    return response.status_code == httpx2.codes.OK


def _requests() -> OpenAISettings:
    return OpenAISettings(
        base_url=f"{_HOST}/v1",
        api_key_env="",  # nobody's key goes there
        concurrency=_CONCURRENCY,
        retries=_RETRIES,
    )


def _socket(folder: Path) -> Path:
    return folder / "socket"


def _worker(folder: Path) -> Path:
    return folder / "worker"


def _log(folder: Path) -> Path:
    return folder / "server.log"
