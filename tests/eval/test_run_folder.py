import json
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.registry import ReplaySettings
from holdergym.agents.trajectory import Outcome
from holdergym.envs.errors import ConfigError
from holdergym.envs.panel import Panel
from holdergym.eval.errors import RunError
from holdergym.eval.run import read_run
from holdergym.eval.run_folder import Plan, RunFolder


@pytest.fixture
def play(folder: Path, plan: Plan, session, make_episode):
    """Plays tasks by number into the folder, then summarises."""

    def run(*numbers: int, resume: bool = False, outcome: Outcome = Outcome.WON, summarise: bool = True) -> list[str]:
        said: list[str] = []
        with RunFolder(folder, plan, session, resume=resume, say=said.append) as opened:
            for number in numbers:
                opened.append(make_episode(number, outcome))
            if summarise:
                opened.summarise()
        return said

    return run


def test_the_four_files_of_a_finished_run(play, folder: Path, plan: Plan) -> None:
    play(*range(6))
    assert sorted(entry.name for entry in folder.iterdir()) == [
        ".lock",
        "config.toml",
        "episodes.jsonl",
        "manifest.json",
        "summary.json",
    ]
    run = read_run(folder)
    assert run.complete
    assert run.panel == plan.panel
    assert run.config == plan.config
    assert len(run.results) == 6
    assert run.manifest.sessions[0].finished is not None
    assert run.manifest.sessions[0].versions["holdergym"]


def test_a_killed_run_goes_on_and_its_summary_is_the_same(tmp_path, plan, session, make_episode) -> None:
    texts = []
    for name, parts in [("whole", [range(6)]), ("parts", [[3], [], [5, 0], [1, 2, 4]])]:
        for part in parts:
            with RunFolder(tmp_path / name, plan, session, resume=True) as opened:
                for number in part:
                    opened.append(make_episode(number))
        with RunFolder(tmp_path / name, plan, session, resume=True) as opened:
            opened.summarise()
        texts.append((tmp_path / name / "summary.json").read_bytes())
    assert texts[0] == texts[1]
    assert len(read_run(tmp_path / "parts").manifest.sessions) == 4
    assert len(read_run(tmp_path / "whole").manifest.sessions) == 1


def test_what_is_finished_is_known_on_resume(play, folder: Path, plan, session, make_episode) -> None:
    play(0, 2)
    with RunFolder(folder, plan, session, resume=True) as opened:
        opened.append(make_episode(1, Outcome.TIMEOUT))
    said: list[str] = []
    with RunFolder(folder, plan, session, resume=True, say=said.append) as opened:
        assert {slot.task_id[-1] for slot in opened.finished} == {"0", "2"}
    assert said == [f"{folder}: 2 of 6 episodes are there, 1 failed one is played again"]


def test_a_torn_line_is_cut_off_and_said(play, folder: Path) -> None:
    play(0, 1)
    journal = folder / "episodes.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-10])
    assert len(read_run(folder).results) == 1
    assert read_run(folder).torn > 0
    said = play(resume=True)
    assert "cut off a half-written last line" in said[0]
    assert journal.read_bytes() == whole[: whole.index(b"\n") + 1]
    play(*range(1, 6), resume=True)
    assert read_run(folder).complete


def test_a_summary_that_was_deleted_or_changed_is_made_again(play, folder: Path) -> None:
    play(*range(6))
    summary = folder / "summary.json"
    text = summary.read_bytes()
    summary.write_text("nonsense")
    play(resume=True)
    assert summary.read_bytes() == text


def test_more_episodes_than_can_be_held_are_refused(plan: Plan, panel: Panel) -> None:
    tasks = [replace(panel.tasks[0], id=f"alfworld/made_up/{number:03}") for number in range(101)]
    with pytest.raises(ConfigError, match=r"1,010,000 episodes are more than .* \(1,000,000\): give fewer --samples"):
        replace(plan, panel=Panel.of("made_up", tasks), config=replace(plan.config, samples=10_000))


def test_a_finished_run_is_not_overwritten(play, folder: Path) -> None:
    play(*range(6))
    with pytest.raises(RunError, match="already holds a finished run of 6 episodes"):
        play()


def test_an_unfinished_run_is_not_overwritten(play) -> None:
    play(0)
    with pytest.raises(RunError, match=r"unfinished run \(1 of 6 episodes\): add --resume"):
        play()


def test_a_folder_of_something_else_is_not_touched(play, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match=r"holds 'thesis.tex'.*choose another --out"):
        play(resume=True)
    assert [entry.name for entry in folder.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "left",
    [
        [],
        [".lock"],
        [".lock", ".config.toml.0a1b.new"],
        [".lock", "config.toml"],
        [".lock", "config.toml", ".manifest.json.ff.new"],
    ],
)
def test_a_run_killed_in_its_first_moments_begins_again(play, folder: Path, left: list[str]) -> None:
    folder.mkdir(parents=True)
    for name in left:
        (folder / name).write_text("half")
    play(*range(6))
    assert read_run(folder).complete
    assert not list(folder.glob(".*.new"))


