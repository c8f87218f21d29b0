"""A run folder whose lines were damaged, edited or moved is read, repaired or refused, and never miscounted."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.eval.errors import RunError
from holdergym.eval.run import Run, read_run
from holdergym.eval.run_folder import RunFolder
from holdergym.eval.summary import break_down, summary_text

ENDS = [Outcome.WON, Outcome.LIMIT, Outcome.LOST, Outcome.WON, Outcome.TOKENS, Outcome.ERROR]


@pytest.fixture
def run(folder: Path, plan, session, make_episode) -> Path:
    """A whole run of six episodes that end in many ways."""
    with RunFolder(folder, plan, session) as opened:
        for number, outcome in enumerate(ENDS):
            opened.append(make_episode(number, outcome))
        opened.summarise()
    return folder


def lines_of(folder: Path) -> list[bytes]:
    return (folder / "episodes.jsonl").read_bytes().splitlines(keepends=True)


def counts(read: Run) -> tuple[int, ...]:
    overall = break_down(read).overall
    return overall.won, overall.finished, overall.errors, overall.timeouts


def change(line: bytes, **fields: object) -> bytes:
    return json.dumps({**json.loads(line), **fields}).encode() + b"\n"


def test_reordered_lines_give_the_same_summary(run: Path) -> None:
    before = summary_text(read_run(run))
    (run / "episodes.jsonl").write_bytes(b"".join(lines_of(run)[::-1]))
    assert summary_text(read_run(run)) == before


def test_other_line_ends_are_the_same_lines(run: Path) -> None:
    before = summary_text(read_run(run))
    (run / "episodes.jsonl").write_bytes(b"".join(lines_of(run)).replace(b"\n", b"\r\n"))
    assert summary_text(read_run(run)) == before


@pytest.mark.parametrize("cut", [1, 2, 50])
def test_a_half_written_last_line_is_left_out_and_repaired_on_resume(run: Path, plan, session, cut: int) -> None:
    whole = b"".join(lines_of(run))
    (run / "episodes.jsonl").write_bytes(whole[:-cut])
    read = read_run(run)
    assert counts(read) == (2, 5, 0, 0)
    assert not read.complete
    assert read.torn > 0
    said: list[str] = []
    with RunFolder(run, plan, session, resume=True, say=said.append) as opened:
        assert len(opened.finished) == 5
    assert "cut off a half-written last line" in said[0]
    assert b"".join(lines_of(run)) == whole[: whole.rindex(b"\n", 0, -1) + 1]


DAMAGES: list[tuple[str, Callable[[list[bytes]], list[bytes]], str]] = [
    ("twice", lambda lines: [*lines, lines[0]], "line 7 .* is already in line 1"),
    ("twice in a row", lambda lines: [lines[0], *lines], "line 2 .* is already in line 1"),
    ("from a later version", lambda lines: [lines[0], change(lines[1], schema=2), *lines[2:]], "line 2 .* upgrade"),
    ("cut in the middle", lambda lines: [lines[0][:80], *lines[1:]], "line 1 .*not JSON"),
    ("blank", lambda lines: [lines[0], b"\n", *lines[1:]], "line 2 .*not JSON"),
    ("zeros after a power cut", lambda lines: [lines[0], b"\0" * 400 + b"\n", *lines[1:]], "line 2 .*not JSON"),
    ("now won", lambda lines: [lines[0], change(lines[1], outcome="won"), *lines[2:]], "line 2 .*outcome is 'won'"),
    (
        "now won, with its goal",
        lambda lines: [lines[0], change(lines[1], outcome="won", goal_condition_success_rate=1.0), *lines[2:]],
        "line 2 .*last reward is 0",
    ),
    ("now lost", lambda lines: [change(lines[0], outcome="lost"), *lines[1:]], "line 1 .*outcome is 'lost'"),
    ("now failed", lambda lines: [change(lines[0], outcome="error"), *lines[1:]], "line 1 .*outcome is 'error'"),
    ("another task", lambda lines: [change(lines[0], task_id="alfworld/made_up/t5"), *lines[1:]], "line 1 .*of type"),
    ("another sample", lambda lines: [change(lines[0], sample=1), *lines[1:]], "line 1 .*sample 1"),
    ("another agent", lambda lines: [change(lines[0], agent="expert"), *lines[1:]], "line 1 .*played by 'expert'"),
]


@pytest.mark.parametrize(("damage", "message"), [case[1:] for case in DAMAGES], ids=[case[0] for case in DAMAGES])
def test_what_would_be_miscounted_is_refused_with_its_line(run: Path, damage, message: str) -> None:
    (run / "episodes.jsonl").write_bytes(b"".join(damage(lines_of(run))))
    with pytest.raises(RunError, match=message):
        read_run(run)


def test_a_changed_byte_anywhere_is_refused_or_changes_no_count(run: Path) -> None:
    """It may be a letter of an observation. Whatever it is, the same episodes are won, not won and failed."""
    before = counts(read_run(run))
    whole = (run / "episodes.jsonl").read_bytes()
    rng = random.Random(0)
    refused = 0
    for _ in range(200):
        # Without its line break the last line is a torn one, which is another test.
        place = rng.randrange(len(whole) - 1)
        changed = bytearray(whole)
        changed[place] = rng.choice(b'abw0159"{}[]:,. \n\x00\xff')
        (run / "episodes.jsonl").write_bytes(changed)
        try:
            after = counts(read_run(run))
        except RunError:
            refused += 1
        else:
            assert after == before, (place, whole[place : place + 1], changed[place])
    assert 50 < refused < 200


@pytest.mark.parametrize("emptied", [False, True])
def test_a_finished_run_without_its_episodes_is_damaged_and_not_played_again(
    run: Path, plan, session, emptied: bool
) -> None:
    if emptied:
        (run / "episodes.jsonl").write_bytes(b"")
    else:
        (run / "episodes.jsonl").unlink()
        (run / "summary.json").unlink()  # the manifest alone tells it too
    before = (run / "manifest.json").read_bytes()
    with pytest.raises(RunError, match=r"is damaged: .*restore it"):
        read_run(run)
    for resume in (False, True):
        with pytest.raises(RunError, match=r"is damaged: .*restore it"), RunFolder(run, plan, session, resume=resume):
            pass
    assert (run / "manifest.json").read_bytes() == before


def test_a_run_that_was_cut_off_before_its_first_episode_goes_on(folder: Path, plan, session) -> None:
    with RunFolder(folder, plan, session):
        pass
    (folder / "episodes.jsonl").unlink()
    assert read_run(folder).results == ()
    with RunFolder(folder, plan, session, resume=True) as opened:
        assert opened.finished == frozenset()
