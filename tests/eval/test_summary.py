import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.eval.run import read_run
from holdergym.eval.run_folder import RunFolder
from holdergym.eval.summary import break_down, summary_text


@pytest.fixture
def summary(folder: Path, plan, session):
    def make(*episodes) -> dict:
        with RunFolder(folder, plan, session) as opened:
            for episode in episodes:
                opened.append(episode)
            opened.summarise()
        return json.loads((folder / "summary.json").read_text(), parse_constant=pytest.fail)

    return make


def test_numbers_by_type_and_overall(summary, make_episode, plan) -> None:
    won = [make_episode(i) for i in (0, 1, 3, 5)]
    found = summary(*won, make_episode(2, Outcome.LIMIT, steps=50), make_episode(4, Outcome.ERROR))
    assert found["complete"] is False
    assert found["panel"] == {
        "name": "made_up",
        "label": "made_up",
        "sha256": plan.panel.sha256,
        "size": 6,
        "full_size": 6,
    }
    overall = found["overall"]
    assert (overall["won"], overall["finished"], overall["errors"], overall["missing"]) == (4, 5, 1, 0)
    assert overall["success_rate"] == 0.8
    assert overall["success_rate_failed_as_lost"] == pytest.approx(4 / 6)
    assert list(found["by_type"]) == ["look", "pick"]
    assert found["by_type"]["pick"]["won"] == 3
    assert found["by_type"]["look"]["success_rate"] == 0.5
    assert found["failure_rule"] == "failed_left_out"
    assert "played again by --resume" in found["failure_rule_text"]


def test_undefined_numbers_are_null_with_a_cause(summary, make_episode) -> None:
    found = summary(make_episode(0, Outcome.LIMIT), make_episode(1, Outcome.ERROR))
    pick = found["by_type"]["pick"]
    assert pick["success_rate"] is None
    assert pick["interval"] is None
    assert pick["undefined"]["success_rate"] == "no episode finished"
    assert pick["undefined"]["interval"] == "no episode finished"
    assert found["by_type"]["look"]["undefined"] == {"path_efficiency": "no episode was won"}


def test_the_bytes_do_not_depend_on_order_or_speed(tmp_path: Path, plan, session, make_episode) -> None:
    texts = set()
    for attempt in range(4):
        episodes = [make_episode(i, Outcome.LIMIT, steps=3 + i, goal_condition_success_rate=0.1 * i) for i in range(6)]
        episodes = [
            replace(e, trajectory=replace(e.trajectory, turns=tuple(
                replace(turn, agent_seconds=random.random()) for turn in e.trajectory.turns)))
            for e in episodes
        ]  # fmt: skip
        random.Random(attempt).shuffle(episodes)
        with RunFolder(tmp_path / str(attempt), plan, session) as opened:
            for episode in episodes:
                opened.append(episode)
            opened.summarise()
        texts.add((tmp_path / str(attempt) / "summary.json").read_bytes())
    assert len(texts) == 1


def test_the_summary_of_a_run_that_is_still_written_can_be_made(folder: Path, plan, session, make_episode) -> None:
    with RunFolder(folder, plan, session) as opened:
        opened.append(make_episode(0))
        run = read_run(folder)
        assert break_down(run).overall.missing == 5
        assert json.loads(summary_text(run))["overall"]["missing"] == 5


def test_several_samples_have_intervals_of_their_own_and_pass_at_k(tmp_path: Path, plan, session, make_episode) -> None:
    sampled = replace(plan, config=replace(plan.config, samples=4))
    with RunFolder(tmp_path / "run", sampled, session) as opened:
        for number in range(6):
            for sample in range(4):
                outcome = Outcome.WON if sample < number else Outcome.LIMIT
                opened.append(make_episode(number, outcome, sample=sample))
        opened.summarise()
    found = json.loads((tmp_path / "run" / "summary.json").read_text(), parse_constant=pytest.fail)
    overall = found["overall"]
    assert overall["interval"]["method"] == "cluster_bootstrap"
    assert overall["interval"]["low"] < overall["success_rate"] < overall["interval"]["high"]
    assert list(overall["at_k"]) == [f"{name}{k}" for k in (1, 2, 3, 4) for name in ("pass@", "pass^", "avg@")]
    assert overall["at_k"]["pass@4"]["value"] == pytest.approx(5 / 6)
    assert found["by_type"]["pick"]["at_k"]["pass^4"]["value"] == pytest.approx(1 / 3)


def test_a_language_model_s_numbers_are_there_only_for_a_language_model(summary, make_episode) -> None:
    found = summary(*(make_episode(i) for i in range(6)))["overall"]
    assert not any("tokens" in name or "reply" in name for name in found)
