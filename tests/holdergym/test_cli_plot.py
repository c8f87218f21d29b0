"""``holdergym plot`` writes its picture whole or not at all."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from holdergym.envs.errors import HolderGymError
from holdergym.training.plotting import plot_run

from holdergym.cli import main

pytest.importorskip("matplotlib", reason="needs matplotlib: the extra `train`")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A training run's folder, as far as its curves need it."""
    folder = tmp_path / "run"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.toml").write_text("")
    rounds = [{"round": number, "success": number / 10, "reward": number / 20} for number in range(1, 9)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rounds))
    return folder


def test_who_reads_the_old_picture_keeps_all_of_it(run: Path) -> None:
    picture = run / "curves.svg"
    plot_run(run, picture)
    with picture.open("rb") as reader:
        half = reader.read(1000)
        (run / "metrics.jsonl").open("a").write(json.dumps({"round": 9, "success": 1.0, "kl": 0.5}) + "\n")
        plot_run(run, picture)
        old = half + reader.read()
    assert old.rstrip().endswith(b"</svg>")
    assert b"Entropy and KL" not in old
    assert b"Entropy and KL" in picture.read_bytes()
    assert sorted(path.name for path in run.glob(".*")) == []


def test_a_write_that_fails_leaves_the_old_picture(run: Path) -> None:
    picture = run / "curves.png"
    picture.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # stands in for a full disk
    try:
        with pytest.raises(HolderGymError, match="cannot write"):
            plot_run(run, picture)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert picture.read_bytes() == b"old"
    assert sorted(path.name for path in run.glob(".*")) == []


def test_a_link_and_a_pipe_stay_what_they_are(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link.png").symlink_to(tmp_path / "file.png")
    plot_run(run, tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "file.png").read_bytes().startswith(b"\x89PNG")
    os.mkfifo(tmp_path / "pipe.svg")
    with subprocess.Popen(["cat", tmp_path / "pipe.svg"], stdout=subprocess.PIPE) as reader:
        with pytest.raises(SystemExit) as ended:
            main(["plot", str(run), "--out", str(tmp_path / "pipe.svg")])
        assert ended.value.code == 0
        read, _ = reader.communicate(timeout=30)
    assert read.rstrip().endswith(b"</svg>")
    assert (tmp_path / "pipe.svg").is_fifo()


def test_it_is_drawn_by_the_verb(run: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdergym", "plot", run], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == f"curves: {run / 'curves.png'}\n"
    assert (run / "curves.png").read_bytes().endswith(b"IEND\xaeB`\x82")
