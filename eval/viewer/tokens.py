"""Token ids as the pieces of text that they stand for, as far as the model's tokenizer is at hand.

A run folder keeps token ids and no token texts, so that nothing is ever decoded and encoded again on the way to a loss.
To show them, the tokenizer is loaded from where the model was; nothing is fetched from a hub.
"""

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...agents.checkpoints import Checkpoint, ModelError, find_checkpoint
from ...agents.embedded import EMBEDDED
from ...agents.loading import load_tokenizer
from ...envs.errors import MissingExtraError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# No character takes more tokens than this; what does not end then is not text.
_LONGEST = 8
_BROKEN = "\ufffd"


class TokenTexts:
    """Makes texts of token ids.

    Args:
        tokenizer: The tokenizer of the model that sampled or read them.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        self._tokenizer = tokenizer
        self._after = functools.lru_cache(maxsize=1 << 16)(self._text_after)

    def text(self, ids: Sequence[int]) -> str:
        """The text of some tokens, with special tokens as they are written."""
        text = self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        assert isinstance(text, str)
        return text

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text of each token, so that all together are the text of the whole.

        Where a character is made of several tokens, the last of them has it and the others are empty.
        """
        pieces: list[str] = []
        before: tuple[int, ...] = ()
        waiting: tuple[int, ...] = ()
        for number, token in enumerate(ids, start=1):
            waiting = (*waiting, token)
            text = self._after(before, waiting)
            if text.endswith(_BROKEN) and len(waiting) < _LONGEST and number < len(ids):
                pieces.append("")
            else:
                pieces.append(text)
                before, waiting = waiting, ()
        return pieces

    def _text_after(self, before: tuple[int, ...], ids: tuple[int, ...]) -> str:
        """The text of some tokens behind others: alone, many tokenizers would take a leading blank away."""
        return self.text(before + ids)[len(self.text(before)) :]


def open_tokenizer(model: str) -> TokenTexts:
    """Loads a tokenizer.

    Args:
        model: ``smollm2-135m``, a folder that holds the tokenizer's files, or an id of the Hugging Face hub whose
            files are in the local cache.

    Raises:
        HolderGymError: If there is none, or it cannot be loaded.
    """
    if model in EMBEDDED:
        return TokenTexts(load_tokenizer(find_checkpoint(model)))
    folder = Path(model).expanduser()
    if folder.is_dir():
        # The weights do not matter here, so they are neither needed nor hashed.
        return TokenTexts(load_tokenizer(Checkpoint(folder.name, folder, "")))
    return TokenTexts(load_tokenizer(Checkpoint(model, _cached(model), "")))


def _cached(model: str) -> Path:
    """The folder of the hub's local cache that holds a model."""
    if importlib.util.find_spec("huggingface_hub") is None:
        raise MissingExtraError(f"the tokenizer of {model}", "train", "huggingface_hub")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, local_files_only=True, allow_patterns=["*.json", "*.model", "*.txt"]))
    except (LocalEntryNotFoundError, HFValidationError):
        raise ModelError(
            f"the tokenizer of {model!r} is neither a folder here nor in the hub's cache: "
            "give --tokenizer FOLDER, a folder with tokenizer.json"
        ) from None
