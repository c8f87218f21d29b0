"""Any causal language model of the transformers library, in a thread of this process."""

import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..checkpoints import ModelError
from .backend import BackendError, Generation, Request
from .batch_decoder import BatchDecoder
from .decoder import Decoder
from .responses import Job, ResponseRules
from .self_check import check_decoding
from .single_decoder import SingleDecoder
from .slot_cache import SlotCache
from .stopping import decode_with


class TransformersBackend:
    """Answers requests in the order in which they come, up to ``max_batch`` at once.

    A response joins the batch between any two tokens and leaves it at its end, so that nobody waits for the
    longest. What was computed for a response is kept: a prompt that goes on from it is computed from there only.
    Models with sliding windows or with states in place of keys and values answer one request at a time, and nothing
    is kept for them.

    Args:
        model: The model, in evaluation mode and on its device.
        tokenizer: Its tokenizer, for stop texts and for the text of responses.
        max_batch: Most responses that grow at once.
        cache_gib: Memory in GiB for what is kept of ended responses.
        max_context: Most tokens of prompt and response, where that is to be fewer than the model reads.

    Attributes:
        context_length: Most tokens of prompt and response.

    Raises:
        ModelError: If the tokenizer has more tokens than the model, or the model cannot be decoded token by token.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        max_batch: int = 16,
        cache_gib: float = 1.0,
        max_context: int | None = None,
    ) -> None:
        reads = context_length_of(model)
        self.context_length: int = reads if max_context is None else min(reads, max_context)
        vocabulary = int(model.get_input_embeddings().num_embeddings)
        if len(tokenizer) > vocabulary:
            raise ModelError(
                f"the tokenizer has {len(tokenizer)} tokens and the model {vocabulary}: they do not belong together"
            )
        rules = ResponseRules(decode_with(tokenizer), end_ids_of(model, tokenizer), self.context_length, vocabulary)
        self._decoder: Decoder
        if SlotCache.serves(model):
            self._decoder = BatchDecoder(model, rules, max_batch, int(cache_gib * 2**30))
        else:
            self._decoder = SingleDecoder(model, rules)
        check_decoding(model, self._decoder, vocabulary, self.context_length)
        self._waiting: deque[Job] = deque()
        # Requests that wait no more and that the decoder has not taken yet.
        self._joining: deque[Job] = deque()
        self._changed = threading.Condition()
        # Why no more requests are taken, once none are.
        self._ended: BackendError | None = None
        self._closed = False
        self._stale = False
        self._thread = threading.Thread(target=self._run, name="language-model", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> Future[Generation]:
        """Begins to answer; see ``Backend.submit``."""
        job = Job.of(request)
        with self._changed:
            if self._closed:
                job.fail(self._ended or _closed())
            else:
                self._waiting.append(job)
                self._changed.notify()
        return job.future

    def forget(self) -> None:
        """Forgets what was computed for ended responses. Call it when the model's weights have changed.

        Raises:
            BackendError: If a response is being computed: it would come from two models.
        """
        with self._changed:
            if self._waiting or self._joining or self._decoder.busy:
                raise BackendError("the weights were changed in the middle of a response")
            self._stale = True

    def close(self) -> None:
        """Ends all responses and the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    @torch.inference_mode()
    def _run(self) -> None:
        try:
            while self._admit():
                if self._decoder.busy:
                    self._attempt(self._decoder.advance)
        finally:
            # Also after a mistake in the code, which the thread then reports: nobody may wait for ever.
            mistake = sys.exception()
            with self._changed:
                self._closed = True
                self._ended = _closed() if mistake is None else _stopped(mistake)
                waiting = [*self._joining, *self._waiting]
                self._joining.clear()
                self._waiting.clear()
            self._decoder.abandon(self._ended)
            for job in waiting:
                job.fail(self._ended)

    def _admit(self) -> bool:
        """Lets requests join while there is room, and waits when there is nothing to do. False to end."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._waiting or self._decoder.busy)
                if self._closed:
                    return False
                if self._stale:
                    self._decoder.forget()
                    self._stale = False
                if not self._waiting:
                    return True
                if not self._decoder.free:
                    self._waiting = deque(job for job in self._waiting if not job.gave_up())
                    return True
                while self._waiting and len(self._joining) < self._decoder.free:
                    self._joining.append(self._waiting.popleft())
            while self._joining and self._decoder.free:
                self._attempt(partial(self._decoder.join, self._joining))

    def _attempt(self, step: Callable[[], None]) -> None:
        """Computes. What torch refuses, such as more memory than there is, ends the responses in the batch."""
        try:
            step()
        except RuntimeError as error:
            self._decoder.abandon(BackendError(f"the language model failed: {_brief(error)}"))


def context_length_of(model: PreTrainedModel) -> int:
    """Most tokens that a model reads, as its configuration says; without a word of it, a million."""
    config = model.config.get_text_config()
    lengths = (getattr(config, name, None) for name in ("max_position_embeddings", "n_positions", "max_seq_len"))
    return next((length for length in lengths if isinstance(length, int)), 2**20)


def end_ids_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """The tokens that end a response, as the model's generation settings and the tokenizer say."""
    generation = model.generation_config
    named = None if generation is None else generation.eos_token_id
    ids = [named] if isinstance(named, int) else list(named or [])
    if isinstance(tokenizer.eos_token_id, int):
        ids.append(tokenizer.eos_token_id)
    return frozenset(ids)


def _closed() -> BackendError:
    return BackendError("the language model was closed")


def _stopped(mistake: BaseException) -> BackendError:
    return BackendError(f"the language model has stopped: {type(mistake).__name__}: {_brief(mistake)}")


def _brief(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
