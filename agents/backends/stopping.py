"""Where a response ends: stop texts, and the text that stands before them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Decode = Callable[[Sequence[int]], str]


def decode_with(tokenizer: "PreTrainedTokenizerBase") -> Decode:
    """Makes text of tokens: without special tokens, and with every blank that was drawn."""

    def decode(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))

    return decode


class StopWatch:
    """Watches one response for stop texts while it grows.

    Only the last tokens are decoded: as many as a stop text can have characters, and a few more, because a
    token may hold a part of a character. A token that stands for no text at all can thus only make the watch
    notice later, never never: the final text is cut by ``before_stop`` in any case.
    """

    _SLACK = 8

    def __init__(self, stop: Sequence[str], decode: Decode) -> None:
        self._stop = tuple(stop)
        self._decode = decode
        self._window = max((len(text.encode()) for text in self._stop), default=0) + self._SLACK

    def sees_stop(self, response_ids: Sequence[int]) -> bool:
        """Whether the end of the response holds a stop text."""
        if not self._stop:
            return False
        tail = self._decode(response_ids[-self._window :])
        return any(text in tail for text in self._stop)


def before_stop(text: str, stop: Sequence[str]) -> str:
    """The part of a text that stands before the first stop text in it."""
    found = [text.find(one) for one in stop]
    return text[: min((at for at in found if at >= 0), default=len(text))]