def test_a_folder_that_cannot_be_made(plan, session, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot make the run folder"):
        RunFolder(tmp_path / "file" / "run", plan, session)
    with pytest.raises(RunError, match="cannot make the run folder"):
        RunFolder(tmp_path / "file", plan, session)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_steps": 30}, "'max_steps' is 50 there and 30 here"),
        ({"seed": 1}, "'seed' is 0 there and 1 here"),
        ({"limit": 3}, "'limit' is not set there and 3 here"),
        ({"agent": ReplaySettings(path=Path("x"))}, "'agent.name' is 'random' there and 'replay' here"),
    ],
)
def test_resume_with_another_setting_names_it(play, folder, plan, session, change, message: str) -> None:
    play(0)
    other = replace(plan, config=replace(plan.config, **change))
    with pytest.raises(RunError, match=message):
        RunFolder(folder, other, session, resume=True)


def test_resume_elsewhere_with_other_circumstances(play, folder: Path, plan, session, tmp_path: Path) -> None:
    play(0)
    moved = folder.rename(tmp_path / "moved")
    config = replace(plan.config, data=Path("elsewhere"), out=moved, workers=4)
    with RunFolder(moved, replace(plan, config=config), session, resume=True) as opened:
        assert len(opened.finished) == 1


def test_resume_with_other_games_or_another_agent(play, folder: Path, plan: Plan, session) -> None:
    play(0)
    tasks = [replace(task, digest="f" * 64) for task in plan.panel.tasks]
    with pytest.raises(RunError, match=r"games of panel 'made_up' are not those it began with"):
        RunFolder(folder, replace(plan, panel=Panel.of("made_up", tasks)), session, resume=True)
    with pytest.raises(RunError, match=r"was played by 'scripted.version=1.', and this agent is 'other'"):
        RunFolder(folder, replace(plan, agent_fingerprint="other"), session, resume=True)


def test_the_lock_is_free_after_a_refusal_and_held_during_a_run(play, folder: Path, plan, session) -> None:
    busy = pytest.raises(RunError, match=r"another process \(pid \d+\) is writing")
    with RunFolder(folder, plan, session), busy:
        RunFolder(folder, plan, session, resume=True)
    with pytest.raises(RunError, match="unfinished"):
        play()
    play(resume=True)


def edit(path: Path, change) -> None:
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(schema=2), "schema version 2 .*upgrade"),
        (lambda m: m.pop("dialect"), "damaged: dialect: "),
        (lambda m: m.update(sessions=3), "damaged: sessions"),
        (lambda m: m["panel"]["tasks"].pop(), "panel: its tasks do not give its sha256"),
        (lambda m: m["panel"].update(sha256="0"), "panel: its tasks do not give its sha256"),
        (lambda m: m["panel"].update(tasks=[]), "damaged .*empty"),
        (lambda m: m["panel"]["tasks"].reverse(), "damaged .*not sorted"),
        (lambda m: m.update(config_sha256="0"), "config.toml was changed after the run began"),
        (lambda m: m.update(agent_fingerprint="x"), "line 1 .*played by"),
    ],
)
def test_a_changed_manifest_is_refused(play, folder: Path, change, message: str) -> None:
    play(*range(6))
    edit(folder / "manifest.json", change)
    with pytest.raises(RunError, match=message) as caught:
        read_run(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manifest.json", b"{", "manifest.json is damaged: it is not JSON"),
        ("manifest.json", b"[]", "damaged"),
        ("config.toml", b"max_steps = 40\n", "changed after the run began"),
        ("config.toml", b"max_step = 50\n", "did you mean 'max_steps'"),
        ("config.toml", b"= 3\n", "not valid TOML"),
        ("episodes.jsonl", b"{}\n", "line 1"),
    ],
)
def test_a_damaged_file_is_refused(play, folder: Path, name: str, content: bytes, message: str) -> None:
    play(*range(6))
    (folder / name).write_bytes(content)
    with pytest.raises(RunError, match=message):
        read_run(folder)


def test_a_file_of_a_run_means_its_folder(play, folder: Path) -> None:
    play(*range(6))
    for name in ("config.toml", "manifest.json", "episodes.jsonl", "summary.json"):
        assert read_run(folder / name) == read_run(folder)


def test_what_is_not_a_run_folder(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run folder"):
        read_run(tmp_path)
    with pytest.raises(RunError, match="does not exist"):
        read_run(tmp_path / "nowhere")


def test_the_manifest_can_be_written_by_a_strict_json_reader(play, folder: Path) -> None:
    play(*range(6))
    manifest = json.loads((folder / "manifest.json").read_text(), parse_constant=pytest.fail)
    assert manifest["panel"]["size"] == 6
    assert manifest["sessions"][0]["hardware"]["cores"] >= 1
