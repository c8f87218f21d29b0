"""One response after the other, with the model's own cache: right for every causal model."""

from collections import deque
from collections.abc import Sequence

import torch
from transformers import DynamicCache, PreTrainedModel

from .drawing import draw_tokens
from .forward import Forward
from .responses import GrowingResponse, Job, ResponseRules


class SingleDecoder:
    """Decodes one response at a time; for models with sliding windows or with states, which cannot be kept in rows.

    Args:
        model: The model, in evaluation mode.
        rules: When responses begin and end.
    """

    def __init__(self, model: PreTrainedModel, rules: ResponseRules) -> None:
        self._model = model
        self._forward = Forward(model)
        self._rules = rules
        self._response: GrowingResponse | None = None
        self._cache = DynamicCache(config=model.config)

    @property
    def free(self) -> int:
        """How many more responses can join."""
        return int(self._response is None)

    @property
    def busy(self) -> bool:
        """Whether a response is growing."""
        return self._response is not None

    def join(self, waiting: deque[Job]) -> None:
        """Computes the prompt of the first one and draws the first token."""
        job = waiting.popleft()
        if self._rules.admits(job):
            self._response = self._rules.begin(job, 0)
            self._cache = DynamicCache(config=self._model.config)
            self._add(self._response, job.prompt_ids)

    def advance(self) -> None:
        """Draws one more token."""
        assert self._response is not None
        self._add(self._response, self._response.ids[-1:])

    def forget(self) -> None:
        """Nothing is kept, so there is nothing to forget."""

    def abandon(self, error: Exception) -> None:
        """Gives up the growing response with an error."""
        if self._response is not None:
            self._response.job.fail(error)
            self._response = None

    def _add(self, response: GrowingResponse, new_ids: Sequence[int]) -> None:
        end = response.length
        logits_B_V = self._forward(
            torch.tensor([list(new_ids)]),
            None,  # Models with states would take it for a mask of the new tokens alone.
            torch.arange(end - len(new_ids), end)[None],
            self._cache,
        )
        [draw] = draw_tokens(logits_B_V, [response.draws])
        if self._rules.add(draw, response):
            self._response = None
            response.give()
