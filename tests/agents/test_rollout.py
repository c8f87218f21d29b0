"""Episodes and their typed outcomes, with real games and environments that fail on purpose."""

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from holdergym.agents.agent import AgentError, Conversation, Response
from holdergym.agents.rollout import EpisodeJob, play_episode, roll_out
from holdergym.agents.scripted import ExpertAgent, RandomAgent
from holdergym.agents.trajectory import Outcome
from holdergym.envs.alfworld.env import ALFWorldEnv
from holdergym.envs.alfworld.games import open_games
from holdergym.envs.errors import EnvironmentFailure, EnvironmentTimeout
from holdergym.envs.task import Task


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


class Gated(Scripted):
    """Looks around. What it says to a task that is held waits until that is let go or it is closed."""

    def __init__(self, *held: Task, failing: Task | None = None) -> None:
        super().__init__("look")
        self.gates = {task.id: threading.Event() for task in held}
        self.seen: list[str] = []
        self.closed = threading.Event()
        self.breaks = 0
        self._failing = failing

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        [conversation] = conversations
        task = conversation.task
        if conversation.turn == 0:
            self.seen.append(task.id)
        if task == self._failing:
            # Not before another one plays, so that there is something to end.
            assert _until(lambda: len(self.seen) > 1)
            raise ZeroDivisionError("a bug")
        while task.id in self.gates and not self.gates[task.id].wait(0.01):
            if self.closed.is_set():
                raise AgentError("the model was closed")
        return super().act(conversations)

    def break_off(self) -> None:
        self.breaks += 1
        self.closed.set()


class Envs:
    """Makes real games of two steps, and counts those that are open."""

    def __init__(self) -> None:
        self.made: list[ALFWorldEnv] = []
        self.open: set[int] = set()

    def __call__(self) -> ALFWorldEnv:
        keeper = self

        class Counted(ALFWorldEnv):
            def close(self) -> None:
                keeper.open.discard(id(self))
                super().close()

        env = Counted(max_steps=2)
        self.made.append(env)
        self.open.add(id(env))
        return env


@pytest.fixture(scope="module")
def jobs() -> list[EpisodeJob]:
    return [EpisodeJob(task, 0, number) for number, task in enumerate(ALFWorldEnv().panel.tasks[:8])]


@pytest.fixture
def envs() -> Iterator[Envs]:
    """Whatever happens in a test, no environment and no thread is left."""
    made = Envs()
    yield made
    assert not made.open
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("episode")]


def _until(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.002)
    return holds()


def test_a_slow_answer_holds_up_nobody_else(jobs: list[EpisodeJob], envs: Envs) -> None:
    agent = Gated(jobs[0].task)
    playing = roll_out(jobs, agent, envs, 3)
    others = [next(playing).task_id for _ in jobs[1:]]
    assert sorted(others) == sorted(job.task.id for job in jobs[1:])
    agent.gates[jobs[0].task.id].set()
    [last] = playing
    assert last.task_id == jobs[0].task.id
    assert len(envs.made) == 3
    assert agent.breaks == 0


def test_a_place_is_taken_again_at_once_and_never_by_two(jobs: list[EpisodeJob], envs: Envs) -> None:
    agent = Gated(*(job.task for job in jobs))
    playing = roll_out(jobs, agent, envs, 3)
    agent.gates[jobs[1].task.id].set()
    assert next(playing).task_id == jobs[1].task.id
    # Nobody asks for the next episode meanwhile, and two of the first three still play.
    for number in range(3, len(jobs)):
        assert _until(lambda number=number: jobs[number].task.id in agent.seen)
        time.sleep(0.05)
        assert len(agent.seen) == number + 1
        agent.gates[jobs[number].task.id].set()
    for gate in agent.gates.values():
        gate.set()
    assert len(list(playing)) == len(jobs) - 1


def test_more_places_than_jobs_cost_nothing(jobs: list[EpisodeJob], envs: Envs) -> None:
    found = list(roll_out(jobs[:3], Scripted("look"), envs, 16))
    assert sorted(one.task_id for one in found) == sorted(job.task.id for job in jobs[:3])
    assert len(envs.made) == 3
    assert list(roll_out([], Scripted("look"), envs, 16)) == []
    assert len(envs.made) == 3


def test_a_mistake_in_one_thread_reaches_the_caller_and_ends_the_others(jobs: list[EpisodeJob], envs: Envs) -> None:
    agent = Gated(jobs[0].task, jobs[2].task, failing=jobs[1].task)
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="a bug"):
        list(roll_out(jobs[:3], agent, envs, 3, agent.break_off))
    assert time.monotonic() - began < 10
    assert agent.breaks == 1


@pytest.mark.parametrize("in_flight", [2, 4])
def test_closing_ends_what_is_being_played(in_flight: int, jobs: list[EpisodeJob], envs: Envs) -> None:
    read: list[int] = []

    def endless() -> Iterator[EpisodeJob]:
        for number in itertools.count():
            read.append(number)
            yield jobs[number % len(jobs)]._replace(sample=number // len(jobs))

    agent = Gated(*(job.task for job in jobs[1:]))
    playing = roll_out(endless(), agent, envs, in_flight, agent.break_off)
    assert next(playing).task_id == jobs[0].task.id
    assert _until(lambda: len(agent.seen) == in_flight + 1)
    began = time.monotonic()
    playing.close()
    assert time.monotonic() - began < 5
    assert agent.breaks == 1
    assert len(read) == len(agent.seen) == in_flight + 1


def test_closing_one_at_a_time(jobs: list[EpisodeJob], envs: Envs) -> None:
    playing = roll_out(jobs, Scripted("look"), envs, 1)
    assert [next(playing).task_id for _ in range(2)] == [job.task.id for job in jobs[:2]]
    assert len(envs.open) == 1
    playing.close()
