"""Continuous batching: responses join and leave the batch between any two tokens."""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from .drawing import Draw, draw_tokens
from .forward import Forward
from .prefix_store import SHORTEST, Ids, Prefix, PrefixStore, as_ids, common
from .responses import GrowingResponse, Job, ResponseRules
from .row_attention import NAME as ROWS
from .row_attention import rows_of, use_row_attention
from .slot_cache import SlotCache
from .torch_threads import threads_for_few_tokens

# Tokens of a pass, those that fill it up included. More make it no faster, and attention needs their square.
_MOST_TOKENS = 4096


class _Beginning(NamedTuple):
    """A prompt whose tokens behind the first ``kept`` are to be computed."""

    ids: Ids
    kept: int

    @property
    def new(self) -> int:
        """How many tokens there are to compute."""
        return len(self.ids) - self.kept


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
        # Prompts of different lengths need a mask of their own, which other kinds of attention do not take, and
        # positions.
        kinds = ("sdpa", "eager", ROWS)
        self._together = self._forward.takes_positions and model.config._attn_implementation in kinds
        self._dtype = model.dtype
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

    def join(self, waiting: deque[Job]) -> None:
        """Computes prompts, from where kept prefixes end, and draws the first tokens of their responses."""
        first = len(self._responses)
        beginnings: list[_Beginning] = []
        while waiting and self.free and not (beginnings and self._stays_behind(beginnings, first, waiting[0])):
            job = waiting.popleft()
            if not self._rules.admits(job):
                continue
            ids = as_ids(job.prompt_ids)
            prefix = self._longest_prefix(ids, first)
            self._cache.begin_row(prefix.state, prefix.length)
            self._responses.append(self._rules.begin(job, prefix.length))
            self._prompts.append(ids)
            beginnings.append(_Beginning(ids, prefix.length))
        if not beginnings:
            return
        lengths = [len(one.ids) for one in beginnings]
        new_ids_B_T, positions_B_T, mask = _side_by_side(beginnings, self._dtype)
        with rows_of(lengths):
            logits_B_V = self._forward(
                new_ids_B_T,
                mask,
                positions_B_T,
                self._cache.for_prompts(first, [one.new for one in beginnings]),
            )
        self._cache.lengths[first:] = lengths
        responses = self._responses[first:]
        self._add(draw_tokens(logits_B_V, [response.draws for response in responses]), responses)

    def _stays_behind(self, beginnings: "Sequence[_Beginning]", first: int, job: Job) -> bool:
        """Whether a request is better computed in a pass after that of the rows from ``first`` on.

        Either it would have to be filled up much, or fill up others, or it can begin with what one of them computes.
        Its tokens are not looked at yet and may be none of the model's.
        """
        if not self._together:
            return True
        length = len(job.prompt_ids)
        counts = [*(one.new for one in beginnings), length]
        if max(counts) * len(counts) > min(_MOST_TOKENS, 2 * sum(counts)):
            return True
        half = length // 2 + 1
        return any(one.job.prompt_ids[:half] == job.prompt_ids[:half] for one in self._responses[first:])

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

    def _longest_prefix(self, ids: Ids, rows: int) -> Prefix:
        """What a kept state has of a prompt, or one of the first rows: of a group, all but the one that began first."""
        prefix = self._store.find(ids)
        row, length = max(
            ((row, common(prompt, ids[:-1])) for row, prompt in enumerate(self._prompts[:rows])),
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


def _side_by_side(beginnings: Sequence[_Beginning], dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """New tokens, their positions and what each of them sees; shorter ones are filled up on the left.

    Returns:
        Tokens and positions, [rows, new tokens], and the mask. For one prompt that is the library's kind of mask, ones
        for all tokens; for several, the numbers to be added to attention scores, [rows, 1, new tokens, columns].
    """
    if len(beginnings) == 1:
        ids, kept = beginnings[0]
        positions = torch.arange(kept, len(ids))[None]
        return torch.from_numpy(ids[kept:].astype("int64"))[None], positions, torch.ones(1, len(ids), dtype=torch.long)
    most = max(one.new for one in beginnings)
    new_ids_B_T = torch.zeros(len(beginnings), most, dtype=torch.long)
    # What stands in for a missing token sees the first column, as who sees nothing computes what is no number.
    positions_B_T = torch.zeros_like(new_ids_B_T)
    for row, (ids, kept) in enumerate(beginnings):
        count = len(ids) - kept
        new_ids_B_T[row, most - count :] = torch.from_numpy(ids[kept:].astype("int64"))
        positions_B_T[row, most - count :] = torch.arange(kept, len(ids))
    columns = torch.arange(max(len(one.ids) for one in beginnings))
    hidden_B_T_C = columns > positions_B_T[:, :, None]
    mask = torch.zeros(hidden_B_T_C.shape, dtype=dtype).masked_fill_(hidden_B_T_C, -torch.inf)
    return new_ids_B_T, positions_B_T, mask[:, None]
