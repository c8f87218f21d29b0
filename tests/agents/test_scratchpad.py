"""The agent that shows its work in arithmetic: always right, in two ways, and plain about what it cannot do."""

import re

import pytest
from holdergym.agents.agent import Conversation
from holdergym.agents.rollout import play_episode
from holdergym.agents.scratchpad import ScratchpadAgent
from holdergym.agents.trajectory import Outcome
from holdergym.envs.math.env import MathEnv
from holdergym.envs.math.problems import open_problems
from holdergym.envs.task import Task


def answers(question: str, share: float, seeds: int = 1) -> list[str]:
    agent, task = ScratchpadAgent(share), Task(id="math/one", type="difference", digest="")
    asked = [Conversation(task, 0, seed, (), f"{question} Put it in a box.", ()) for seed in range(seeds)]
    return [one.action for one in agent.act(asked)]


@pytest.mark.parametrize(
    ("question", "worked"),
    [
        ("Compute $47 - 85$.", "4-8=-4,7-5=2,\\boxed{-38}"),
        ("Compute $9 - 10$.", "0-1=-1,9-0=9,\\boxed{-1}"),
        ("Compute $114 - 6$.", "11-0=11,4-6=-2,\\boxed{108}"),
        ("Compute $28 + 35$.", "2+3=5,8+5=13,\\boxed{63}"),
    ],
)
def test_places_are_worked_out_each_by_itself(question: str, worked: str) -> None:
    assert answers(question, 1.0) == [worked]
    assert answers(question, 0.0) == [re.search(r"\\boxed.*", worked)[0]]  # type: ignore[index]


def test_the_share_is_kept_and_the_draw_is_the_episodes_own() -> None:
    drawn = answers("Compute $47 - 85$.", 0.25, seeds=8000)
    assert 0.235 < sum("," in one for one in drawn) / len(drawn) < 0.265  # 3 deviations are 0.0145
    assert drawn == answers("Compute $47 - 85$.", 0.25, seeds=8000)
    assert ScratchpadAgent(0.25).fingerprint != ScratchpadAgent(0.5).fingerprint


@pytest.mark.parametrize("panel", ["builtin_difference_valid", "builtin_small_valid"])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_it_wins_every_problem_of_its_families(panel: str, share: float) -> None:
    problems, env = open_problems(panel), MathEnv(panel=panel)
    for task in problems.panel.tasks:
        played = play_episode(env, ScratchpadAgent(share), task, 0, 0)
        assert played.outcome is Outcome.WON, task.id
        # Worked out, every equation is right and their values make the answer.
        *equations, answer = played.turns[0].action.split(",")
        assert len(equations) == 2 * share
        if equations:
            assert all(eval(left) == int(right) for left, right in (one.split("=") for one in equations))
            tens, ones = (int(one.split("=")[1]) for one in equations)
            assert answer == f"\\boxed{{{10 * tens + ones}}}"


def test_another_question_is_an_error_and_not_a_loss() -> None:
    env = MathEnv(panel="builtin_valid")
    task = next(one for one in open_problems("builtin_valid").panel.tasks if one.type == "product")
    played = play_episode(env, ScratchpadAgent(0.5), task, 0, 0)
    assert played.outcome is Outcome.ERROR
    assert "works out sums and differences of two numbers" in played.reason
