"""Special tokens as texts: a template writes them, a message must not."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Stands for a special token's text in a message while a template is applied. No template changes it, and where a
# message has it by itself it is hidden like a special token.
_MARK = "@@special"
_HIDDEN = re.compile(re.escape(_MARK) + r"([0-9]+)@@")


class ControlTokens:
    """Encodes rendered chats so that nothing a message says becomes a special token.

    What an environment says may hold ``<|im_end|>``, by accident or because the agent has made it say so, as with the
    output of a program that it wrote. Taken for the token, it would end the message, and the rest could pass for
    another speaker's. Such texts are spelled in ordinary tokens; all others get the tokens that they always had.

    Args:
        tokenizer: The model's tokenizer.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        self._tokenizer = tokenizer
        ids = {token.content: one for one, token in tokenizer.added_tokens_decoder.items() if token.special}
        texts = sorted(ids, key=len, reverse=True)  # the longest first, as the tokenizer takes them
        # Here and not when it is needed: the setting is one of the tokenizer, which several threads share.
        spelled = tokenizer(texts, add_special_tokens=False, split_special_tokens=True)["input_ids"] if texts else []
        pairs = [(text, tuple(one)) for text, one in zip(texts, spelled, strict=True) if not {*one} & {*ids.values()}]
        self._special = re.compile("|".join(map(re.escape, texts)) or r"(?!)")
        self._numbers = {text: number for number, (text, _) in enumerate([*pairs, (_MARK, ())])}
        self._texts = re.compile("|".join(map(re.escape, self._numbers)))
        self._spelled = [*(one for _, one in pairs), self._plain(_MARK)]

    def hide(self, content: str) -> str:
        """A message whose special texts a template will leave alone."""
        return self._texts.sub(lambda found: f"{_MARK}{self._numbers[found[0]]}@@", content)

    def encode(self, rendered: str) -> tuple[int, ...]:
        """The tokens of a rendered chat, whose messages were hidden before."""
        pieces = _HIDDEN.split(rendered)
        ids = list(self._plain(pieces[0]))
        for number, text in zip(pieces[1::2], pieces[2::2], strict=True):
            ids += self._spelled[int(number)]
            ids += self._plain(text)
        return tuple(ids)

    def first(self, rendered: str) -> int:
        """Where the first special token of a rendered chat begins, or something hidden; the end if there is none."""
        found = [match.start() for one in (self._special, _HIDDEN) if (match := one.search(rendered))]
        return min(found, default=len(rendered))

    def _plain(self, text: str) -> tuple[int, ...]:
        ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return tuple(int(one) for one in ids)
