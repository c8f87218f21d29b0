"""What is sent to an OpenAI-compatible server and what its answers mean. No effects here."""

import json
import math
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from ..usage import Usage
from .backend import BackendError, Generation, MessagePrompt, Request, TokenPrompt
from .finishing import finish_from

ValueT = TypeVar("ValueT")

# What servers would otherwise take from a model's generation settings or a fashion of their own, such as a penalty
# for repetition, by the name that a server calls itself in its list of models.
_PLAIN: Mapping[str, Mapping[str, object]] = {
    "vllm": {"min_p": 0.0, "repetition_penalty": 1.0, "return_token_ids": True},
    "sglang": {"min_p": 0.0, "repetition_penalty": 1.0},
    "llamacpp": {"min_p": 0.0, "repeat_penalty": 1.0},
}
_OVERFLOWS = (b"context length", b"context_length", b"context size", b"context_size", b"max_model_len")
_BODY_BYTES = 1 << 20
_BYTES_PER_PROMPT_TOKEN = 32
_BYTES_PER_RESPONSE_TOKEN = 1024


class GarbageError(ValueError):
    """An answer that is not what the interface promises; the message says what is wrong with it."""


class Model(NamedTuple):
    """A model as a server lists it.

    Attributes:
        id: Its name there.
        owner: What the server calls itself: ``vllm``, ``sglang``, ``llamacpp``, ...
        context_length: Most tokens of prompt and response, where the server tells.
    """

    id: str
    owner: str
    context_length: int | None


def models_from(text: bytes) -> list[Model]:
    """Reads the answer to ``GET /models``.

    Raises:
        GarbageError: If it is not a list of models.
    """
    entries = _get(_object(text), "data", list)
    models = []
    for entry in entries:
        if not isinstance(entry, dict):
            raise GarbageError("a model is not an object")
        length = entry.get("max_model_len")
        models.append(
            Model(_get(entry, "id", str), str(entry.get("owned_by")), length if isinstance(length, int) else None)
        )
    return models


def path_of(request: Request) -> str:
    """The path, below the base URL, that a request goes to."""
    return "completions" if isinstance(request.prompt, TokenPrompt) else "chat/completions"


def body_of(request: Request, model: Model) -> dict[str, object]:
    """The body of a request.

    Args:
        request: What is asked.
        model: Who is asked; further arguments go only to servers that are known to understand them.
    """
    sampling = request.sampling
    max_tokens = sampling.max_tokens
    if isinstance(request.prompt, TokenPrompt) and model.context_length is not None:
        # Servers refuse what might not fit, where the model could just stop at the end of its context.
        max_tokens = min(max_tokens, model.context_length - len(request.prompt.ids))
    body: dict[str, object] = {
        "model": model.id,
        "max_tokens": max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
    }
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.top_k or model.owner in _PLAIN:
        body["top_k"] = sampling.top_k or -1
    match request.prompt:
        case TokenPrompt(ids):
            body["prompt"] = list(ids)
            body["logprobs"] = 1
        case MessagePrompt(messages):
            body["messages"] = [message._asdict() for message in messages]
            body["logprobs"] = True
    return {**body, **_PLAIN.get(model.owner, {})}


def most_bytes(request: Request) -> int:
    """How long an honest answer can be at most."""
    prompt = len(request.prompt.ids) if isinstance(request.prompt, TokenPrompt) else 2**17
    return _BODY_BYTES + _BYTES_PER_PROMPT_TOKEN * prompt + _BYTES_PER_RESPONSE_TOKEN * request.sampling.max_tokens


def generation_from(text: bytes, request: Request) -> Generation:
    """Reads an answer.

    Raises:
        GarbageError: If it is not a completion or not a finished one, or contradicts itself or the request.
        BackendError: If the server kept the response back, which it would do again.
    """
    record = _object(text)
    choices = _get(record, "choices", list)
    if not choices or not isinstance(choices[0], dict):
        raise GarbageError("it holds no choice")
    choice = choices[0]
    word = choice.get("finish_reason")
    if word == "content_filter":
        raise BackendError("the server's content filter has kept the response back")
    finish = finish_from(word)
    if finish is None:
        raise GarbageError(f"the response is not finished (finish_reason {json.dumps(word)[:40]})")
    prompt_ids = _ids(record.get("prompt_token_ids", choice.get("prompt_token_ids")))
    if isinstance(request.prompt, TokenPrompt):
        reply = _get(choice, "text", str)
        logprobs = _completion_logprobs(choice.get("logprobs"))
        if prompt_ids is not None and prompt_ids != request.prompt.ids:
            raise GarbageError("it answers another prompt")
        prompt_ids = request.prompt.ids
    else:
        reply = _chat_reply(_get(choice, "message", dict))
        logprobs = _chat_logprobs(choice.get("logprobs"))
    response_ids = _ids(choice.get("token_ids"))
    if response_ids is None:
        logprobs = None
    if logprobs is not None and response_ids is not None and len(logprobs) != len(response_ids):
        raise GarbageError(f"it holds {len(response_ids)} tokens and {len(logprobs)} log-probabilities")
    return Generation(
        text=_whole_characters(reply),
        finish=finish,
        prompt_ids=prompt_ids,
        response_ids=response_ids,
        logprobs=logprobs,
        usage=_usage(record.get("usage")),
    )


def _whole_characters(text: str) -> str:
    """Replaces halves of characters, which JSON can spell and UTF-8 cannot: the next prompt could not be sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def error_message(text: bytes) -> str:
    """What a server says about a refused request, on one line."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        record = text.decode(errors="replace")
    if isinstance(record, dict):
        error = record.get("error", record)
        record = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(record).split())[:300] or "it says nothing"


def is_context_overflow(text: bytes) -> bool:
    """Whether a refusal says that the prompt is too long for the model. Each server has its own words for it."""
    lowered = text.lower()
    return any(words in lowered for words in _OVERFLOWS)


def _object(text: bytes) -> Mapping[str, object]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        raise GarbageError("it is not JSON") from None
    if not isinstance(record, dict):
        raise GarbageError("it is not a JSON object")
    return record


def _get(record: Mapping[str, object], key: str, kind: type[ValueT]) -> ValueT:
    value = record.get(key)
    if not isinstance(value, kind):
        raise GarbageError(f"its {key!r} is not a {kind.__name__}")
    return value


def _ids(value: object) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(one) is int and one >= 0 for one in value):
        raise GarbageError("its tokens are not a list of whole numbers")
    return tuple(value)


def _completion_logprobs(value: object) -> tuple[float, ...] | None:
    return _numbers(value.get("token_logprobs")) if isinstance(value, dict) else None


def _chat_logprobs(value: object) -> tuple[float, ...] | None:
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list):
        return None
    return _numbers([entry.get("logprob") if isinstance(entry, dict) else None for entry in content])


def _numbers(value: object) -> tuple[float, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(one) in (int, float) and math.isfinite(one) for one in value):
        raise GarbageError("its log-probabilities are not a list of numbers")
    return tuple(float(one) for one in value)


def _chat_reply(message: Mapping[str, object]) -> str:
    """The reply; thinking that the server has cut out is put back to where it was."""
    content = message.get("content")
    thinking = message.get("reasoning") or message.get("reasoning_content")
    if not isinstance(content, str | None) or not isinstance(thinking, str | None):
        raise GarbageError("its message is not a text")
    return f"<think>{thinking}</think>{content or ''}" if thinking else content or ""


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    prompt, generated = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
    # Most servers leave it out; that is not the same as none.
    return None if prompt is None or generated is None else Usage(prompt, _count(cached), generated)


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
