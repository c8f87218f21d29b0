"""Finding a model's files: each thing that can be wrong with them is said in one line that tells what to do."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest
from holdergym.agents.checkpoints import Checkpoint, ModelError, find_checkpoint

pytestmark = pytest.mark.llm
Damage = Callable[[Path], None]


@pytest.fixture
def folder(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A copy of the small checkpoint, to be damaged."""
    return Path(shutil.copytree(tiny_checkpoint, tmp_path / "my-model"))


def _without(*names: str) -> Damage:
    def damage(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return damage


def _cut(name: str, length: int = 40) -> Damage:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:length]) and None


def _put(name: str, content: str) -> Damage:
    return lambda folder: (folder / name).write_text(content) and None


def _sharded(index: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
        (folder / "model.safetensors.index.json").write_text(index)

    return damage


SHARDS = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_without("config.json"), "has no config.json, so it is not the folder of a language model"),
        (_without("model.safetensors"), "has no weights (model.safetensors); copy the whole folder"),
        (_without("tokenizer.json", "tokenizer_config.json"), "has no tokenizer (tokenizer.json); copy it from"),
        (_cut("config.json"), "config.json: is damaged, as it holds no JSON object; copy it again"),
        (_cut("tokenizer.json", 1000), "tokenizer.json: is damaged"),
        (_put("tokenizer_config.json", ""), "tokenizer_config.json: is damaged"),
        (_put("generation_config.json", "[]"), "generation_config.json: is damaged"),
        (_sharded(json.dumps(SHARDS)), "the weights model-00002-of-00002.safetensors are missing"),
        (_sharded("{"), "model.safetensors.index.json: is damaged; copy it again"),
        (_sharded("{}"), "model.safetensors.index.json: is damaged; copy it again"),
    ],
)
def test_a_damaged_folder_is_refused(damage: Damage, words: str, folder: Path) -> None:
    damage(folder)
    _refuses(str(folder), words)


def test_things_that_are_no_model_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    _refuses(str(tmp_path), "has no config.json")
    _refuses(str(file), "is a file; give the folder with config.json")
    _refuses("smolm2", "did you mean 'smollm2-135m'?; else give a folder, or a hub id OWNER/NAME")
    _refuses(str(tmp_path / "nowhere"), "there is no model")
    _refuses("", "there is no model")
    monkeypatch.chdir(tmp_path)
    _refuses("a/b/c", "there is no model 'a/b/c'")


def test_a_folder_has_no_revision(folder: Path) -> None:
    with pytest.raises(ModelError, match="a folder has no revision"):
        find_checkpoint(str(folder), "main")


def test_the_digest_tells_models_apart_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    first = find_checkpoint(str(folder))
    assert first == Checkpoint("my-model", folder, first.digest)
    elsewhere = find_checkpoint(str(shutil.copytree(folder, tmp_path / "elsewhere")))
    (folder / "training.log").write_text("not part of the model")
    assert first.digest == elsewhere.digest == find_checkpoint(str(folder)).digest
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text() + " ")
    assert find_checkpoint(str(folder)).digest != first.digest


@pytest.mark.parametrize("offline", ["1", "0"])
def test_a_hub_model_that_cannot_be_had_is_said_in_one_line(offline: str, tmp_path: Path) -> None:
    """In a process of its own, as the library reads its settings once. Nothing listens at the address."""
    environment = os.environ | {
        "HF_HUB_OFFLINE": offline,
        "HF_HOME": str(tmp_path),
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    command = [sys.executable, "-m", "holdergym", "eval", "--model", "nobody/nothing", "--limit", "1"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "run")], env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "the model nobody/nothing is neither a folder here nor in the cache" in line
    assert not (tmp_path / "run").exists()


class _Hub(BaseHTTPRequestHandler):
    """Serves a folder as the hub does the commit ``COMMIT`` of any repository."""

    folder: Path
    asked: list[str]

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        if path.startswith("/api/models/") and "/tree/" in path:
            files = [file for file in self.folder.iterdir() if file.is_file()]
            self._give(
                [
                    {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": "a" * 40}
                    for file in sorted(files)
                ]
            )
        elif path.startswith("/api/models/"):
            self._give({"_id": "1", "id": "some/model", "sha": COMMIT, "siblings": []})
        elif "/resolve/" not in path:
            self.send_error(404)  # what the client wants to know besides
        else:
            name = path.rpartition("/")[2]
            self.asked.append(name)
            self._give((self.folder / name).read_bytes(), ETag=f'"{name}"', X_Repo_Commit=COMMIT)

    def _give(self, content: object, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


COMMIT = "c" * 40


@pytest.mark.parametrize(
    ("weights", "fetched"),
    [
        (["pytorch_model.bin"], ["pytorch_model.bin"]),
        (["pytorch_model.bin", "model.safetensors"], ["model.safetensors"]),
    ],
)
def test_the_hub_is_asked_for_one_form_of_the_weights(
    weights: list[str], fetched: list[str], folder: Path, tmp_path: Path
) -> None:
    """The official client, in a process of its own, against a server that answers as the hub does."""
    (folder / "model.safetensors").rename(folder / weights[0])
    for name in weights[1:]:
        shutil.copy(folder / weights[0], folder / name)
    (folder / "training_args.bin").write_text("no weights")
    handler = type("BoundHub", (_Hub,), {"folder": folder, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        environment = os.environ | {
            "HF_HUB_OFFLINE": "0",
            "HF_HOME": str(tmp_path / "home"),
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        }
        code = "from holdergym.agents.checkpoints import find_checkpoint; found = find_checkpoint('some/model'); "
        code += "print(found.name, found.digest, found.folder)"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    name, digest, found = done.stdout.split()
    assert (name, digest) == ("model", COMMIT)
    there = {path.name for path in Path(found).iterdir()}
    assert {one for one in there if one.endswith((".bin", ".safetensors"))} == set(fetched)
    assert set(handler.asked) == there


def _refuses(model: str, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        find_checkpoint(model)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
