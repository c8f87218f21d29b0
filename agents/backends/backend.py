"""The interface of all back ends: what is asked of a language model and what it gives back."""

from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol

from ..agent import AgentError, AgentTimeout
from ..usage import Usage


class Message(NamedTuple):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class TokenPrompt:
    """A prompt as the model sees it, token by token."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MessagePrompt:
    """A prompt as messages, for servers whose tokenizer is not known here. The server makes tokens of it."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are drawn.

    Attributes:
        max_tokens: Most tokens of the response.
        temperature: Divides the logits before the draw; 0 takes the most likely token.
        top_p: Draws from the smallest set of most likely tokens that holds this share of the probability.
        top_k: Draws from this many most likely tokens; 0 from all.
        stop: Texts that end the response as soon as they appear in it.
        seed: Seed of this response alone, so that where the back end allows it a response does not depend on
            what else is being generated.
    """

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    stop: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt and how to answer it.

    Attributes:
        prompt: What the model is to see.
        sampling: How it is to answer.
        timeout_s: Seconds after which the answer is given up, waiting in the queue included.
    """

    prompt: TokenPrompt | MessagePrompt
    sampling: Sampling
    timeout_s: float = 600.0


class FinishReason(StrEnum):
    """Why a response ended."""

    STOP = "stop"
    """At an end token or a stop text."""

    LENGTH = "length"
    """At the token limit, or at the end of the model's context: the response is cut."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A response.

    Attributes:
        text: The response as text, without special tokens; it ends before the stop text that ended it.
        finish: Why it ended.
        prompt_ids: What the model saw, or None where the server does not tell.
        response_ids: The tokens that were drawn, with the end token, or None where the server does not tell.
        logprobs: Natural logarithm of the probability of each drawn token under the model's own distribution,
            before temperature and truncation; as long as ``response_ids``. None where the server does not tell.
        usage: Counts of tokens, or None where the server does not count.
    """

    text: str
    finish: FinishReason
    prompt_ids: tuple[int, ...] | None = None
    response_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    usage: Usage | None = None

    def __post_init__(self) -> None:
        if self.logprobs is not None and (self.response_ids is None or len(self.logprobs) != len(self.response_ids)):
            raise ValueError("a response needs as many log-probabilities as tokens")


class Backend(Protocol):
    """A language model that answers any number of requests at once. All methods may be called from any thread."""

    @property
    def context_length(self) -> int | None:
        """Most tokens of prompt and response together; None where the server does not tell."""

    def submit(self, request: Request) -> Future[Generation]:
        """Begins to answer.

        The future raises:
            ContextOverflow: If the prompt leaves no room for a response.
            BackendTimeout: If the model did not answer in time.
            BackendError: If the model cannot answer.
            ModelError: If it would answer no other request either, as a server does that does not know the key.
        """

    def close(self) -> None:
        """Ends all responses and frees the model. Further requests raise BackendError; closing again is allowed."""


class BackendError(AgentError):
    """The model cannot answer this request. Whatever could be tried again has been."""


class BackendTimeout(BackendError, AgentTimeout):
    """The model did not answer in time."""


class ContextOverflow(BackendError):
    """The prompt fills the model's context, so that no response fits."""
