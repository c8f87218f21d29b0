"""What can be set for each back end."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

Positive = Annotated[int, Field(ge=1)]
EngineArgument = bool | int | float | str
Variable = int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformersSettings:
    """The transformers library, in this process.

    Attributes:
        dtype: Form of the numbers; ``auto`` takes float32 on a CPU and the checkpoint's own on a GPU.
        device: As torch names it; ``auto`` takes the first GPU, or the CPU.
        max_batch: Most responses that grow at once.
        cache_gib: Memory for what was computed of earlier prompts and responses.
        max_context: Most tokens of prompt and response, where that is to be fewer than the model reads.
    """

    name: Literal["transformers"] = "transformers"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: str = "auto"
    max_batch: Positive = 16
    cache_gib: Annotated[float, Field(ge=0)] = 1.0
    max_context: Positive | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmSettings:
    """A vLLM engine, in this process.

    Attributes:
        dtype: As for transformers.
        tensor_parallel_size: Number of GPUs that share the model.
        max_context: Most tokens of prompt and response, where that is to be fewer than the model reads.
        start_s: Seconds that the engine may take to start.
        engine: Any further engine arguments of vLLM by their names, for example ``gpu_memory_utilization``.
    """

    name: Literal["vllm"] = "vllm"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    tensor_parallel_size: Positive = 1
    max_context: Positive | None = None
    start_s: Annotated[float, Field(gt=0)] = 1800.0
    engine: dict[str, EngineArgument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmServerSettings:
    """A vLLM server that is started for the run and ends with it, in an environment of its own if you like.

    Nobody else can reach it: it listens at a socket in a folder of the user's.

    Attributes:
        python: Interpreter of the environment in which vLLM is installed, for example ``.venv-vllm/bin/python``;
            None takes the one that runs this.
        environment: Environment variables of the server alone, for example ``CUDA_VISIBLE_DEVICES``.
        dtype: As for transformers.
        tensor_parallel_size: Number of GPUs that share the model.
        max_context: Most tokens of prompt and response, where that is to be fewer than the model reads.
        start_s: Seconds that the server may take to start, and to take the weights of an update.
        engine: Any further options of ``vllm serve`` by their names, for example ``gpu_memory_utilization``.
    """

    name: Literal["vllm_server"] = "vllm_server"
    python: str | None = None
    environment: dict[str, Variable] = field(default_factory=dict)
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    tensor_parallel_size: Positive = 1
    max_context: Positive | None = None
    start_s: Annotated[float, Field(gt=0)] = 1800.0
    engine: dict[str, EngineArgument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAISettings:
    """Any server that speaks like OpenAI's: ``vllm serve``, SGLang, llama.cpp, a hosted API.

    Attributes:
        base_url: Where it is, up to and with ``/v1``.
        served_model: The model's name there; None asks the server for its only one, or takes ``agent.model``.
        send: ``tokens`` sends prompts as tokens to ``/completions``, which needs the model's tokenizer here;
            ``messages`` sends texts to ``/chat/completions``; ``auto`` sends tokens if ``agent.model`` is a folder
            or the embedded model.
        api_key_env: Environment variable with the key; no key is sent if it is not set.
        concurrency: Most requests on their way at once.
        requests_per_minute: Most requests begun in a minute; None for any number.
        retries: How often a request is sent again after a failure that may pass.
        max_context: Most tokens of prompt and response; None asks the server.
    """

    name: Literal["openai"] = "openai"
    base_url: str = "http://127.0.0.1:8000/v1"
    served_model: str | None = None
    send: Literal["auto", "tokens", "messages"] = "auto"
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: Positive = 32
    requests_per_minute: Positive | None = None
    retries: Annotated[int, Field(ge=0, le=20)] = 5
    max_context: Positive | None = None


BackendSettings = TransformersSettings | VllmSettings | VllmServerSettings | OpenAISettings


def engine_arguments(settings: VllmSettings | VllmServerSettings) -> dict[str, EngineArgument]:
    """What vLLM is told of its engine, by the names of its own arguments; the user's ``engine`` has the last word."""
    arguments: dict[str, EngineArgument] = {
        "dtype": settings.dtype,
        "tensor_parallel_size": settings.tensor_parallel_size,
        "disable_log_stats": True,
        # Before temperature and truncation, as with the other back ends.
        "logprobs_mode": "raw_logprobs",
    }
    if settings.max_context is not None:
        arguments["max_model_len"] = settings.max_context
    return arguments | settings.engine
