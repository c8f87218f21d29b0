"""``--out`` never costs a run, and a write that fails costs nothing."""

import resource
import shutil
from pathlib import Path

import pytest
from holdergym.envs.errors import HolderGymError
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate

from holdergym.cli import main
from holdergym.cli.output import write_output


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two run folders, ``a`` and ``b``, and ``trained``, laid out as a training run is."""
    folder = tmp_path_factory.mktemp("runs")
    evaluate(EvalConfig(panel="builtin_valid", limit=3, max_steps=3, out=folder / "a"))
    shutil.copytree(folder / "a", folder / "b")
    (folder / "trained" / "checkpoints" / "round-1").mkdir(parents=True)
    for name in ("config.toml", "circumstances.toml", "metrics.jsonl", "checkpoints/round-1/state.json"):
        (folder / "trained" / name).write_text("kept\n")
    (folder / "link").symlink_to(folder / "b")
    (folder / "page.html").symlink_to(folder / "b" / "episodes.jsonl")
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "view.html"}


def call(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize(
    "out",
    [
        *(
            f"a/{name}"
            for name in (
                "config.toml",
                "manifest.json",
                "episodes.jsonl",
                "summary.json",
                "tokens.npz",
                "prompt.jinja",
                "chat_template.jinja",
                ".lock",
            )
        ),
        "b/episodes.jsonl",
        "link/manifest.json",
        "page.html",
        "trained/circumstances.toml",
        "trained/metrics.jsonl",
        "trained/config.toml",
        "trained/checkpoints/round-1/state.json",
    ],
)
def test_files_of_a_run_are_never_written_over(runs: Path, out: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(runs)
    verbs: list[list[str | Path]] = [
        ["view", runs / "a"],
        ["export", runs / "a", "--format", "csv"],
        ["leaderboard", runs / "a"],
        ["compare", runs / "a", runs / "b"],
        ["games", "pack", "--panel", "builtin_valid", "--force"],
        ["plot", runs / "trained"],
    ]
    for verb in verbs:
        assert call(*verb, "--out", runs / out) == 2, verb
        message = capsys.readouterr().err
        assert "that is a file of a run folder" in message
        assert message.count("\n") == 1
    assert contents(runs) == before


def test_other_names_in_a_run_folder_are_written(runs: Path, tmp_path: Path) -> None:
    before = contents(runs)
    assert call("view", runs / "a") == 0
    assert call("view", runs / "a", "--out", runs / "a" / "view.html") == 0
    assert contents(runs) == before
    assert call("export", runs / "a", "--format", "csv", "--out", tmp_path / "episodes.jsonl") == 0


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_output(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_device_is_written_to_and_stays_one() -> None:
    write_output(Path("/dev/null"), b"new")
    assert Path("/dev/null").is_char_device()


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk: the kernel stops the write half way just so."""
    old = tmp_path / "board.md"
    old.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # Python ignores the signal that comes with it
    try:
        for name in ("board.md", "new.md"):
            with pytest.raises(HolderGymError, match=f"cannot write .*{name}"):
                write_output(tmp_path / name, bytes(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["board.md"]
    assert old.read_bytes() == b"old"
