from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.eval.errors import RunError
from holdergym.eval.results import Played, Result, Schedule, Slot, collect, contradiction

from_file = Path("runs/x/episodes.jsonl")


@pytest.fixture
def schedule(panel) -> Schedule:
    return Schedule(panel, samples=1, seed=0, agent_fingerprint="scripted(version=1)")


def numbered(*episodes) -> list[Played]:
    return [Played.of(episode, line) for line, episode in enumerate(episodes, start=1)]


def test_a_result_counts_steps_and_invalid_commands(make_episode) -> None:
    result = Result.of(make_episode(1, Outcome.LIMIT, steps=7, invalid=3, shortest=5))
    assert (result.task_id, result.task_type, result.sample) == ("alfworld/made_up/t1", "pick", 0)
    assert (result.outcome, result.steps, result.invalid_commands, result.shortest) == (Outcome.LIMIT, 7, 3, 5)


def test_results_come_in_panel_order_however_they_were_played(schedule, make_episode) -> None:
    played = numbered(*(make_episode(i) for i in (4, 0, 5, 2)))
    collected = collect(schedule, played, from_file)
    assert [result.task_id[-1] for result in collected.results] == ["0", "2", "4", "5"]
    assert collected.replayed == 0


def test_several_samples_have_a_slot_each(schedule, make_episode) -> None:
    twice = schedule._replace(samples=2)
    assert twice.slots()[:3] == [
        Slot("alfworld/made_up/t0", 0),
        Slot("alfworld/made_up/t0", 1),
        Slot("alfworld/made_up/t1", 0),
    ]
    collected = collect(twice, numbered(make_episode(0, sample=1), make_episode(0)), from_file)
    assert [result.sample for result in collected.results] == [0, 1]


def test_a_failed_episode_is_superseded_and_counted(schedule, make_episode) -> None:
    lines = numbered(make_episode(0, Outcome.ERROR), make_episode(0, Outcome.TIMEOUT), make_episode(0))
    collected = collect(schedule, lines, from_file)
    assert [result.outcome for result in collected.results] == [Outcome.WON]
    assert collected.replayed == 2


@pytest.mark.parametrize("second", [Outcome.WON, Outcome.LIMIT, Outcome.ERROR])
def test_a_finished_episode_twice_is_refused(schedule, make_episode, second: Outcome) -> None:
    with pytest.raises(RunError, match=r"line 3 .*sample 0 is already in line 1"):
        collect(schedule, numbered(make_episode(0), make_episode(1), make_episode(0, second)), from_file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task_id": "alfworld/other/t9"}, "'alfworld/other/t9' is not in panel 'made_up'"),
        ({"task_type": "heat"}, "is of type 'look', not 'heat'"),
        ({"sample": 1}, "sample 1 .* where 1 were asked for"),
        ({"seed": 5}, "another seed"),
        ({"agent": "expert"}, "played by 'expert'"),
    ],
)
def test_an_episode_of_another_run_is_refused(schedule, make_episode, changes, message: str) -> None:
    with pytest.raises(RunError, match=f"line 1 of .*{message}"):
        collect(schedule, numbered(make_episode(0, **changes)), from_file)


@pytest.mark.parametrize(
    ("outcome", "changes", "message"),
    [
        (Outcome.LIMIT, {"outcome": Outcome.WON}, "outcome is 'won', but its goal_condition_success_rate is 0"),
        (Outcome.WON, {"outcome": Outcome.LOST}, "outcome is 'lost', but its goal_condition_success_rate is 1"),
        (
            Outcome.WON,
            {"outcome": Outcome.TOKENS},
            "outcome is 'token_limit', but its goal_condition_success_rate is 1",
        ),
        (
            Outcome.WON,
            {"goal_condition_success_rate": 0.5},
            "outcome is 'won', but its goal_condition_success_rate is 0.5",
        ),
        (
            Outcome.LIMIT,
            {"outcome": Outcome.WON, "goal_condition_success_rate": 1.0},
            "outcome is 'won', but its last reward is 0",
        ),
        (
            Outcome.WON,
            {"outcome": Outcome.LIMIT, "goal_condition_success_rate": 0.5},
            "outcome is 'limit', but its last reward is 1",
        ),
    ],
)
def test_an_edited_outcome_is_noticed(schedule, make_episode, outcome, changes, message: str) -> None:
    episode = make_episode(0, outcome)
    changed = replace(episode, trajectory=replace(episode.trajectory, **changes))
    with pytest.raises(RunError, match=f"line 2 of .* was changed or is damaged: its {message}"):
        collect(schedule, numbered(make_episode(1), changed), from_file)


def test_a_right_answer_that_was_cut_may_count_as_not_won() -> None:
    cut = Result("math/aime/3", "algebra", 0, Outcome.TOKENS, 1, 0, None, 1.0, last_reward=1.0)
    assert contradiction(cut) == ""
    assert "last reward" not in contradiction(Result("math/aime/3", "algebra", 0, Outcome.WON, 1, 0, None, 1.0))
    assert contradiction(Result("math/aime/3", "algebra", 0, Outcome.LOST, 1, 0, None, 1.0)) != ""
