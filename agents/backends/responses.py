"""A response on its way: how it begins, grows by a token at a time, and ends."""

import contextlib
import math
from collections.abc import Collection
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from time import monotonic

from ..usage import Usage
from .backend import BackendError, BackendTimeout, ContextOverflow, FinishReason, Generation, Request, TokenPrompt
from .drawing import Draw, TokenDraws
from .stopping import Decode, StopWatch, before_stop


@dataclass(slots=True, eq=False)
class Job:
    """A request on its way.

    Attributes:
        request: What was asked.
        prompt_ids: Its prompt.
        future: Where the response goes.
        deadline: Moment at which the response is given up, on the clock of ``monotonic``.
    """

    request: Request
    prompt_ids: tuple[int, ...]
    future: Future[Generation]
    deadline: float

    @classmethod
    def of(cls, request: Request) -> "Job":
        """Starts the clock of a request.

        Raises:
            TypeError: If the prompt is not given as tokens.
        """
        if not isinstance(request.prompt, TokenPrompt):
            raise TypeError("this back end takes tokens, not messages")
        return cls(request, request.prompt.ids, Future(), monotonic() + request.timeout_s)

    def lateness(self) -> BackendTimeout | None:
        """The error of a response whose time is over; None while it is not."""
        if monotonic() < self.deadline:
            return None
        seconds = self.request.timeout_s
        return BackendTimeout(
            f"no response within {seconds:g} seconds: raise agent.timeout_s, or let fewer play at once"
        )

    def gave_up(self) -> bool:
        """Whether the time is over; if so, the future has the error."""
        error = self.lateness()
        if error is not None:
            self.fail(error)
        return error is not None

    def fail(self, error: Exception) -> None:
        """Gives the future an error, unless it has its result."""
        # Who asked may cancel a future that waits at any moment.
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


@dataclass(slots=True, eq=False)
class GrowingResponse:
    """A response that is being drawn.

    Attributes:
        job: What it answers.
        draws: Draws its tokens.
        watch: Looks for stop texts.
        cached: Tokens of the prompt that were not computed again.
        ids: Tokens so far.
        logprobs: Their log-probabilities.
        ending: What becomes of it, once that is known.
    """

    job: Job
    draws: TokenDraws
    watch: StopWatch
    cached: int
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ending: Generation | BackendError | None = None

    @property
    def length(self) -> int:
        """Tokens of the prompt and the response so far."""
        return len(self.job.prompt_ids) + len(self.ids)

    def give(self) -> None:
        """Gives the future what became of the response. Whoever waits may go on at once."""
        if isinstance(self.ending, Generation):
            self.job.future.set_result(self.ending)
        elif self.ending is not None:
            self.job.fail(self.ending)


class ResponseRules:
    """When a response may begin and when it ends.

    Args:
        decode: Makes text of tokens, without special ones.
        end_ids: Tokens that end a response.
        context_length: Most tokens of a prompt and its response.
        vocabulary: Number of tokens that the model knows.
    """

    def __init__(self, decode: Decode, end_ids: Collection[int], context_length: int, vocabulary: int) -> None:
        self._decode = decode
        self._end_ids = frozenset(end_ids)
        self._context_length = context_length
        self._vocabulary = vocabulary

    def admits(self, job: Job) -> bool:
        """Whether there is something to compute. If not, the future has the reason or was cancelled."""
        if not job.future.set_running_or_notify_cancel() or job.gave_up():
            return False
        length = len(job.prompt_ids)
        if length >= self._context_length:
            job.fail(ContextOverflow(f"the prompt has {length} tokens and the context {self._context_length}"))
        elif not job.prompt_ids:
            job.fail(BackendError("the prompt has no tokens"))
        elif not 0 <= min(job.prompt_ids) <= max(job.prompt_ids) < self._vocabulary:
            # On a GPU such a token would end the whole process.
            job.fail(BackendError(f"the prompt has tokens that are not among the model's {self._vocabulary}"))
        else:
            return True
        return False

    def begin(self, job: Job, cached: int) -> GrowingResponse:
        """An empty response, of whose prompt so many tokens are computed already."""
        sampling = job.request.sampling
        return GrowingResponse(job, TokenDraws(sampling), StopWatch(sampling.stop, self._decode), cached)

    def add(self, draw: Draw, response: GrowingResponse) -> bool:
        """Adds a token. True if the response has ended with it; it is then for ``GrowingResponse.give``."""
        response.ids.append(draw.token)
        response.logprobs.append(draw.logprob)
        job = response.job
        if math.isnan(draw.logprob):
            response.ending = BackendError(
                "the model computes numbers that are none (NaN): set agent.backend.dtype=float32, or check its weights"
            )
            return True
        finish = self._finish(response)
        if finish is None:
            response.ending = job.lateness()
            return response.ending is not None
        response.ending = Generation(
            text=before_stop(self._decode(response.ids), job.request.sampling.stop),
            finish=finish,
            prompt_ids=job.prompt_ids,
            response_ids=tuple(response.ids),
            logprobs=tuple(response.logprobs),
            usage=Usage(len(job.prompt_ids), response.cached, len(response.ids)),
        )
        return True

    def _finish(self, response: GrowingResponse) -> FinishReason | None:
        if response.ids[-1] in self._end_ids or response.watch.sees_stop(response.ids):
            return FinishReason.STOP
        full = response.length >= self._context_length
        return FinishReason.LENGTH if full or len(response.ids) >= response.job.request.sampling.max_tokens else None
