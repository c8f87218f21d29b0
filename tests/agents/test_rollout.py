"""Episodes and their typed outcomes, with real games and environments that fail on purpose."""

import math
from collections.abc import Sequence

import pytest
from holdergym.agents.agent import Conversation, Response
from holdergym.agents.rollout import play_episode
from holdergym.agents.scripted import ExpertAgent, RandomAgent
from holdergym.agents.trajectory import Outcome
from holdergym.envs.alfworld.env import ALFWorldEnv
from holdergym.envs.alfworld.games import open_games
from holdergym.envs.errors import EnvironmentFailure, EnvironmentTimeout


class Scripted:
    """Says the same commands in each episode."""

    name = fingerprint = "scripted"

    def __init__(self, *commands: str) -> None:
        self._commands = commands

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        return [Response(self._commands[c.turn % len(self._commands)], reply="hm") for c in conversations]


class FailingEnv(ALFWorldEnv):
    """A real game whose machinery fails in the third step."""

    failure: Exception = EnvironmentFailure("the worker\ndied")

    def step(self, action: str):  # type: ignore[no-untyped-def]
        if len(self._commands) == 2:
            raise self.failure
        return super().step(action)


def test_an_episode_keeps_what_was_seen_said_and_answered() -> None:
    env = ALFWorldEnv()
    games = open_games("builtin_valid")
    task = env.panel.tasks[0]
    played = play_episode(env, ExpertAgent(games), task, sample=2, seed=7)
    assert (played.task_id, played.task_type, played.sample, played.seed) == (task.id, task.type, 2, 7)
    assert (played.outcome, played.reason, played.goal_condition_success_rate) == (Outcome.WON, "", 1.0)
    state = games.world(task.id).initial_state()
    observation = games.world(task.id).introduction
    for turn in played.turns:
        assert turn.observation == observation
        assert turn.valid
        assert turn.admissible_commands == tuple(state.admissible_commands())
        observation = state.step(turn.action)
    assert played.final_observation == observation
    assert [turn.reward for turn in played.turns] == [0.0] * (len(played.turns) - 1) + [1.0]
    assert all(turn.env_seconds > 0 and turn.agent_seconds > 0 for turn in played.turns)


def test_the_limit_is_its_own_outcome_and_invalid_commands_are_marked() -> None:
    env = ALFWorldEnv(max_steps=4)
    played = play_episode(env, Scripted("fly", " look "), env.panel.tasks[0], 0, 0)
    assert played.outcome is Outcome.LIMIT
    assert [turn.valid for turn in played.turns] == [False, True, False, True]
    assert [turn.reply for turn in played.turns] == ["hm"] * 4


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        (EnvironmentFailure("the worker\ndied"), Outcome.ERROR),
        (EnvironmentTimeout("no answer in 5 s"), Outcome.TIMEOUT),
    ],
)
def test_failures_of_the_machinery_are_no_losses(failure: Exception, outcome: Outcome) -> None:
    env = FailingEnv()
    env.failure = failure
    played = play_episode(env, Scripted("look"), env.panel.tasks[0], 0, 0)
    assert played.outcome is outcome
    assert not played.outcome.finished
    assert played.reason == " ".join(str(failure).split())
    assert len(played.turns) == 2  # the command that got no answer is not a turn


class NeverBeginning(ALFWorldEnv):
    def reset(self, **_: object) -> tuple[str, dict[str, object]]:
        raise EnvironmentFailure("the engine cannot be started")


def test_an_episode_that_never_began_has_no_goal_rate() -> None:
    env = NeverBeginning()
    played = play_episode(env, Scripted("look"), env.panel.tasks[0], 0, 0)
    assert (played.outcome, played.turns) == (Outcome.ERROR, ())
    assert math.isnan(played.goal_condition_success_rate)


def test_a_mistake_in_the_code_is_not_swallowed() -> None:
    env = FailingEnv()
    env.failure = ZeroDivisionError("a bug")
    with pytest.raises(ZeroDivisionError):
        play_episode(env, Scripted("look"), env.panel.tasks[0], 0, 0)


def test_an_environment_serves_one_episode_after_the_other() -> None:
    env = ALFWorldEnv(max_steps=10)
    first = [play_episode(env, RandomAgent(), task, 0, 1) for task in env.panel.tasks[:5]]
    second = [play_episode(env, RandomAgent(), task, 0, 1) for task in env.panel.tasks[:5]]
    for one, other in zip(first, second, strict=True):
        assert [turn.action for turn in one.turns] == [turn.action for turn in other.turns]
        assert one.outcome == other.outcome
