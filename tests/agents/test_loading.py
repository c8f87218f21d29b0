"""Loading with the transformers library: what it would load wrongly, or refuse in many words, is one line."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from holdergym.agents.checkpoints import ModelError, find_checkpoint  # noqa: E402
from holdergym.agents.loading import load_model, load_tokenizer  # noqa: E402

pytestmark = pytest.mark.llm
Damage = Callable[[Path], None]


@pytest.fixture
def folder(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A copy of the small checkpoint, to be damaged."""
    return Path(shutil.copytree(tiny_checkpoint, tmp_path / "my-model"))


def _config(**changes: object) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return damage


def _weights(data: Callable[[bytes], bytes]) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "model.safetensors"
        path.write_bytes(data(path.read_bytes()))

    return damage


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_weights(lambda data: b""), "cannot load the model: "),
        (_weights(lambda data: data[:1000]), "cannot load the model: "),
        (_weights(lambda data: data[:-1000]), "cannot load the model: "),
        (_weights(lambda data: b"version https://git-lfs.github.com/spec/v1\n"), "cannot load the model: "),
        (_config(num_hidden_layers=3), "the weights lack 'model.layers.2.input_layernorm.weight' and 8 more"),
        (
            _config(intermediate_size=64),
            "the weights 'model.layers.0.mlp.down_proj.weight' and 5 more have other sizes",
        ),
        (_config(model_type="unheard-of"), "unheard-of"),
        (_config(model_type="t5"), "cannot load the model: "),
        (_config(hidden_size="many"), "cannot load the model: "),
    ],
)
def test_a_damaged_model_is_refused(damage: Damage, words: str, folder: Path) -> None:
    damage(folder)
    with pytest.raises(ModelError) as caught:
        load_model(find_checkpoint(str(folder)), "float32", "cpu")
    _assert_one_line(caught.value, words, folder)


@pytest.mark.parametrize(
    "content",
    ["{}", '{"added_tokens": []}', '{"version": "1.0", "added_tokens": [], "model": {"type": "none"}}', '{"model": 7}'],
)
def test_a_damaged_tokenizer_is_refused(content: str, folder: Path) -> None:
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError) as caught:
        load_tokenizer(find_checkpoint(str(folder)))
    _assert_one_line(caught.value, "cannot load the tokenizer: ", folder)


@pytest.mark.parametrize("part", ["tokenizer", "model"])
def test_a_mistake_in_the_code_is_not_taken_for_a_damaged_file(
    part: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mistake(Exception):
        pass

    def fail(*_: object, **__: object) -> None:
        raise Mistake if part == "tokenizer" else Exception("no library says this of weights")

    checkpoint = find_checkpoint(str(folder))
    automatic = transformers.AutoTokenizer if part == "tokenizer" else transformers.AutoModelForCausalLM
    monkeypatch.setattr(automatic, "from_pretrained", fail)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        load_tokenizer(checkpoint) if part == "tokenizer" else load_model(checkpoint)
    assert type(caught.value) is (Mistake if part == "tokenizer" else Exception)


@pytest.fixture
def old_folder(folder: Path) -> Path:
    """A copy with its weights in the older form."""
    weights = load_model(find_checkpoint(str(folder)), "float32", "cpu").state_dict()
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def test_weights_in_the_older_form_are_loaded(old_folder: Path, tiny_checkpoint: Path) -> None:
    ours = load_model(find_checkpoint(str(old_folder)), "float32", "cpu").state_dict()
    theirs = load_model(find_checkpoint(str(tiny_checkpoint)), "float32", "cpu").state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:1000],
        lambda data: data[:-1000],
        lambda data: b"version https://git-lfs.github.com/spec/v1\n",
        lambda data: pickle.dumps(print, protocol=2),
    ],
)
def test_damaged_weights_in_the_older_form_are_refused(change: Callable[[bytes], bytes], old_folder: Path) -> None:
    path = old_folder / "pytorch_model.bin"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ModelError) as caught:
        load_model(find_checkpoint(str(old_folder)), "float32", "cpu")
    _assert_one_line(caught.value, "cannot load the model: ", old_folder)


def test_a_device_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(find_checkpoint(str(folder)), "float32", "cuda:99")
    assert str(caught.value).startswith("cannot put my-model on the device cuda:99: ")


def test_what_is_loaded_is_what_was_saved(tiny_checkpoint: Path) -> None:
    checkpoint = find_checkpoint(str(tiny_checkpoint))
    model, tokenizer = load_model(checkpoint), load_tokenizer(checkpoint)
    # On a CPU the quick form, also of a checkpoint that was saved in a short one.
    expected = torch.float32 if model.device.type == "cpu" else model.config.dtype
    assert (model.dtype, model.training) == (expected, False)
    assert load_model(checkpoint, "bfloat16", "cpu").dtype == torch.bfloat16
    text = "go to desk 1 🙂\n  <|im_end|>x"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_the_library_is_as_talkative_afterwards_as_before(tiny_checkpoint: Path) -> None:
    from transformers.utils import logging

    before = (logging.get_verbosity(), logging.is_progress_bar_enabled())
    load_model(find_checkpoint(str(tiny_checkpoint)), "float32", "cpu")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def _assert_one_line(error: ModelError, words: str, folder: Path) -> None:
    assert words in str(error)
    assert str(folder) in str(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 600
