"""Loads models and tokenizers with the transformers library; the only place that does."""

import contextlib
import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..envs.errors import MissingExtraError
from .checkpoints import Checkpoint, ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

DTYPES = ("auto", "float32", "bfloat16", "float16")


def load_tokenizer(checkpoint: Checkpoint) -> "PreTrainedTokenizerBase":
    """Loads a checkpoint's tokenizer.

    Raises:
        MissingExtraError: If transformers is not installed.
        ModelError: If the files are damaged.
    """
    _need_transformers(checkpoint)
    from transformers import AutoTokenizer, PreTrainedTokenizerBase

    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder, local_files_only=True)
    except _file_errors() as error:
        raise _cannot_load("tokenizer", checkpoint, error) from None
    except Exception as error:
        # The tokenizers library has no type for it: a damaged tokenizer.json is an Exception and nothing more.
        if type(error) is not Exception:
            raise
        raise _cannot_load("tokenizer", checkpoint, error) from None
    assert isinstance(tokenizer, PreTrainedTokenizerBase)
    return tokenizer


def load_model(checkpoint: Checkpoint, dtype: str = "auto", device: str = "auto") -> "PreTrainedModel":
    """Loads a checkpoint's weights for inference.

    Args:
        checkpoint: What to load.
        dtype: One of ``DTYPES``; ``auto`` takes float32 on a CPU, where shorter numbers are many times slower, and
            the checkpoint's own elsewhere.
        device: As torch names it; ``auto`` takes the first GPU, or the CPU where there is none.

    Raises:
        MissingExtraError: If torch or transformers are not installed.
        ModelError: If the files are damaged, do not hold all weights or do not fit into the device.
    """
    _need_transformers(checkpoint)
    import torch
    from transformers import AutoModelForCausalLM, PreTrainedModel

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if dtype == "auto" and device == "cpu":
        dtype = "float32"
    try:
        with quiet_transformers():
            model, report = AutoModelForCausalLM.from_pretrained(
                checkpoint.folder,
                dtype=dtype,
                local_files_only=True,
                output_loading_info=True,
                # Else the library refuses without a word on which they are.
                ignore_mismatched_sizes=True,
            )
    except _file_errors() as error:
        raise _cannot_load("model", checkpoint, error) from None
    # The library gives such weights random values and only logs it.
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(f"{checkpoint.folder}: the weights lack {missing[0]!r}{_and_more(missing)}")
    other = sorted(str(entry[0]) for entry in report["mismatched_keys"])
    if other:
        raise ModelError(
            f"{checkpoint.folder}: the weights {other[0]!r}{_and_more(other)} have other sizes than config.json says: "
            "copy both from the same model"
        )
    assert isinstance(model, PreTrainedModel)
    try:
        return model.to(device).eval()
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"cannot put {checkpoint.name} on the device {device}: {_brief(error)}") from None


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keeps the library's progress bars and notes off the terminal; errors are raised all the same."""
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def _file_errors() -> tuple[type[Exception], ...]:
    """What the libraries raise for damaged or foreign files."""
    from huggingface_hub.errors import StrictDataclassError
    from safetensors import SafetensorError

    of_python = (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ImportError, RuntimeError)
    return (*of_python, pickle.UnpicklingError, SafetensorError, StrictDataclassError)


def _cannot_load(what: str, checkpoint: Checkpoint, error: Exception) -> ModelError:
    return ModelError(f"{checkpoint.folder}: cannot load the {what}: {_brief(error)}")


def _and_more(names: list[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def _need_transformers(checkpoint: Checkpoint) -> None:
    from importlib.util import find_spec

    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise MissingExtraError(f"the model {checkpoint.name}", "train", package)


def _brief(error: Exception) -> str:
    if isinstance(error, pickle.UnpicklingError):
        # Torch has a page of words for it, and advises to run what is in the file.
        return "the .bin files are damaged, or hold more than weights; copy them again, or take model.safetensors"
    text = " ".join(str(error).split())[:300] or type(error).__name__
    return f"there is no entry {text}" if isinstance(error, KeyError) else text
