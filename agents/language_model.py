"""The agent that is a language model: a prompt goes out, a reply comes back, a command is found in it."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from .agent import Agent, AgentTimeout, Conversation, EpisodeLimit, Response, turn_seed
from .backends.backend import Backend, ContextOverflow, FinishReason, Generation, Request, Sampling
from .composing import Composer
from .parsing import Rule, nearest_command, parse_reply
from .trajectory import Outcome

# A back end keeps its own time. Only one that hangs is waited for so much longer, and then left alone.
_GRACE_SECONDS = 60.0
# What verl-agent sends for a reply without a command.
_TAIL_CHARACTERS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an episode may use.

    Attributes:
        response_tokens: Tokens of one response.
        episode_tokens: Tokens of all its responses; None for any number.
        response_s: Seconds for one response.
    """

    response_tokens: int
    episode_tokens: int | None
    response_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a reply becomes a command.

    Attributes:
        rule: Where the command stands; see ``parsing``.
        snap: Whether an inadmissible command becomes the admissible one nearest to it.
        send_tail: Whether the last characters are sent of a reply without a command, instead of nothing.
        thinking_open: Whether prompts end within a ``<think>``, so that replies begin with thinking.
    """

    rule: Rule
    snap: bool = False
    send_tail: bool = False
    thinking_open: bool = False


class LanguageModelAgent(Agent):
    """Plays with a language model. It keeps no state between calls, so any number of threads may share it.

    Args:
        name: Short name for tables.
        fingerprint: The name with every setting that can change an action.
        open_backend: Loads or reaches the model, when it is needed for the first time.
        composer: Makes prompts.
        sampling: How tokens are drawn; its seed and its limit are replaced for each response.
        limits: What an episode may use.
        reading: How a reply becomes a command.
    """

    def __init__(
        self,
        *,
        name: str,
        fingerprint: str,
        open_backend: Callable[[], Backend],
        composer: Composer,
        sampling: Sampling,
        limits: Limits,
        reading: Reading,
    ) -> None:
        self._name = name
        self._fingerprint = fingerprint
        self._open_backend = open_backend
        self._backend: Backend | None = None
        self._opening = threading.Lock()
        self._composer = composer
        self._sampling = sampling
        self._limits = limits
        self._reading = reading

    @property
    def name(self) -> str:
        """Short name for tables."""
        return self._name

    @property
    def fingerprint(self) -> str:
        """The name with every setting that can change an action."""
        return self._fingerprint

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order; all prompts are with the model at once.

        Raises:
            AgentError: If the model cannot answer one of them.
            AgentTimeout: If it did not answer one of them in time.
            EpisodeLimit: If one of them has used up its tokens or the model's context.
            ModelError: If the model would answer nothing else either: no episode of its own, but the end of the run.
        """
        backend = self._opened()
        futures = [backend.submit(self._request(conversation)) for conversation in conversations]
        return [
            self._respond(conversation, self._wait(future))
            for conversation, future in zip(conversations, futures, strict=True)
        ]

    def open(self) -> None:
        """Loads or reaches the model.

        Raises:
            HolderGymError: If it cannot be loaded.
        """
        self._opened()

    def close(self) -> None:
        """Ends the model. Calls of ``act`` that wait for it raise AgentError, and so do later ones."""
        if self._backend is not None:
            self._backend.close()

    def _opened(self) -> Backend:
        with self._opening:
            if self._backend is None:
                self._backend = self._open_backend()
            return self._backend

    def _request(self, conversation: Conversation) -> Request:
        sampling = Sampling(
            max_tokens=self._tokens_left(conversation),
            temperature=self._sampling.temperature,
            top_p=self._sampling.top_p,
            top_k=self._sampling.top_k,
            stop=self._sampling.stop,
            seed=turn_seed(conversation.seed, conversation.turn),
        )
        return Request(self._composer.compose(conversation), sampling, self._limits.response_s)

    def _tokens_left(self, conversation: Conversation) -> int:
        most, limit = self._limits.response_tokens, self._limits.episode_tokens
        if limit is None:
            return most
        spent = sum(_tokens_of(exchange.response) for exchange in conversation.history)
        if spent >= limit:
            raise EpisodeLimit(Outcome.TOKENS, f"all {limit} tokens of the episode are used up")
        return min(most, limit - spent)

    def _wait(self, future: Future[Generation]) -> Generation:
        seconds = self._limits.response_s + _GRACE_SECONDS
        try:
            return future.result(seconds)
        except ContextOverflow as error:
            raise EpisodeLimit(Outcome.CONTEXT, str(error)) from None
        except TimeoutError:
            raise AgentTimeout(f"the language model hangs: no response within {seconds:g} seconds") from None

    def _respond(self, conversation: Conversation, generation: Generation) -> Response:
        reading = self._reading
        commands = conversation.admissible_commands
        cut = generation.finish is FinishReason.LENGTH
        parsed = parse_reply(generation.text, reading.rule, cut, commands, thinking_open=reading.thinking_open)
        action, snapped_from = parsed.command, None
        if action is None:
            action = generation.text[-_TAIL_CHARACTERS:].lower() if reading.send_tail else ""
        elif reading.snap and commands and action not in commands:
            nearest = nearest_command(action, commands)
            if nearest is not None:
                action, snapped_from = nearest, action
        return Response(
            action=action,
            reply=generation.text,
            prompt_ids=generation.prompt_ids,
            response_ids=generation.response_ids,
            logprobs=generation.logprobs,
            finish=generation.finish.value,
            unparsable=parsed.command is None,
            remarks=tuple(remark.value for remark in parsed.remarks),
            snapped_from=snapped_from,
            usage=generation.usage,
        )


def _tokens_of(response: Response | None) -> int:
    """Tokens of a finished response, as far as they are known."""
    if response is None:
        return 0
    if response.response_ids is not None:
        return len(response.response_ids)
    return response.usage.generated if response.usage else 0
