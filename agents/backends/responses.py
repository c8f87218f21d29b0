"""A response on its way: how it begins, grows by a token at a time, and ends."""

from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import monotonic

from ..usage import Usage
from .backend import BackendTimeout, ContextOverflow, FinishReason, Generation, Request, TokenPrompt
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

    def gave_up(self) -> bool:
        """Whether the time is over; if so, the future has the error."""
        if monotonic() < self.deadline:
            return False
        seconds = self.request.timeout_s
        self.fail(BackendTimeout(f"no response within {seconds:g} seconds: raise the limit or the speed"))
        return True

    def fail(self, error: Exception) -> None:
        """Gives the future an error, unless it has its result."""
        if not self.future.done():
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
    """

    job: Job
    draws: TokenDraws
    watch: StopWatch
    cached: int
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens of the prompt and the response so far."""
        return len(self.job.prompt_ids) + len(self.ids)


class ResponseRules:
    """When a response may begin and when it ends.

    Args:
        decode: Makes text of tokens, without special ones.
        end_ids: Tokens that end a response.
        context_length: Most tokens of a prompt and its response.
    """

    def __init__(self, decode: Decode, end_ids: Collection[int], context_length: int) -> None:
        self._decode = decode
        self._end_ids = frozenset(end_ids)
        self._context_length = context_length

    def admits(self, job: Job) -> bool:
        """Whether there is something to compute. If not, the future has the reason or was cancelled."""
        if not job.future.set_running_or_notify_cancel() or job.gave_up():
            return False
        length = len(job.prompt_ids)
        if length < self._context_length:
            return True
        job.fail(ContextOverflow(f"the prompt has {length} tokens and the context {self._context_length}"))
        return False

    def begin(self, job: Job, cached: int) -> GrowingResponse:
        """An empty response, of whose prompt so many tokens are computed already."""
        sampling = job.request.sampling
        return GrowingResponse(job, TokenDraws(sampling), StopWatch(sampling.stop, self._decode), cached)

    def add(self, draw: Draw, response: GrowingResponse) -> bool:
        """Adds a token. True if the response has ended with it; its future then has the result."""
        response.ids.append(draw.token)
        response.logprobs.append(draw.logprob)
        finish = self._finish(response)
        if finish is None:
            return response.job.gave_up()
        job = response.job
        generation = Generation(
            text=before_stop(self._decode(response.ids), job.request.sampling.stop),
            finish=finish,
            prompt_ids=job.prompt_ids,
            response_ids=tuple(response.ids),
            logprobs=tuple(response.logprobs),
            usage=Usage(len(job.prompt_ids), response.cached, len(response.ids)),
        )
        job.future.set_result(generation)
        return True

    def _finish(self, response: GrowingResponse) -> FinishReason | None:
        if response.ids[-1] in self._end_ids or response.watch.sees_stop(response.ids):
            return FinishReason.STOP
        full = response.length >= self._context_length
        return FinishReason.LENGTH if full or len(response.ids) >= response.job.request.sampling.max_tokens else None
