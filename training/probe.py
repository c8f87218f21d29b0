"""Whether what plays is what is trained: log-probabilities of a few tokens, by both."""

from typing import NamedTuple

import torch

from ..agents.backends.backend import Backend, BackendTimeout, Generation, Request, Sampling, TokenPrompt
from ..agents.sequences import TokenSequence
from .scoring import Scorer

_LENGTHS = (3, 40, 300)
_RESPONSE = 16
_PART_TOKENS = 8192
# A back end keeps its own time. Only one that hangs is waited for so much longer.
_GRACE_SECONDS = 60.0


class Difference(NamedTuple):
    """How far two models' log-probabilities of the same tokens are apart: at most, and in the mean."""

    largest: float
    mean: float


class Probe:
    """Three prompts that are always the same, and what a back end says to them.

    The prompts are of 3, 40 and 300 tokens, spread over the vocabulary: the longest fills blocks of a prefix cache, so
    that keys and values of weights before these would show as well.

    Args:
        vocabulary: Tokens of the tokenizer.
        context: Most tokens of prompt and response.
        timeout_s: Seconds for a response.
    """

    def __init__(self, vocabulary: int, context: int, timeout_s: float) -> None:
        room = max(1, context - _RESPONSE)
        self._prompts = [_prompt(min(length, room), vocabulary) for length in _LENGTHS]
        self._timeout_s = timeout_s

    def compare(self, backend: Backend, scorer: Scorer) -> Difference:
        """Compares what a back end says its tokens' log-probabilities are with what they are.

        Args:
            backend: The back end; it draws tokens as it does in rollouts.
            scorer: The trainer's model at temperature 1.

        Raises:
            BackendError: If the back end does not answer, or not in time.
        """
        sampling = Sampling(max_tokens=_RESPONSE, temperature=1.0, seed=1)
        futures = [backend.submit(Request(TokenPrompt(ids), sampling, self._timeout_s)) for ids in self._prompts]
        try:
            sequences = [_sequence(future.result(self._timeout_s + _GRACE_SECONDS)) for future in futures]
        except TimeoutError:
            raise BackendTimeout(f"the language model hangs: no response within {self._timeout_s:g} seconds") from None
        served_T = torch.tensor([logp for one in sequences for logp in one.logprobs[-one.lengths[0] :]])
        off_T = (served_T - scorer.all(sequences, _PART_TOKENS).logp_T).abs()
        return Difference(float(off_T.max()), float(off_T.mean()))


def _prompt(length: int, vocabulary: int) -> tuple[int, ...]:
    return tuple((7919 * place + length) % vocabulary for place in range(length))


def _sequence(answer: Generation) -> TokenSequence:
    prompt, response, logprobs = answer.prompt_ids, answer.response_ids, answer.logprobs
    assert prompt is not None
    assert response is not None
    assert logprobs is not None
    return TokenSequence(
        ids=(*prompt, *response),
        mask=(False,) * len(prompt) + (True,) * len(response),
        logprobs=(0.0,) * len(prompt) + logprobs,
        turns=(0,),
        lengths=(len(response),),
    )
