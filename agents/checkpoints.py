"""Where a language model's files are: the embedded one, a folder, or a repository of the Hugging Face hub."""

import hashlib
import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path

from ..envs.errors import HolderGymError, MissingExtraError, nearest

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_HUB_FILES = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
# Weights in the older form. Where there are both, these would only double the download.
_HUB_OLD_WEIGHTS = ["pytorch_model*.bin"]
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_OBJECTS = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tokenizer_config.json")


class ModelError(HolderGymError):
    """A language model that cannot be found or loaded as it is."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The files of a language model.

    Attributes:
        name: Short name for tables.
        folder: Where they are.
        digest: Hash that tells two models apart: the commit of a hub repository, else over all files.
    """

    name: str
    folder: Path
    digest: str


def find_checkpoint(model: str, revision: str | None = None) -> Checkpoint:
    """Finds a model's files; those of the embedded model and of the hub are fetched once and cached.

    Args:
        model: ``smollm2-135m``, a folder, or an id ``OWNER/NAME`` of the hub.
        revision: Branch, tag or commit of a hub repository; None for its main branch.

    Raises:
        ModelError: If there is no such model or a file is missing.
        MissingExtraError: If a package is missing that is needed to fetch it.
    """
    from .embedded import EMBEDDED, embedded_checkpoint

    if model in EMBEDDED:
        return embedded_checkpoint(model)
    folder = Path(model).expanduser()
    if model and folder.is_dir():
        if revision is not None:
            raise ModelError(f"{folder}: a folder has no revision; leave the setting out")
        _check_files(folder)
        return Checkpoint(folder.resolve().name, folder, _digest(folder))
    if model and folder.exists():
        raise ModelError(f"{folder}: is a file; give the folder with config.json, the weights and the tokenizer")
    if not _HUB_ID.fullmatch(model):
        raise ModelError(
            f"there is no model {model!r}{nearest(model, EMBEDDED)}; else give a folder, or a hub id OWNER/NAME"
        )
    return _from_hub(model, revision)


def _from_hub(model: str, revision: str | None) -> Checkpoint:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise MissingExtraError(f"the model {model}", "train", "huggingface_hub")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(model, revision=revision, allow_patterns=_HUB_FILES))
        if not any(folder.glob("model*.safetensors")):
            # The commit that was just found, so that both parts are of one.
            folder = Path(snapshot_download(model, revision=folder.name, allow_patterns=_HUB_OLD_WEIGHTS))
    except LocalEntryNotFoundError:
        raise ModelError(
            f"the model {model} is neither a folder here nor in the cache, and the hub cannot be reached: "
            "give a folder with its files, or --model smollm2-135m"
        ) from None
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise ModelError(f"cannot fetch the model {model} from the hub: {_first_line(error)}") from None
    _check_files(folder)
    return Checkpoint(model.rpartition("/")[2], folder, folder.name)


def _check_files(folder: Path) -> None:
    """Says which file of a model folder is missing, before a library says something that is harder to read."""
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder}: has no config.json, so it is not the folder of a language model")
    for index in (folder / f"{name}.index.json" for name in _WEIGHTS):
        if index.is_file():
            _check_shards(folder, index)
            break
    else:
        if not any((folder / name).is_file() for name in _WEIGHTS):
            raise ModelError(f"{folder}: has no weights (model.safetensors); copy the whole folder")
    if not any((folder / name).is_file() for name in _TOKENIZERS):
        raise ModelError(f"{folder}: has no tokenizer (tokenizer.json); copy it from the base model")
    for name in _OBJECTS:
        if (folder / name).is_file():
            _check_object(folder / name)


def _check_object(path: Path) -> None:
    """Looks for a file that was cut or is something else; some of them the library would silently do without."""
    try:
        whole = isinstance(json.loads(path.read_bytes()), dict)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        whole = False
    if not whole:
        raise ModelError(f"{path}: is damaged, as it holds no JSON object; copy it again")


def _check_shards(folder: Path, index: Path) -> None:
    try:
        shards = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, OSError):
        raise ModelError(f"{index}: is damaged; copy it again") from None
    for shard in shards:
        if not (folder / shard).is_file():
            raise ModelError(f"{folder}: the weights {shard} are missing; copy the whole folder")


def _digest(folder: Path) -> str:
    """sha256 over the names and contents of all files that make the model what it is."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in {".json", ".safetensors", ".bin", ".model", ".txt", ".jinja"}:
            with path.open("rb") as file:
                total.update(f"{path.name}\t{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def absolute_name(model: str) -> str:
    """The absolute path of a model's folder, and any other name of a model as it is."""
    return str(Path(model).absolute()) if Path(model).is_dir() else model
