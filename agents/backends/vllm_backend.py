"""A vLLM engine in this process, for one GPU to many."""

import asyncio
import gc
import multiprocessing
import os
import threading
from collections.abc import Collection, Coroutine
from concurrent.futures import Future, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from ...envs.errors import MissingExtraError
from ..checkpoints import ModelError
from ..usage import Usage
from .backend import BackendError, BackendTimeout, ContextOverflow, Generation, Request, TokenPrompt
from .finishing import finish_from
from .loop_thread import LoopThread
from .settings import EngineArgument, VllmSettings, engine_arguments
from .stopping import Decode, before_stop, decode_with
from .vllm_launcher import for_cpu
from .vllm_weights import EXTENSION

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
    from vllm import RequestOutput, SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM

# What vLLM calls a failure inside that may pass, and how often a request is made in the face of it.
_PASSING, _ATTEMPTS = "error", 3
# How long an engine that does not start may take to end.
_END_SECONDS = 20.0
# How often it is looked whether an engine that takes weights is still alive.
_LOOK_SECONDS = 0.5


class VllmBackend:
    """Hands requests to an engine, which batches them and keeps common prefixes.

    Args:
        engine: The engine; it is shut down with the back end.
        loop: The event loop that it was made in.
        decode: Makes text of tokens. The engine's own text is made piece by piece, and where a prompt ends within a
            character it begins with some of the prompt.

    Attributes:
        context_length: Most tokens of prompt and response.
        dtype: Form of the numbers, as in the settings.
        scratch: As in a server that is started here: there is no folder that goes with the engine.
    """

    scratch: Path | None = None

    def __init__(self, engine: "AsyncLLM", loop: LoopThread, decode: Decode) -> None:
        self._decode = decode
        self.context_length = int(engine.model_config.max_model_len)
        self.dtype = str(engine.model_config.dtype).removeprefix("torch.")
        self._engine: AsyncLLM | None = engine
        self._loop = loop
        self._closing = threading.Lock()

    def submit(self, request: Request) -> Future[Generation]:
        """Begins to answer; see ``Backend.submit``."""
        if not isinstance(request.prompt, TokenPrompt):
            raise TypeError("this back end takes tokens, not messages")
        return self._loop.submit(self._answer(request.prompt.ids, request, monotonic() + request.timeout_s))

    def take_weights(self, folder: Path, timeout_s: float) -> None:
        """Puts other weights of the same model into the engine, and forgets what was computed with those before.

        Responses that are on their way end first. The engine must have been opened with ``takes_weights``.

        Args:
            folder: An ordinary checkpoint, which all of the engine's processes can read.
            timeout_s: Seconds that this may take.

        Raises:
            BackendTimeout: If it takes longer. The engine may then have half of the weights: close it.
            BackendError: If the engine does not take them, or is closed.
        """
        future = self._loop.submit(self._take_weights(folder, timeout_s))
        try:
            future.result(timeout_s + _END_SECONDS)
        except TimeoutError:
            raise BackendTimeout(f"the vLLM engine hangs: it took no weights within {timeout_s:g} seconds") from None

    def close(self) -> None:
        """Breaks off all responses and ends the engine."""
        with self._closing:
            engine, self._engine = self._engine, None
            if engine is None:
                return
            self._loop.close()
            engine.shutdown()
            # An engine shuts down again when it is collected, which fails when Python itself is ending.
            del engine
            gc.collect()

    async def _take_weights(self, folder: Path, seconds: float) -> None:
        from vllm.exceptions import VLLMError
        from vllm.v1.engine.exceptions import EngineDeadError

        engine = self._engine
        if engine is None:
            raise BackendError("the language model was closed")
        try:
            async with asyncio.timeout(seconds):
                forgotten = await _while_alive(engine, _hand_over(engine, folder))
        except TimeoutError:
            raise BackendTimeout(f"the vLLM engine took no weights within {seconds:g} seconds") from None
        except EngineDeadError:
            raise BackendError("the vLLM engine has died: start again with --resume") from None
        except (VLLMError, RuntimeError, ValueError, OSError) as error:
            raise BackendError(f"vLLM does not take the weights: {' '.join(str(error).split())[:300]}") from None
        if not forgotten:
            raise BackendError("vLLM does not forget what it has computed with other weights: start it afresh")

    async def _answer(self, prompt_ids: tuple[int, ...], request: Request, deadline: float) -> Generation:
        from vllm.exceptions import VLLMError
        from vllm.v1.engine.exceptions import EngineDeadError

        engine = self._engine
        if engine is None:
            raise BackendError("the language model was closed")
        room = self.context_length - len(prompt_ids)
        if room < 1:
            raise ContextOverflow(f"the prompt has {len(prompt_ids)} tokens and the context {self.context_length}")
        try:
            async with asyncio.timeout(deadline - monotonic()):
                for _ in range(_ATTEMPTS):
                    output = await _finished(engine, prompt_ids, _parameters(request, room))
                    if output.outputs[0].finish_reason != _PASSING:
                        break
                return self._generation(request, prompt_ids, output)
        except TimeoutError:
            raise BackendTimeout(
                f"no response within {request.timeout_s:g} seconds: raise the limit or the speed"
            ) from None
        except EngineDeadError:
            raise BackendError("the vLLM engine has died: start again with --resume") from None
        except (VLLMError, ValueError) as error:
            raise BackendError(f"vLLM cannot answer: {' '.join(str(error).split())[:300]}") from None

    def _generation(self, request: Request, prompt_ids: tuple[int, ...], output: "RequestOutput") -> Generation:
        [completion] = output.outputs
        finish = finish_from(completion.finish_reason)
        if finish is None:
            raise BackendError(f"vLLM has not finished a response (finish_reason {completion.finish_reason})")
        response_ids = tuple(completion.token_ids)
        return Generation(
            text=before_stop(self._decode(response_ids), request.sampling.stop),
            finish=finish,
            prompt_ids=prompt_ids,
            response_ids=response_ids,
            logprobs=tuple(
                float(entry[token].logprob) for entry, token in zip(completion.logprobs, response_ids, strict=True)
            ),
            usage=Usage(len(prompt_ids), output.num_cached_tokens or 0, len(response_ids)),
        )


