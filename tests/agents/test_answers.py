"""The oracle wins every problem and the blank agent none, in every environment of mathematics."""

from pathlib import Path

import pytest
from holdergym.agents.answers import BlankAgent, OracleAgent
from holdergym.agents.rollout import play_episode
from holdergym.agents.trajectory import Outcome
from holdergym.envs.math.env import MathEnv, MathPythonEnv, MathRetryEnv
from holdergym.envs.math.problems import open_problems
from holdergym.envs.math.published import PUBLISHED


@pytest.mark.parametrize(
    ("kind", "blank"), [(MathEnv, Outcome.LOST), (MathRetryEnv, Outcome.LOST), (MathPythonEnv, Outcome.LIMIT)]
)
def test_the_oracle_wins_and_the_blank_agent_does_not(kind: type[MathEnv], blank: Outcome) -> None:
    problems, env = open_problems("builtin_valid"), kind()
    for task in problems.panel.tasks[::5]:
        assert play_episode(env, OracleAgent(problems), task, 0, 0).outcome is Outcome.WON
        assert play_episode(env, BlankAgent(), task, 0, 0).outcome is blank


@pytest.mark.shared
@pytest.mark.parametrize("name", [name for name in PUBLISHED if name != "math_test"])
def test_the_oracle_wins_every_published_problem(name: str, shared: Path) -> None:
    problems = open_problems(name, shared / "math")
    env = MathEnv(panel=name, data=str(shared / "math"))
    agents = OracleAgent(problems), BlankAgent()
    for task in problems.panel.tasks:
        outcomes = [play_episode(env, agent, task, 0, 0).outcome for agent in agents]
        assert outcomes == [Outcome.WON, Outcome.LOST], task.id
