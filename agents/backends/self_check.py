"""Checks once, before anybody relies on it, that a model can be decoded token by token."""

from collections import deque

import torch
from transformers import PreTrainedModel

from ..checkpoints import ModelError
from .backend import BackendError, Generation, Request, Sampling, TokenPrompt
from .decoder import Decoder
from .responses import Job

_PROMPT_LENGTHS = (5, 2)
_RESPONSE_LENGTH = 3
# Rounding stays far below these, garbage far above.
_MOST_DIFFERENCE = {torch.float32: 0.05}
_MOST_DIFFERENCE_SHORT = 1.0
_REFUSALS = (RuntimeError, TypeError, ValueError, LookupError, AttributeError, AssertionError)


@torch.inference_mode()
def check_decoding(model: PreTrainedModel, decoder: Decoder, vocabulary: int, context_length: int) -> None:
    """Lets the decoder answer two short prompts, side by side if it can, and computes the answers once more at once.

    Models are many, and some keep other things than keys and values, count positions in their own way, or take no
    notice of a mask. The library raises no error for it; their answers would just be worse.

    Args:
        model: The model, in evaluation mode.
        decoder: What is to decode it; nothing of this is left in it afterwards.
        vocabulary: Number of tokens that the model knows.
        context_length: Most tokens of prompt and response.

    Raises:
        ModelError: If the log-probabilities differ or are none, or the model cannot be computed in this way at all.
    """
    kind = type(model).__name__
    lengths = [length for length in _PROMPT_LENGTHS if length + _RESPONSE_LENGTH <= context_length]
    try:
        answers = _decode(decoder, [_prompt(length, vocabulary) for length in lengths])
        difference = max((_difference(model, answer) for answer in answers), default=0.0)
    except BackendError as error:
        raise ModelError(f"{kind}: {error}") from None
    except _REFUSALS as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelError(f"{kind} cannot be decoded by the transformers back end ({reason}): {_ADVICE}") from None
    if difference > _MOST_DIFFERENCE.get(model.dtype, _MOST_DIFFERENCE_SHORT):
        raise ModelError(
            f"{kind} answers otherwise token by token than at once (log-probabilities differ by {difference:.2g}): "
            f"{_ADVICE}"
        )


_ADVICE = "use a server or vLLM (agent.backend.name), or another version of transformers"


def _decode(decoder: Decoder, prompts: list[tuple[int, ...]]) -> list[Generation]:
    sampling = Sampling(max_tokens=_RESPONSE_LENGTH)
    jobs = [Job.of(Request(TokenPrompt(prompt), sampling)) for prompt in prompts]
    waiting = deque(jobs)
    while waiting or decoder.busy:
        while waiting and decoder.free:
            decoder.join(waiting)
        if decoder.busy:
            decoder.advance()
    decoder.forget()
    return [job.future.result(0) for job in jobs]


def _prompt(length: int, vocabulary: int) -> tuple[int, ...]:
    return tuple(vocabulary * place // (length + 1) for place in range(1, length + 1))


def _difference(model: PreTrainedModel, answer: Generation) -> float:
    """Largest difference of a log-probability to that of a single pass without anything kept."""
    assert answer.prompt_ids is not None
    assert answer.response_ids is not None
    assert answer.logprobs is not None
    ids = torch.tensor([[*answer.prompt_ids, *answer.response_ids]], device=model.device)
    logp_T_V = model(input_ids=ids, use_cache=False).logits[0].float().log_softmax(-1)
    behind = range(len(answer.prompt_ids) - 1, ids.shape[1] - 1)
    true = (float(logp_T_V[at, token]) for at, token in zip(behind, answer.response_ids, strict=True))
    return max(abs(one - other) for one, other in zip(answer.logprobs, true, strict=True))