def open_vllm(
    folder: Path, settings: VllmSettings, tokenizer: "PreTrainedTokenizerBase", *, takes_weights: bool = False
) -> VllmBackend:
    """Starts an engine.

    Args:
        folder: The model's files.
        settings: How to run it.
        tokenizer: The model's tokenizer, for the text of responses.
        takes_weights: Whether it will be given other weights; see ``VllmBackend.take_weights``.

    Raises:
        MissingExtraError: If vLLM is not installed.
        ModelError: If the engine does not start, or not in time; it has said why on standard error.
    """
    # Unless the user says otherwise: no chatter, no report home, and no fork of a process that has threads.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    try:
        from vllm.engine.arg_utils import AsyncEngineArgs
    except ModuleNotFoundError:
        raise MissingExtraError("agent.backend.name=vllm", "vllm", "vllm") from None
    try:
        more = {"worker_extension_cls": EXTENSION} if takes_weights else {}
        arguments = AsyncEngineArgs(model=str(folder), **_arguments(settings) | more)
    except TypeError as error:
        raise ModelError(f"agent.backend.engine: vLLM does not take this: {error}") from None
    loop = LoopThread("language-model")
    # No name for the engine here: an error that a library keeps may keep this frame for ever.
    return VllmBackend(_start(arguments, loop, settings.start_s), loop, decode_with(tokenizer))


async def _while_alive(engine: "AsyncLLM", request: Coroutine[object, object, bool]) -> bool:
    """Waits for an answer, but not for that of a dead engine: what it is asked to do as it dies it never answers."""
    from vllm.v1.engine.exceptions import EngineDeadError

    task = asyncio.ensure_future(request)
    try:
        while not (await asyncio.wait([task], timeout=_LOOK_SECONDS))[0]:
            if engine.errored:
                raise EngineDeadError
        return task.result()
    finally:
        task.cancel()


async def _hand_over(engine: "AsyncLLM", folder: Path) -> bool:
    """Puts weights into an engine between responses. False if it has not forgotten what it computed before."""
    await engine.pause_generation(mode="wait")
    await engine.collective_rpc("holdergym_take_weights", args=(str(folder),))
    forgotten = await engine.reset_prefix_cache()
    await engine.resume_generation()
    return bool(forgotten)


async def _finished(engine: "AsyncLLM", prompt_ids: tuple[int, ...], parameters: "SamplingParams") -> "RequestOutput":
    prompt = {"type": "token", "prompt_token_ids": list(prompt_ids)}
    async for output in engine.generate(prompt, parameters, uuid4().hex):
        if output.finished:
            return output
    raise BackendError("vLLM ended a response without a result")


def _start(arguments: object, loop: LoopThread, seconds: float) -> "AsyncLLM":
    """Starts an engine in the event loop that it will live in. The loop is closed if it does not start."""
    from vllm.exceptions import VLLMError

    before = {process.pid for process in multiprocessing.active_children()}
    future = loop.submit(_made(arguments))
    if not wait([future], seconds).done:
        if _broken_off(future, before):
            loop.close()
        raise ModelError(f"the vLLM engine does not start within {seconds:g} seconds (agent.backend.start_s)")
    try:
        return future.result()
    except (VLLMError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        loop.close()
        raise ModelError(f"the vLLM engine does not start: {' '.join(str(error).split())[:300]}") from None


def _broken_off(future: "Future[AsyncLLM]", before: Collection[int | None]) -> bool:
    """Ends the processes of an engine that is being started, and says whether who started it has noticed.

    It waits for them in the loop's own thread and looks for nothing but messages of theirs and their ends.
    """
    for end in (BaseProcess.terminate, BaseProcess.kill):
        for process in multiprocessing.active_children():
            if process.pid not in before:
                end(process)
        if wait([future], _END_SECONDS).done:
            if future.exception() is None:
                future.result().shutdown()  # it was ready after all
            return True
    return False


async def _made(arguments: object) -> "AsyncLLM":
    from vllm.v1.engine.async_llm import AsyncLLM

    return AsyncLLM.from_engine_args(arguments)


def _arguments(settings: VllmSettings) -> dict[str, EngineArgument]:
    from vllm.platforms import current_platform

    arguments = engine_arguments(settings)
    return for_cpu(arguments) if current_platform.is_cpu() else arguments


def _parameters(request: Request, room: int) -> "SamplingParams":
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    sampling = request.sampling
    return SamplingParams(
        max_tokens=min(sampling.max_tokens, room),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        stop=list(sampling.stop),
        # A greedy choice needs no seed, and a seed of its own slows a request down.
        seed=sampling.seed if sampling.temperature > 0 else None,
        logprobs=0,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )
