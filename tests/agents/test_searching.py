"""The agent that searches: it wins by what it sees alone, and its memory is what the game really is like."""

from collections.abc import Sequence

import pytest
from holdergym.agents.agent import Agent, AgentError, Conversation, Exchange, episode_seed
from holdergym.agents.memory import remember
from holdergym.agents.rollout import play_episode
from holdergym.agents.searching import DetouringAgent, SearchingAgent
from holdergym.agents.trajectory import Outcome, Trajectory
from holdergym.envs.alfworld.env import ALFWorldEnv
from holdergym.envs.alfworld.games import Games, open_games

PANEL = "builtin_valid"


@pytest.fixture(scope="module")
def games() -> Games:
    return open_games(PANEL)


def play(agent: Agent, max_steps: int = 100, samples: Sequence[int] = (0, 1)) -> list[Trajectory]:
    env = ALFWorldEnv(PANEL, max_steps=max_steps)
    return [
        play_episode(env, agent, task, sample, episode_seed(7, task.id, sample))
        for task in env.panel.tasks
        for sample in samples
    ]


def test_searching_wins_every_game_and_never_gives_a_useless_command() -> None:
    played = play(SearchingAgent())
    assert {one.outcome for one in played} == {Outcome.WON}
    assert all(turn.valid for one in played for turn in one.turns)
    # Nothing is done twice: what was seen is not looked for again.
    for one in played:
        ways = [turn.action for turn in one.turns if turn.action.startswith("open ")]
        assert len(set(ways)) == len(ways)


def test_it_finds_its_way_back_from_detours() -> None:
    agent = DetouringAgent(SearchingAgent(), 0.2)
    played = play(agent)
    # A detour may be a dead end: a roll of paper towels that was taken fits nowhere again.
    assert sum(one.outcome is Outcome.WON for one in played) >= 0.98 * len(played)
    turns = [(one, number) for one in played for number in range(len(one.turns))]
    share = sum(agent.is_detour(one.seed, number) for one, number in turns) / len(turns)
    assert share == pytest.approx(0.2, abs=0.04)


def test_it_does_not_look_into_the_game(games: Games) -> None:
    """What has looked alike so far is answered alike, whatever is hidden."""
    first, second, *_ = (task for task in games.panel.tasks if task.type == "pick_and_place_simple")
    seen = "Looking quickly around you, you see a desk 1, and a shelf 1.\n\nYour task is to: put some cd on desk."
    commands = ["go to desk 1", "go to shelf 1", "inventory", "look"]
    agent = SearchingAgent()
    for seed in range(10):
        one, other = (Conversation(task, 0, seed, (), seen, commands) for task in (first, second))
        assert agent.act([one])[0].action == agent.act([other])[0].action


def test_a_sentence_that_people_wrote_is_an_error(games: Games) -> None:
    task = games.panel.tasks[0]
    conversation = Conversation(task, 0, 0, (), "Your task is to: tidy up the place.", ["look"])
    with pytest.raises(AgentError, match=r"'tidy up the place\.' is not understood"):
        SearchingAgent().act([conversation])


def test_memory_agrees_with_the_game(games: Games) -> None:
    """What is remembered of places and of what is held is the state of the game, after every command."""
    for task in games.panel.tasks[::3]:
        env = ALFWorldEnv(PANEL)
        observation, info = env.reset(options={"task": task.id})
        observations = [observation]
        agent = DetouringAgent(SearchingAgent(), 0.3)
        history: list[Exchange] = []
        for _ in range(30):
            commands = info["admissible_commands"]
            action = agent.act([Conversation(task, 0, 3, tuple(history), observation, commands)])[0].action
            history.append(Exchange(observation, action, commands))
            observation, _, ended, cut, info = env.step(action)
            observations.append(observation)
            memory = remember(observations)
            now = info["admissible_commands"]
            taken = {command for command in now if command.startswith("take ")}
            held = {command.split(" to ")[0].removeprefix("move ") for command in now if command.startswith("move ")}
            if held:
                assert {memory.held} == held
            if taken:
                assert not memory.held
                here = memory.places[memory.here]
                assert {f"take {thing} from {here.name}" for thing in here.things or ()} >= {
                    command for command in taken if command.endswith(f" from {here.name}")
                }
            if memory.here:
                assert f"go to {memory.here}" not in now
            if ended or cut:
                break


def test_memory_of_both_dialects() -> None:
    start = "Looking quickly around you, you see a desk 1, and a shelf 2.\n\nYour task is to: put a mug in shelf."
    there = "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 3."
    for placed in ("You move the mug 1 to the shelf 2.", "You put the mug 1 in/on the shelf 2."):
        memory = remember([start, there, "You pick up the mug 1 from the desk 1."])
        assert (memory.held, memory.here, memory.places["desk 1"].things) == ("mug 1", "desk 1", ("pen 3",))
        assert not memory.places["shelf 2"].visited
        memory = remember([start, there, "You pick up the mug 1 from the desk 1.", "Nothing happens.", placed])
        assert (memory.held, memory.places["shelf 2"].things) == ("", ("mug 1",))


def test_memory_of_doors_and_treatments() -> None:
    closed = "You arrive at fridge 1. The fridge 1 is closed."
    opened = "You open the fridge 1. The fridge 1 is open. In it, you see nothing."
    assert remember([closed]).places["fridge 1"].closed
    assert remember([closed]).places["fridge 1"].things is None
    assert remember([closed, opened]).places["fridge 1"].things == ()
    made = remember(["You heat the egg 1 using the microwave 1.", "You cool the egg 1 using the fridge 1."]).made
    assert made == {"egg 1": "cool"}
