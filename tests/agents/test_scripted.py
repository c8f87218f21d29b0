from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.agent import AgentError, Conversation, Exchange, episode_seed
from holdergym.agents.registry import (
    ExpertSettings,
    RandomSettings,
    ReplaySettings,
    WalkthroughSettings,
    agent_entries,
    make_alfworld_agent,
    settings_of,
)
from holdergym.agents.replay import ReplayAgent
from holdergym.agents.rollout import play_episode
from holdergym.agents.scripted import ExpertAgent, RandomAgent, WalkthroughAgent
from holdergym.agents.trajectory import Outcome
from holdergym.envs.alfworld.env import ALFWorldEnv
from holdergym.envs.alfworld.games import Games, open_games
from holdergym.envs.errors import HolderGymError, UnknownNameError


@pytest.fixture(scope="module")
def games() -> Games:
    return open_games("builtin_valid")


def conversation(games: Games, *history: str, seed: int = 0, index: int = 0) -> Conversation:
    task = games.panel.tasks[index]
    state = games.world(task.id).initial_state()
    for command in history:
        state.step(command)
    exchanges = tuple(Exchange("", command) for command in history)
    return Conversation(task, 0, seed, exchanges, "", state.admissible_commands())


def test_the_random_draw_depends_on_seed_and_turn_alone(games: Games) -> None:
    agent = RandomAgent()
    batch = [conversation(games, *["look"] * turn, seed=seed) for seed in range(5) for turn in range(5)]
    together = [response.action for response in agent.act(batch)]
    apart = [agent.act([single])[0].action for single in reversed(batch)]
    assert together == apart[::-1]
    assert len(set(together)) > 5
    for single, action in zip(batch, together, strict=True):
        assert action in single.admissible_commands


def test_the_random_draw_is_uniform(games: Games) -> None:
    agent = RandomAgent()
    commands = conversation(games).admissible_commands
    draws = [response.action for response in agent.act([conversation(games, seed=seed) for seed in range(4000)])]
    expected = 4000 / len(commands)
    statistic = sum((draws.count(command) - expected) ** 2 / expected for command in commands)
    # chi-squared with len - 1 degrees of freedom: mean len - 1, standard deviation sqrt(2 (len - 1))
    assert statistic < (len(commands) - 1) + 5 * (2 * (len(commands) - 1)) ** 0.5


def test_the_expert_finishes_what_others_began(games: Games) -> None:
    agent = ExpertAgent(games)
    for index in range(0, 60, 11):
        history = ["look", "go to nowhere"]
        state = games.world(games.panel.tasks[index].id).initial_state()
        while not state.won:
            action = agent.act([conversation(games, *history, index=index)])[0].action
            assert action in state.admissible_commands()
            state.step(action)
            history.append(action)
            assert len(history) < 20
        with pytest.raises(AgentError, match="won already"):
            agent.act([conversation(games, *history, index=index)])


def test_the_walkthrough_ends_where_the_file_s_does(games: Games) -> None:
    agent = WalkthroughAgent(games)
    walkthrough = games[games.panel.tasks[0].id].walkthrough
    assert walkthrough is not None
    said = [agent.act([conversation(games, *walkthrough[:turn])])[0].action for turn in range(len(walkthrough))]
    assert tuple(said) == walkthrough
    with pytest.raises(AgentError, match=f"ends after {len(walkthrough)} commands"):
        agent.act([conversation(games, *walkthrough)])


def test_replaying_a_file_gives_its_commands(games: Games, tmp_path: Path) -> None:
    task = games.panel.tasks[0]
    path = tmp_path / "moves.jsonl"
    path.write_text(f'{{"task_id": "{task.id}", "actions": ["look", "inventory"]}}\n\n')
    agent = ReplayAgent(path)
    assert [agent.act([conversation(games, *["look"] * turn)])[0].action for turn in (0, 1)] == ["look", "inventory"]
    env = ALFWorldEnv()
    played = play_episode(env, agent, task, 0, 0)
    assert (played.outcome, played.reason) == (Outcome.ERROR, f"task {task.id}: the recording ends after 2 commands")
    assert [turn.action for turn in played.turns] == ["look", "inventory"]
    with pytest.raises(UnknownNameError, match="unknown task in"):
        agent.act([conversation(games, index=1)])


def test_replaying_a_run_folder_tells_samples_apart_and_skips_failures(games: Games, tmp_path: Path) -> None:
    first = conversation(games)
    line = '{"task_id": "%s", "sample": %d, "outcome": "%s", "turns": [{"action": "%s", "reward": 0.0}]}\n'
    lines = [(0, "timeout", "look"), (1, "won", "inventory"), (0, "lost", "help")]
    recorded = "".join(line % (first.task.id, *rest) for rest in lines)
    (tmp_path / "episodes.jsonl").write_text(recorded)
    agent = ReplayAgent(tmp_path)
    assert [agent.act([replace(first, sample=sample)])[0].action for sample in (0, 1)] == ["help", "inventory"]
    with pytest.raises(HolderGymError, match=r"sample 2 of task .* was not recorded"):
        agent.act([replace(first, sample=2)])
    (tmp_path / "episodes.jsonl").write_text(recorded + line % (first.task.id, 1, "won", "look"))
    with pytest.raises(HolderGymError, match=r"line 4: task .* is recorded twice"):
        ReplayAgent(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no recording"),
        ("{", "line 1: is not JSON"),
        ("[]\n", "has no 'task_id'"),
        ('{"task_id": "a"}\n', "must be a list of commands"),
        ('{"task_id": "a", "actions": [1]}\n', "must be a list of commands"),
        ('{"task_id": "a", "actions": [], "sample": "x"}\n', "'sample' must be a whole number"),
        ('{"task_id": "a", "actions": []}\n' * 2, "line 2: task 'a' is recorded twice"),
    ],
)
def test_a_bad_recording_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "moves.jsonl"
    path.write_text(text)
    with pytest.raises(HolderGymError) as error:
        ReplayAgent(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HolderGymError, match="there is no such recording"):
        ReplayAgent(tmp_path / "nothing")


def test_agents_are_made_by_name(games: Games, tmp_path: Path) -> None:
    path = tmp_path / "moves.jsonl"
    path.write_text('{"task_id": "a", "actions": []}\n')
    settings = [RandomSettings(), ExpertSettings(), WalkthroughSettings(), ReplaySettings(path=path)]
    agents = [make_alfworld_agent(setting, games) for setting in settings]
    assert [agent.name for agent in agents] == [setting.name for setting in settings]
    assert {entry.name for entry in agent_entries()} >= {agent.name for agent in agents}
    assert settings_of("expert", ["expert", "random"]) == ExpertSettings()
    with pytest.raises(UnknownNameError, match="did you mean 'expert'"):
        settings_of("exprt", ["expert", "random"])
    # the fingerprint of a replay is that of the file's content, not of its place
    other = tmp_path / "other.jsonl"
    other.write_text(path.read_text())
    assert ReplayAgent(other).fingerprint == ReplayAgent(path).fingerprint != "replay"


def test_episode_seeds_differ_by_run_task_and_sample() -> None:
    seeds = {episode_seed(run, task, sample) for run in range(3) for task in ("a", "b") for sample in range(3)}
    assert len(seeds) == 18
    assert episode_seed(0, "a", 0) == episode_seed(0, "a", 0)
    assert all(0 <= seed < 2**48 for seed in seeds)
