import os
from pathlib import Path

import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.eval.errors import RunError
from holdergym.eval.journal import Journal, read_journal, repair_journal, torn_bytes


def write(path: Path, *episodes) -> None:
    with Journal(path) as journal:
        for episode in episodes:
            journal.append(episode)


def test_episodes_are_read_in_the_order_written_with_their_lines(tmp_path: Path, make_episode) -> None:
    path = tmp_path / "episodes.jsonl"
    write(path, make_episode(1), make_episode(0))
    write(path, make_episode(2, Outcome.ERROR))
    assert [(line, episode) for line, episode in read_journal(path)] == [
        (1, make_episode(1)),
        (2, make_episode(0)),
        (3, make_episode(2, Outcome.ERROR)),
    ]


def test_a_file_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    assert list(read_journal(path)) == []
    assert torn_bytes(path) == 0
    assert repair_journal(path) == 0


def test_cut_anywhere_the_whole_lines_remain(tmp_path: Path, make_episode) -> None:
    path = tmp_path / "episodes.jsonl"
    write(path, *(make_episode(i) for i in range(3)))
    content = path.read_bytes()
    ends = [0, *(i + 1 for i, byte in enumerate(content) if byte == ord("\n"))]
    cuts = {*range(0, len(content), 61), *(end + shift for end in ends for shift in (-1, 0, 1))}
    for cut in sorted(cuts & set(range(len(content) + 1))):
        path.write_bytes(content[:cut])
        whole = sum(0 < end <= cut for end in ends)
        torn = cut - max(end for end in ends if end <= cut)
        assert torn_bytes(path) == torn
        assert len(list(read_journal(path))) == whole
        assert repair_journal(path) == torn
        assert len(list(read_journal(path))) == whole
        assert path.stat().st_size == cut - torn


def test_a_torn_line_longer_than_a_block_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(b"first\n" + b"x" * 200_000)
    assert torn_bytes(path) == 200_000
    path.write_bytes(b"x" * 200_000)
    assert torn_bytes(path) == 200_000


@pytest.mark.parametrize("broken", [b"\n", b"{}\n", b"\0\0\0\n", b'{"schema": 2}\n'])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_damaged_whole_line_is_refused_with_its_number(
    tmp_path: Path, make_episode, broken: bytes, position: int
) -> None:
    path = tmp_path / "episodes.jsonl"
    write(path, make_episode(0), make_episode(1))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:position], broken, *lines[position:]]))
    with pytest.raises(RunError, match=f"line {position + 1} of .*episodes.jsonl"):
        list(read_journal(path))


def test_a_full_disk_loses_only_the_episode_that_does_not_fit(tmp_path: Path, make_episode) -> None:
    """The kernel refuses every write to /dev/full for lack of space."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    path = tmp_path / "episodes.jsonl"
    path.symlink_to("/dev/full")
    journal = Journal(path)
    with pytest.raises(RunError, match=r"No space left on device.*--resume"):
        journal.append(make_episode(0))


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    path.mkdir()
    with pytest.raises(RunError, match="cannot write"):
        Journal(path)
    with pytest.raises(RunError, match="cannot read"):
        list(read_journal(path))


@pytest.mark.timeout(30)
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "episodes.jsonl")
    with pytest.raises(RunError, match="cannot read"):
        list(read_journal(tmp_path / "episodes.jsonl"))
