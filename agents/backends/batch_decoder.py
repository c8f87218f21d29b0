"""Continuous batching: responses join and leave the batch between any two tokens."""

import math

import torch
from transformers import PreTrainedModel

from .drawing import Draw, draw_tokens
from .forward import Forward
from .prefix_store import SHORTEST, Ids, Prefix, PrefixStore, as_ids, common
from .responses import GrowingResponse, Job, ResponseRules
from .row_attention import rows_of, use_row_attention
from .slot_cache import SlotCache
from .torch_threads import threads_for_few_tokens


class BatchDecoder:
    """Decodes several responses together; for models that ``SlotCache`` serves.

    Args:
        model: The model, in evaluation mode.
        rules: When responses begin and end.
        rows: Most responses at once.
        cache_bytes: Memory for keys and values of ended responses.
    """

    def __init__(self, model: PreTrainedModel, rules: ResponseRules, rows: int, cache_bytes: int) -> None:
        self._model = model
        self._forward = Forward(model)
        self._threads = threads_for_few_tokens(model)
        use_row_attention(model)
        self._rules = rules
        self._rows = rows
        self._store = PrefixStore(cache_bytes)
        # The response in each row of the cache, and its prompt.
        self._responses: list[GrowingResponse] = []
        self._prompts: list[Ids] = []
        self._cache = SlotCache(model, rows)

    @property
    def free(self) -> int:
        """How many more responses can join."""
        return self._rows - len(self._responses)

    @property
    def busy(self) -> bool:
        """Whether any response is growing."""
        return bool(self._responses)

    def join(self, job: Job) -> None:
        """Computes the prompt, from where a kept prefix ends, and draws the first token."""
        if not self._rules.admits(job):
            return
        ids = as_ids(job.prompt_ids)
        prefix = self._longest_prefix(ids)
        response = self._rules.begin(job, prefix.length)
        self._responses.append(response)
        self._prompts.append(ids)
        row = self._cache.begin_row(prefix.state, prefix.length)
        length = len(job.prompt_ids)
        with rows_of([length]):
            logits_B_V = self._forward(
                torch.tensor([job.prompt_ids[prefix.length :]]),
                torch.ones(1, length, dtype=torch.long),
                torch.arange(prefix.length, length)[None],
                self._cache.for_prompt(row),
            )
        self._cache.lengths[row] = length
        self._add(draw_tokens(logits_B_V, [response.draws]), [response])

    def advance(self) -> None:
        """Draws one more token of each response, and gives those that have ended to their futures."""
        responses = list(self._responses)
        lengths_B = torch.tensor(self._cache.lengths)
        columns = torch.arange(int(lengths_B.max()) + 1)
        longer = [length + 1 for length in self._cache.lengths]
        with rows_of(longer), self._threads():
            logits_B_V = self._forward(
                torch.tensor([[response.ids[-1]] for response in responses]),
                (columns <= lengths_B[:, None]).long(),
                lengths_B[:, None],
                self._cache.for_next_tokens(),
            )
        self._cache.lengths = longer
        self._add(draw_tokens(logits_B_V, [response.draws for response in responses]), responses)

    def forget(self) -> None:
        """Forgets what was computed for ended responses."""
        self._store.clear()

    def abandon(self, error: Exception) -> None:
        """Gives up all growing responses with an error and starts afresh, as the cache may be half written."""
        for response in self._responses:
            response.job.fail(error)
        self._responses = []
        self._prompts = []
        self._cache = SlotCache(self._model, self._rows)
        self._store.clear()

    def _longest_prefix(self, ids: Ids) -> Prefix:
        """What a kept state has of a prompt, or a neighbour: of a group that is begun at once, all but the first."""
        prefix = self._store.find(ids)
        row, length = max(
            ((row, common(prompt, ids[:-1])) for row, prompt in enumerate(self._prompts)),
            key=lambda found: found[1],
            default=(0, 0),
        )
        return Prefix(self._cache.look(row), length) if length > max(prefix.length, SHORTEST - 1) else prefix

    def _add(self, draws: list[Draw], responses: list[GrowingResponse]) -> None:
        for draw, response in zip(draws, responses, strict=True):
            if self._rules.add(draw, response):
                self._leave(response)
                # Last, so that who waits for the last response finds nothing busy.
                response.give()

    def _leave(self, response: GrowingResponse) -> None:
        row = self._responses.index(response)
        if math.isnan(response.logprobs[-1]):
            # A mask does not hide such numbers: 0 times NaN is NaN.
            self._cache.wipe(row)
        else:
            # The last token was drawn but never computed, so the state ends before it.
            self._store.keep([*response.job.prompt_ids, *response.ids[:-1]], self._cache.state(row))
        self._cache.end_row(row)
        last, prompt = self._responses.pop(), self._prompts.pop()
        if last is not response:
            self._responses[row], self._prompts[row] = last, prompt
