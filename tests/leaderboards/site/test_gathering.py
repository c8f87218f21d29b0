import os
import shutil
from pathlib import Path

import pytest
from holdergym.eval.errors import RunError
from holdergym.leaderboards.site.gathering import gather


def test_runs_are_found_below_folders_and_in_files(played: Path) -> None:
    gathered = gather([played])
    assert [named.run.folder.name for named in gathered.runs] == [
        "expert",
        "oracle",
        "random",
        "random-again",
        "walkthrough",
    ]
    assert [named.training.folder.name for named in gathered.trainings] == ["trained"]
    one = gather([played / "random" / "summary.json", played / "random"])
    assert [named.run.folder.name for named in one.runs] == ["random"]


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="does not exist"):
        gather([tmp_path / "nothing"])
    with pytest.raises(RunError, match="there is no run in"):
        gather([tmp_path])


def test_a_copy_is_not_counted_twice(played: Path, tmp_path: Path) -> None:
    shutil.copytree(played / "random", tmp_path / "copy")
    with pytest.raises(RunError, match="are copies of one run"):
        gather([played / "random", tmp_path])


def test_links_are_not_followed_and_hidden_folders_not_read(played: Path, tmp_path: Path) -> None:
    shutil.copytree(played / "expert", tmp_path / "expert")
    (tmp_path / "link").symlink_to(played)
    shutil.copytree(played / "random", tmp_path / ".old")
    assert [named.run.folder.name for named in gather([tmp_path]).runs] == ["expert"]


def test_names_of_files_hold_no_path(played: Path, tmp_path: Path) -> None:
    for name in ('..\\..\\"><script>', "CON", "ünïcode", "-" * 90, "%2e%2e%2f"):
        folder = tmp_path / name
        shutil.copytree(played / "random", folder)
        (named,) = gather([folder]).runs
        assert set(named.slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
        assert len(named.slug) <= 51
        shutil.rmtree(folder)


def test_a_damaged_run_stops_the_build_or_is_named(played: Path, tmp_path: Path) -> None:
    shutil.copytree(played / "random", tmp_path / "damaged")
    shutil.copytree(played / "expert", tmp_path / "expert")
    (tmp_path / "damaged" / "manifest.json").write_text("{}")
    with pytest.raises(RunError, match="--leave-out-damaged"):
        gather([tmp_path])
    gathered = gather([tmp_path], leave_out_damaged=True)
    assert [named.run.folder.name for named in gathered.runs] == ["expert"]
    assert gathered.left_out[0].folder == "damaged"
    assert "manifest.json is damaged" in gathered.left_out[0].reason


@pytest.mark.parametrize("number", [str(10**320), "1e999", "NaN", "-1", "1e300"])
def test_numbers_beyond_reason_are_refused_in_a_line(played: Path, tmp_path: Path, number: str) -> None:
    shutil.copytree(played / "random", tmp_path / "huge")
    path = tmp_path / "huge" / "episodes.jsonl"
    path.write_text(path.read_text().replace('"agent_seconds":', f'"agent_seconds":{number},"x":', 1))
    with pytest.raises(RunError, match=r"episodes\.jsonl.* is damaged|cannot read line 1"):
        gather([tmp_path])


@pytest.mark.parametrize("name", ["episodes.jsonl", "summary.json", "config.toml"])
def test_a_pipe_in_a_run_folder_is_not_waited_for(played: Path, tmp_path: Path, name: str) -> None:
    """Opening one waits for a writer who never comes."""
    shutil.copytree(played / "expert", tmp_path / "expert")
    (tmp_path / "expert" / name).unlink()
    os.mkfifo(tmp_path / "expert" / name)
    with pytest.raises(RunError, match=f"{name}: it is not a regular file"):
        gather([tmp_path])
