"""What a board takes, what it refuses, and that it has all of a run or nothing."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.envs.errors import HolderGymError
from holdergym.envs.folder_lock import FolderLock
from holdergym.eval.run import read_run
from holdergym.eval.summary import summary_text
from holdergym.leaderboards.submissions.board import SUBMISSION, add_run
from holdergym.leaderboards.submissions.checking import RefusedError, check_run

from .conftest import change_json, change_line

Copy = Callable[[str], Path]


def put_right(run: Path) -> None:
    """Makes the summary that follows from the tampered episodes, as somebody would who knows how."""
    (run / "summary.json").write_text(summary_text(read_run(run)))


@pytest.mark.parametrize("name", ["expert", "random", "twice", "oracle"])
def test_a_sound_run_is_taken_whole(copy: Copy, tmp_path: Path, name: str) -> None:
    run = copy(name)
    added = add_run(run, tmp_path / "board", replay=True)
    assert added.folder == tmp_path / "board" / name
    assert added.replayed is not None
    assert added.replayed.episodes == added.run.expected
    assert added.replayed.turns == sum(result.steps for result in added.run.results)
    record = json.loads((added.folder / SUBMISSION).read_text())
    for file in ("config.toml", "manifest.json", "episodes.jsonl", "summary.json"):
        assert (added.folder / file).read_bytes() == (run / file).read_bytes()
        assert record["sha256"][file] == hashlib.sha256((run / file).read_bytes()).hexdigest()
    assert sorted(os.listdir(tmp_path / "board")) == [".lock", name]
    assert summary_text(read_run(added.folder)) == (run / "summary.json").read_text()


def won(record: dict[str, Any]) -> None:
    record["outcome"] = "won"


def won_throughout(record: dict[str, Any]) -> None:
    """Everything that one episode says of its outcome, changed together."""
    record["outcome"], record["goal_condition_success_rate"] = "won", 1.0
    record["turns"][-1]["reward"] = 1.0


def won_early(record: dict[str, Any]) -> None:
    won_throughout(record)
    del record["turns"][1:]
    record["turns"][0]["reward"] = 1.0
    record.pop("admissible_commands")


def shorter(record: dict[str, Any]) -> None:
    del record["turns"][3:]
    record.pop("admissible_commands")


def set_in_turn(**values: object) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        record["turns"][2] |= values

    return change


def set_in(**values: object) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        record |= values

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (won, "its outcome is 'won', but its goal_condition_success_rate is 0"),
        (set_in(goal_condition_success_rate=1.0), "goal_condition_success_rate is 1"),
        (shorter, "its outcome is 'limit' after 3 turns, and the limit is 12"),
        (won_early, "it is won in 1 turns, and no plan is shorter than"),
        (set_in(outcome="lost"), "no household game can be lost"),
        (set_in(outcome="error", reason="x", goal_condition_success_rate=0.0), "ended as error or timeout"),
        (set_in(reason="the engine stopped"), "its reason is 'the engine stopped'"),
        (set_in(seed=1), "was played with another seed"),
        (set_in(agent="expert"), "it was played by 'expert'"),
        (set_in(task_id="alfworld/builtin_valid/other"), "is not in panel"),
        (set_in(sample=1), "sample 1 of task"),
        (set_in_turn(reward=1.0), "a turn before the last one has a reward"),
        (set_in_turn(valid=False), "turn 3: its action is not called valid, and is"),
        (set_in_turn(action="win the game"), "turn 3: its action is called valid, and is not"),
        (set_in_turn(reply="hello", finish="stop", unparsable=False, remarks=[]), "a reply is there exactly where"),
        (set_in_turn(agent_seconds=-1e-9), "turn 3: it took less than no time"),
        (set_in_turn(env_seconds=float("nan")), "it holds a number beyond reason"),
        (set_in_turn(agent_seconds=1e300), "it holds a number beyond reason"),
        (set_in_turn(reward=10**320), "it holds a number that is too large"),
        (set_in_turn(usage=[10**400, 0, 1]), "it holds a number beyond reason"),
    ],
)  # fmt: skip
def test_an_episode_that_was_changed_is_refused(
    copy: Copy, tmp_path: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    run = copy("random")
    number = next(n for n, result in enumerate(read_run(run).results) if result.outcome is Outcome.LIMIT)
    change_line(run, number, change)
    with pytest.raises(HolderGymError) as refused:
        add_run(run, tmp_path / "board")
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "board").exists()


def test_a_summary_that_was_changed_is_refused(copy: Copy, tmp_path: Path) -> None:
    run = copy("random")

    def better(record: dict[str, Any]) -> None:
        record["overall"]["won"] += 30

    true = json.loads((run / "summary.json").read_text())["overall"]["won"]
    change_json(run / "summary.json", better)
    with pytest.raises(RefusedError, match=rf"overall\.won is {true + 30}, and the episodes give {true}"):
        add_run(run, tmp_path / "board")
    (run / "summary.json").unlink()
    with pytest.raises(RefusedError, match=r"summary\.json is missing"):
        add_run(run, tmp_path / "board")
    (run / "summary.json").write_text("{}")
    with pytest.raises(RefusedError, match="schema is missing"):
        add_run(run, tmp_path / "board")
    (run / "summary.json").write_text("[" * 100_000)
    with pytest.raises(RefusedError, match=r"summary\.json cannot be read"):
        add_run(run, tmp_path / "board")


def test_episodes_that_were_removed_or_doubled_are_refused(copy: Copy, tmp_path: Path) -> None:
    run = copy("twice")
    path = run / "episodes.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    put_right(run)
    with pytest.raises(RefusedError, match="1 of 120 episodes are missing: go on with"):
        add_run(run, tmp_path / "board")
    path.write_text("".join([*lines, lines[0]]))
    with pytest.raises(RefusedError, match="is already in line 1"):
        add_run(run, tmp_path / "board")
    path.write_text("".join(lines)[:-10])
    with pytest.raises(RefusedError, match="half-written"):
        add_run(run, tmp_path / "board")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m["panel"]["tasks"].pop(), "panel"),
        (lambda m: m["panel"].update(sha256="0" * 64), "its tasks do not give its sha256"),
        (lambda m: m["panel"]["tasks"][0].update(digest="0" * 64), "its tasks do not give its sha256"),
        (lambda m: m.update(config_sha256="0" * 64), "was changed after the run began"),
        (lambda m: m.update(agent="gpt-9"), "says that 'gpt-9' played, and the settings say 'random'"),
        (lambda m: m.update(sessions=[]), "has no session"),
        (lambda m: m["sessions"][-1].update(finished=None), "the last session was cut off"),
        (lambda m: m["sessions"][-1]["versions"].pop("holdergym"), "the version of holdergym is missing"),
        (lambda m: m["sessions"][-1].update(started="yesterday"), "a time cannot be read"),
        (lambda m: m["sessions"][-1].update(started="2100-01-01T00:00:00Z"), "it ended before it began"),
    ],
)  # fmt: skip
def test_a_manifest_that_was_changed_is_refused(
    copy: Copy, tmp_path: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    run = copy("random")
    change_json(run / "manifest.json", change)
    with pytest.raises(HolderGymError, match=reason):
        add_run(run, tmp_path / "board")


def test_settings_that_were_changed_are_refused(copy: Copy, tmp_path: Path) -> None:
    run = copy("random")
    config = run / "config.toml"
    config.write_text(config.read_text().replace("max_steps = 12", "max_steps = 50"))
    with pytest.raises(HolderGymError, match="was changed after the run began"):
        add_run(run, tmp_path / "board")


def test_a_part_of_a_panel_is_refused(tmp_path: Path) -> None:
    from holdergym.agents.registry import ExpertSettings
    from holdergym.eval.config import EvalConfig
    from holdergym.eval.evaluation import evaluate

    evaluate(EvalConfig(panel="builtin_valid", limit=6, agent=ExpertSettings(), out=tmp_path / "part"))
    evaluate(EvalConfig(panel="builtin_valid", draw=60, agent=ExpertSettings(), out=tmp_path / "drawn"))
    with pytest.raises(RefusedError, match="is a part of a panel: play all 60 tasks"):
        add_run(tmp_path / "part", tmp_path / "board")
    with pytest.raises(RefusedError, match="is a draw of tasks"):
        add_run(tmp_path / "drawn", tmp_path / "board")


def test_what_a_folder_alone_cannot_show_a_replay_does(copy: Copy, tmp_path: Path) -> None:
    """An episode that is changed in all places at once, with its summary put right, passes without the engine."""
    run = copy("random")
    number = next(n for n, result in enumerate(read_run(run).results) if result.outcome is Outcome.LIMIT)
    change_line(run, number, won_throughout)
    put_right(run)
    check_run(run)
    with pytest.raises(RefusedError, match=rf"line {number + 1} of episodes\.jsonl, played again: "):
        add_run(run, tmp_path / "board", replay=True)
    assert not (tmp_path / "board").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (set_in_turn(observation="You win."), "turn 3: the observation is"),
        (set_in(final_observation="You win."), "the last answer is"),
        (set_in(goal_condition_success_rate=0.5), "the share of goal conditions is"),
    ],
)  # fmt: skip
def test_a_replay_finds_what_was_never_answered(
    copy: Copy, tmp_path: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    run = copy("random")
    number = next(
        n
        for n, result in enumerate(read_run(run).results)
        if result.outcome is Outcome.LIMIT and result.goal_condition_success_rate == 0
    )
    change_line(run, number, change)
    put_right(run)
    with pytest.raises(RefusedError, match=reason):
        add_run(run, tmp_path / "board", replay=True)


def test_a_replay_grades_answers_again(copy: Copy, tmp_path: Path) -> None:
    run = copy("oracle")
    change_line(run, 4, set_in(answer="-1"))
    change_line(run, 4, lambda record: record["turns"][0].update(action="\\boxed{-1}"))  # type: ignore[index]
    check_run(run)
    with pytest.raises(RefusedError, match=r"line 5 of .*, played again: "):
        add_run(run, tmp_path / "board", replay=True)


def test_programs_of_strangers_are_not_run(tmp_path: Path) -> None:
    from holdergym.agents.registry import BlankSettings
    from holdergym.eval.config import EvalConfig
    from holdergym.eval.evaluation import evaluate

    evaluate(EvalConfig(env="math_python", panel="builtin_valid", agent=BlankSettings(), out=tmp_path / "programs"))
    with pytest.raises(RefusedError, match="programs that a stranger may have written"):
        add_run(tmp_path / "programs", tmp_path / "board", replay=True)
    add_run(tmp_path / "programs", tmp_path / "board")


def test_a_run_is_taken_once(copy: Copy, tmp_path: Path) -> None:
    run = copy("random")
    add_run(run, tmp_path / "board")
    with pytest.raises(RefusedError, match="has a run 'random' already: give another --name"):
        add_run(run, tmp_path / "board")
    with pytest.raises(RefusedError, match="'random' on the board is a run of the same agent"):
        add_run(run, tmp_path / "board", name="other")
    assert sorted(os.listdir(tmp_path / "board")) == [".lock", "random"]


@pytest.mark.parametrize("name", ["../out", "/tmp/x", "", ".hidden", "a/b", "a\0b", "x" * 81, "-rf"])
def test_a_name_is_no_path(copy: Copy, tmp_path: Path, name: str) -> None:
    with pytest.raises(RefusedError, match="cannot be the name of a run"):
        add_run(copy("random"), tmp_path / "board", name=name)


def test_another_folder_is_no_board(copy: Copy, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    with pytest.raises(HolderGymError, match=r"is no board: 'thesis\.tex' was not put there"):
        add_run(copy("random"), tmp_path / "home")
    assert os.listdir(tmp_path / "home") == ["thesis.tex"]


def test_one_process_at_a_time(copy: Copy, tmp_path: Path) -> None:
    (tmp_path / "board").mkdir()
    lock = FolderLock(tmp_path / "board")
    with pytest.raises(HolderGymError, match="another process"):
        add_run(copy("random"), tmp_path / "board")
    lock.release()
    add_run(tmp_path / "handed-in" / "random", tmp_path / "board")


def test_a_killed_process_leaves_nothing_that_counts(copy: Copy, originals: Path, tmp_path: Path) -> None:
    """Killed in the middle of the replay; the next one clears up and takes the run."""
    run, board = copy("twice"), tmp_path / "board"
    script = (
        "import sys, time; from pathlib import Path; from holdergym.leaderboards.submissions.board import add_run\n"
        "add_run(Path(sys.argv[1]), Path(sys.argv[2]), replay=True, each=lambda played: (print('go', flush=True), "
        "time.sleep(60)))"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(run), str(board)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"go\n"
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=20)
    assert all(name.startswith(".") for name in os.listdir(board))
    assert len(os.listdir(board)) == 2
    add_run(run, board)
    assert sorted(os.listdir(board)) == [".lock", "twice"]


def test_links_out_of_a_folder_are_copied_as_files(copy: Copy, tmp_path: Path) -> None:
    run = copy("random")
    shutil.move(run / "episodes.jsonl", tmp_path / "elsewhere.jsonl")
    (run / "episodes.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    added = add_run(run, tmp_path / "board")
    assert not (added.folder / "episodes.jsonl").is_symlink()


def test_a_pipe_in_place_of_a_file_is_refused(copy: Copy, tmp_path: Path) -> None:
    run = copy("random")
    (run / "summary.json").unlink()
    os.mkfifo(run / "summary.json")
    with pytest.raises(RefusedError, match=r"summary\.json is missing"):
        add_run(run, tmp_path / "board")
