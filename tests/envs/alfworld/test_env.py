"""The Gymnasium contract, on the built-in games."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import gymnasium
import holdergym.envs
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from holdergym.envs.alfworld.env import ALFWorldEnv
from holdergym.envs.alfworld.games import open_games
from holdergym.envs.alfworld.planner import shortest_plan
from holdergym.envs.alfworld.simulator import SimulatorError, SimulatorTimeout
from holdergym.envs.alfworld.state import NOTHING_HAPPENS
from holdergym.envs.alfworld.stock import StockSimulator, missing_parts
from holdergym.envs.errors import ConfigError, UnknownNameError
from holdergym.envs.registration import ENVIRONMENTS, register

ALFWORLD = [name for name in ENVIRONMENTS if "ALFWorld" in name]
INFO_KEYS = {"won", "admissible_commands", "task_id", "task_type", "goal_condition_success_rate", "steps"}


@pytest.fixture
def env() -> Iterator[ALFWorldEnv]:
    made = ALFWorldEnv()
    yield made
    made.close()


def plan_of(task_id: str) -> tuple[str, ...]:
    plan = shortest_plan(open_games("builtin_valid").world(task_id).initial_state())
    assert plan
    return plan


@pytest.mark.parametrize("name", ALFWORLD)
@pytest.mark.filterwarnings("error")
def test_every_id_passes_the_checker_without_a_warning(name: str) -> None:
    made = gymnasium.make(name, render_mode="ansi")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(made.unwrapped)
    assert [str(warning.message) for warning in caught] == []
    made.close()


@pytest.mark.parametrize("name", ALFWORLD)
def test_the_spec_round_trip_gives_the_same_environment(name: str) -> None:
    made = gymnasium.make(name, max_steps=7)
    assert made.spec is not None
    again = gymnasium.make(EnvSpec.from_json(made.spec.to_json()))
    assert again.reset(seed=5) == made.reset(seed=5)
    for _ in range(7):
        result = made.step("look")
        assert again.step("look") == result
    assert result[2:4] == (False, True)


def test_each_task_type_has_its_id() -> None:
    for name, task_type in ENVIRONMENTS.items():
        if name in ALFWORLD and task_type is not None:
            _, info = gymnasium.make(name).reset(seed=0)
            assert info["task_type"] == task_type
    register()
    assert set(ENVIRONMENTS) <= set(gymnasium.registry)


def test_a_plan_wins_and_ends_the_episode(env: ALFWorldEnv) -> None:
    for task in env.panel.tasks[::7]:
        observation, info = env.reset(options={"task": task.id})
        assert set(info) == INFO_KEYS
        assert (info["task_id"], info["task_type"], info["steps"], info["won"]) == (task.id, task.type, 0, False)
        assert env.observation_space.contains(observation)
        plan = plan_of(task.id)
        rewards = []
        for number, command in enumerate(plan, 1):
            assert command in info["admissible_commands"]
            observation, reward, terminated, truncated, info = env.step(command)
            assert set(info) == INFO_KEYS
            assert info["steps"] == number
            assert env.observation_space.contains(observation)
            assert not truncated
            assert terminated == info["won"] == (number == len(plan))
            rewards.append(reward)
        assert rewards == [0.0] * (len(plan) - 1) + [1.0]
        assert info["goal_condition_success_rate"] == 1.0
        with pytest.raises(ResetNeeded, match=f"was won in step {len(plan)}"):
            env.step("look")


def test_the_limit_truncates_and_counts_invalid_commands() -> None:
    made = ALFWorldEnv(max_steps=3)
    made.reset(seed=0)
    results = [made.step("fly")[2:4] for _ in range(3)]
    assert results == [(False, False), (False, False), (False, True)]
    with pytest.raises(ResetNeeded, match="at its limit of 3 steps"):
        made.step("look")
    made.reset(seed=0)
    assert made.step("look")[2:4] == (False, False)


def test_winning_in_the_last_step_is_no_truncation() -> None:
    task_id = open_games("builtin_valid").panel.tasks[0].id
    plan = plan_of(task_id)
    made = ALFWorldEnv(max_steps=len(plan))
    made.reset(options={"task": task_id})
    results = [made.step(command)[2:4] for command in plan]
    assert results[-1] == (True, False)


def test_step_before_reset_is_an_error(env: ALFWorldEnv) -> None:
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step("look")


@pytest.mark.parametrize(
    "action", ["", "x" * 10_000_000, "\x00", "go to fridge 1\nlook", "\ud800", "\uff27\uff4f", "\x1b[31m", "{o}"]
)
def test_any_text_is_answered(action: str) -> None:
    made = ALFWorldEnv(render_mode="ansi")
    made.reset(seed=0)
    observation, reward, terminated, truncated, info = made.step(action)
    assert (observation, reward, terminated, truncated, info["steps"]) == (NOTHING_HAPPENS, 0.0, False, False, 1)
    shown = made.render()
    assert shown is not None
    assert len(shown) < 5_000
    assert "\x1b" not in shown
    assert "\x00" not in shown


@pytest.mark.parametrize("action", [None, 3, b"look", ("look",)])
def test_what_is_no_text_is_a_type_error_and_costs_nothing(env: ALFWorldEnv, action: object) -> None:
    env.reset(seed=0)
    with pytest.raises(TypeError, match="an action is a command as text"):
        env.step(action)
    assert env.step("look")[4]["steps"] == 1


def test_seeds_decide_the_draw(env: ALFWorldEnv) -> None:
    env.reset(seed=3)
    first = [env.reset()[1]["task_id"] for _ in range(20)]
    env.reset(seed=3)
    assert [env.reset()[1]["task_id"] for _ in range(20)] == first
    assert len(set(first)) > 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tsak": "x"}, "unknown reset option 'tsak'; did you mean 'task'?"),
        ({"task": "alfworld/builtin_valid/nothing"}, "unknown task of panel 'builtin_valid'"),
        ({"task": 3}, "must be the id of a task, not 3"),
        ({"task": None}, "must be the id of a task, not None"),
    ],
)
def test_wrong_reset_options_are_refused(env: ALFWorldEnv, options: dict[str, object], message: str) -> None:
    with pytest.raises((UnknownNameError, ConfigError)) as error:
        env.reset(options=options)
    assert message in str(error.value)
    assert env.reset(seed=0)[1]["steps"] == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "textwrld"}, "unknown engine 'textwrld'; did you mean 'textworld'?"),
        ({"render_mode": "human"}, "unknown render mode 'human'"),
        ({"max_steps": 0}, "max_steps must be a whole number of at least 1, not 0"),
        ({"max_steps": 2.5}, "max_steps must be"),
        ({"max_steps": True}, "max_steps must be"),
        ({"task_type": "pick_two"}, "unknown task type of panel 'builtin_valid': 'pick_two'"),
        ({"panel": "builtin_vaild"}, "did you mean 'builtin_valid'?"),
        ({"data": Path("x")}, "data must be a string"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises((UnknownNameError, ConfigError)) as error:
        ALFWorldEnv(**settings)
    assert message in str(error.value)


def test_copies_and_pickles_go_on_from_the_same_point(env: ALFWorldEnv) -> None:
    task_id = env.panel.tasks[0].id
    plan = plan_of(task_id)
    env.reset(seed=1, options={"task": task_id})
    env.step(plan[0])
    others = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for command in plan[1:]:
        result = env.step(command)
    for other in others:
        assert [other.step(command) for command in plan[1:]][-1] == result
    draws = [made.reset()[1]["task_id"] for made in (env, *others)]
    assert len(set(draws)) == 1  # the generators were copied too


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectorised_copies_never_share_state(mode: str) -> None:
    vector = gymnasium.make_vec("holdergym/ALFWorld-v0", num_envs=3, vectorization_mode=mode)
    alone = [ALFWorldEnv() for _ in range(3)]
    observations, infos = vector.reset(seed=10)
    expected = [made.reset(seed=10 + i) for i, made in enumerate(alone)]
    assert list(observations) == [observation for observation, _ in expected]
    assert len(set(infos["task_id"])) > 1
    rng = np.random.default_rng(0)
    commands = [info["admissible_commands"] for _, info in expected]
    for _ in range(12):
        actions = tuple(str(rng.choice(choices)) for choices in commands)
        observations, rewards, terminations, truncations, infos = vector.step(actions)
        results = [made.step(action) for made, action in zip(alone, actions, strict=True)]
        assert list(observations) == [result[0] for result in results]
        assert list(rewards) == [result[1] for result in results]
        assert list(terminations) == [result[2] for result in results]
        assert list(truncations) == [result[3] for result in results]
        assert list(infos["steps"]) == [result[4]["steps"] for result in results]
        commands = [result[4]["admissible_commands"] for result in results]
    vector.close()


def test_the_transcript_reads_like_the_game() -> None:
    made = ALFWorldEnv(render_mode="ansi")
    observation, _ = made.reset(seed=0)
    answer = made.step("inventory")[0]
    assert made.render() == f"{observation}\n\n> inventory\n{answer}"
    assert ALFWorldEnv().render() is None


def test_closing_twice_and_resetting_after(env: ALFWorldEnv) -> None:
    env.reset(seed=0)
    env.close()
    env.close()
    with pytest.raises(ResetNeeded):
        env.step("look")
    assert env.reset(seed=0)[1]["steps"] == 0


@pytest.mark.shared
@pytest.mark.parametrize("panel", ["valid_seen", "valid_unseen"])
def test_official_texts_are_members_of_the_spaces(official_data: Path, panel: str) -> None:
    made = ALFWorldEnv(panel=panel, data=str(official_data))
    games = open_games(panel, official_data)
    for task in made.panel.tasks:
        seen, info = made.reset(options={"task": task.id})
        assert made.observation_space.contains(seen)
        for command in ["help", "inventory", *(games[task.id].walkthrough or ())]:
            assert all(made.action_space.contains(known) for known in info["admissible_commands"])
            seen, *_, info = made.step(command)
            assert made.observation_space.contains(seen)
        assert info["won"]


@pytest.mark.stock
@pytest.mark.skipif(
    bool(missing_parts()), reason="the stock engine is not installed: pip install 'holdergym[alfworld]'"
)
def test_both_engines_give_the_same_episode_and_a_dead_one_is_told() -> None:
    native, stock = ALFWorldEnv(), ALFWorldEnv(engine="textworld")
    copied: ALFWorldEnv | None = None
    try:
        task_id = native.panel.tasks[0].id
        plan = plan_of(task_id)
        assert stock.reset(options={"task": task_id}) == native.reset(options={"task": task_id})
        for command in ["look", "fly", *plan[:-1]]:
            result = native.step(command)
            assert stock.step(command) == result
        copied = copy.deepcopy(stock)

        assert isinstance(stock._simulator, StockSimulator)
        assert stock._simulator.pid is not None
        os.kill(stock._simulator.pid, signal.SIGKILL)
        with pytest.raises(SimulatorError):
            stock.step(plan[-1])
        with pytest.raises(ResetNeeded, match="was broken off by a failure of the engine"):
            stock.step(plan[-1])

        result = native.step(plan[-1])
        assert result[2]
        assert copied.step(plan[-1]) == result
    finally:
        stock.close()
        if copied is not None:
            copied.close()


def test_the_module_can_be_named_in_the_id() -> None:
    """Gymnasium 1.x loads no plug-ins: without ``import holdergym.envs`` the id names the module to import."""
    script = "import gymnasium; print(gymnasium.make('holdergym.envs:holdergym/ALFWorld-v0').spec.id)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "holdergym/ALFWorld-v0"


def test_the_package_exports_what_the_readme_uses() -> None:
    assert holdergym.envs.ALFWorldEnv is ALFWorldEnv
    with pytest.raises(AttributeError, match="no attribute 'ALFWorldEnvs'"):
        holdergym.envs.ALFWorldEnvs  # noqa: B018


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine_limits": {"games": 3}}, "engine 'native' has no limits to set"),
        ({"engine": "textworld", "engine_limits": {"game": 3}}, "did you mean 'games'"),
        ({"engine": "textworld", "engine_limits": {"games": "3"}}, "'games' .* valid integer"),
        ({"engine": "textworld", "engine_limits": {"games": 0}}, "'games' of the stock engine must be positive"),
    ],
)
def test_wrong_limits_of_the_engine_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ALFWorldEnv(**settings)


@pytest.mark.stock
def test_limits_of_the_engine_reach_it() -> None:
    env = gymnasium.make("holdergym/ALFWorld-v0", engine="textworld", engine_limits={"start_seconds": 0.001})
    with closing(env), pytest.raises(SimulatorTimeout, match=r"did not start within 0\.001 s"):
        env.reset(seed=0)
