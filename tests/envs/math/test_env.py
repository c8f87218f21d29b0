"""The mathematics environments: the Gymnasium contract, rewards by attempt, Python to compute with, failures."""

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from holdergym.agents.agent import Conversation, Response
from holdergym.agents.rollout import play_episode
from holdergym.agents.trajectory import Outcome
from holdergym.envs.errors import ConfigError, UnknownNameError
from holdergym.envs.math.env import MathEnv, MathPythonEnv, MathRetryEnv
from holdergym.envs.math.problems import open_problems
from holdergym.envs.registration import MATH_ENVIRONMENTS

SHARED_KEYS = {"won", "admissible_commands", "task_id", "task_type", "goal_condition_success_rate", "steps"}
INFO_KEYS = SHARED_KEYS | {"verdict", "answer", "reason"}


class Sayer:
    """An agent that says given texts in turn."""

    name = "sayer"
    fingerprint = "sayer"

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    def act(self, conversations: list[Conversation]) -> list[Response]:
        return [Response(self._texts[conversation.turn]) for conversation in conversations]


def _gold(task_id: str) -> str:
    return open_problems("builtin_valid")[task_id].golds[0]


def _right(task_id: str) -> str:
    return f"It is \\boxed{{{_gold(task_id)}}}."


WRONG = r"It is \boxed{123456789}."


@pytest.mark.parametrize("name", MATH_ENVIRONMENTS)
def test_every_id_passes_the_checker_without_a_warning(name: str) -> None:
    made = gymnasium.make(name, render_mode="ansi")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(made.unwrapped)
    assert [str(warning.message) for warning in caught] == []


@pytest.mark.parametrize("name", MATH_ENVIRONMENTS)
def test_the_spec_round_trip_gives_the_same_environment(name: str) -> None:
    made = gymnasium.make(name, task_type="sum")
    assert made.spec is not None
    again = gymnasium.make(EnvSpec.from_json(made.spec.to_json()))
    observation, info = made.reset(seed=5)
    assert again.reset(seed=5) == (observation, info)
    assert info["task_type"] == "sum"
    assert again.step(WRONG) == made.step(WRONG)


@pytest.mark.parametrize("name", MATH_ENVIRONMENTS)
def test_a_correct_answer_wins_everywhere(name: str) -> None:
    made = gymnasium.make(name)
    for seed in range(5):
        observation, info = made.reset(seed=seed)
        assert set(info) == INFO_KEYS
        assert not info["won"]
        assert made.observation_space.contains(observation)
        observation, reward, terminated, truncated, info = made.step(_right(info["task_id"]))
        assert set(info) == INFO_KEYS
        assert (reward, terminated, truncated, info["won"], info["steps"]) == (1.0, True, False, True, 1)
        assert (info["goal_condition_success_rate"], info["verdict"]) == (1.0, "correct")
        assert made.observation_space.contains(observation)


def test_one_wrong_answer_loses() -> None:
    made = MathEnv()
    made.reset(seed=0)
    observation, reward, terminated, truncated, info = made.step(WRONG)
    assert (observation, reward, terminated, truncated, info["won"]) == (
        "Your answer is wrong.",
        0.0,
        True,
        False,
        False,
    )
    assert (info["verdict"], info["answer"]) == ("incorrect", "123456789")
    with pytest.raises(ResetNeeded, match="was answered in step 1"):
        made.step(WRONG)
    made.reset(seed=0)
    info = made.step("no idea")[4]
    assert (info["verdict"], info["answer"]) == ("unparsable", "")
    assert "no answer" in info["reason"]


def test_the_final_policy_takes_a_stated_answer() -> None:
    pytest.importorskip("math_verify", reason="needs the extra `math`")
    made = MathEnv(policy="final")
    _, info = made.reset(seed=0)
    assert made.step(f"The answer is {_gold(info['task_id'])}.")[4]["won"]


def test_retries_pay_less_and_tell_nothing() -> None:
    made = MathRetryEnv(rewards=(1, 0.5, 0.25))
    for attempt, expected in enumerate((1.0, 0.5, 0.25)):
        _, info = made.reset(seed=1)
        for earlier in range(attempt):
            observation, reward, terminated, truncated, _ = made.step(WRONG)
            assert observation == f"Your answer is wrong. Try again: attempt {earlier + 2} of 3."
            assert (reward, terminated, truncated) == (0.0, False, False)
        _, reward, terminated, _, after = made.step(_right(info["task_id"]))
        assert (reward, terminated, after["won"]) == (expected, True, True)
    made.reset(seed=1)
    results = [made.step(text)[1:4] for text in (WRONG, "", WRONG)]
    assert results == [(0.0, False, False), (0.0, False, False), (0.0, True, False)]


def test_python_computes_before_the_answer() -> None:
    made = MathPythonEnv(render_mode="ansi")
    _, info = made.reset(seed=2)
    observation, reward, terminated, truncated, after = made.step("Let me see.\n```python\nprint(6 * 7)\n```")
    assert (observation, reward, terminated, truncated, after["verdict"]) == ("42", 0.0, False, False, "")
    assert made.step("```py\npass\n```")[0] == "The program printed nothing."
    assert made.step("hm")[0].startswith("There is neither a program")
    failed = made.step("\\boxed{0} and\n```python\n1/0\n```")
    assert "ZeroDivisionError" in failed[0]
    assert failed[0].endswith("The program failed.")
    last = made.step(f"```python\nprint('never run')\n``` so {_right(info['task_id'])}")
    assert (last[2], last[4]["won"]) == (True, True)
    shown = made.render()
    assert shown is not None
    assert "print(6 * 7)" in shown


def test_the_step_limit_truncates_programs() -> None:
    made = MathPythonEnv(max_steps=2)
    made.reset(seed=0)
    program = "```python\nprint(1)\n```"
    assert made.step(program)[2:4] == (False, False)
    assert made.step(program)[2:4] == (False, True)
    with pytest.raises(ResetNeeded, match="limit of 2 steps"):
        made.step(program)


@pytest.mark.parametrize("program", ["while True: pass", "print('é\\u4e2d' * 30_000)", "print('\\x1b[31m\\x00')"])
def test_any_output_is_a_member_of_the_space(program: str) -> None:
    made = MathPythonEnv(python_seconds=1.0)
    made.reset(seed=0)
    observation = made.step(f"```python\n{program}\n```")[0]
    assert made.observation_space.contains(observation)


@pytest.mark.parametrize(("seconds", "outcome"), [(2.0, Outcome.TIMEOUT), (20.0, Outcome.ERROR)])
def test_a_failing_grader_is_not_a_loss(seconds: float, outcome: Outcome) -> None:
    pytest.importorskip("math_verify", reason="needs the extra `math`")
    stuck, greedy = r"\boxed{9^{9^{9^{9}}}!}", r"\boxed{\operatorname{gcd}(2^{10^{10}},3)}"
    made = MathEnv(grader_timeout_s=seconds)
    played = play_episode(made, Sayer(stuck if outcome is Outcome.TIMEOUT else greedy), made.panel.tasks[0], 0, 0)
    assert played.outcome is outcome
    assert played.reason
    assert played.turns == ()
    again = play_episode(made, Sayer(_right(made.panel.tasks[0].id)), made.panel.tasks[0], 0, 0)
    assert again.outcome is Outcome.WON


def test_episodes_are_trajectories_like_any_other() -> None:
    made = MathRetryEnv()
    task = made.panel.tasks[7]
    won = play_episode(made, Sayer(WRONG, _right(task.id)), task, 0, 0)
    assert (won.outcome, [turn.reward for turn in won.turns], won.goal_condition_success_rate) == (
        Outcome.WON,
        [0.0, 0.5],
        1.0,
    )
    assert [turn.valid for turn in won.turns] == [True, True]
    lost = play_episode(made, Sayer(WRONG, WRONG, WRONG), task, 0, 0)
    assert (lost.outcome, len(lost.turns)) == (Outcome.LOST, 3)
    limited = play_episode(MathPythonEnv(max_steps=1), Sayer("```python\nprint(1)\n```"), task, 0, 0)
    assert limited.outcome is Outcome.LIMIT


def test_copies_and_pickles_go_on_from_the_same_point() -> None:
    made = MathRetryEnv()
    _, info = made.reset(seed=4)
    made.step(WRONG)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other.step(_right(info["task_id"]))[1] == 0.5
    assert made.step(WRONG)[0].endswith("attempt 3 of 3.")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectorised_copies_never_share_state(mode: str) -> None:
    vector = gymnasium.make_vec("holdergym/MathRetry-v0", num_envs=3, vectorization_mode=mode)
    alone = [MathRetryEnv() for _ in range(3)]
    observations, infos = vector.reset(seed=10)
    expected = [made.reset(seed=10 + number) for number, made in enumerate(alone)]
    assert list(observations) == [observation for observation, _ in expected]
    actions = tuple(_right(info["task_id"]) if number else WRONG for number, (_, info) in enumerate(expected))
    _, rewards, terminations, _, infos = vector.step(actions)
    assert list(rewards) == [0.0, 1.0, 1.0]
    assert list(terminations) == [False, True, True]
    assert list(infos["verdict"]) == ["incorrect", "correct", "correct"]
    vector.close()


def test_problems_beyond_ascii_are_members_of_the_space(tmp_path: Path) -> None:
    path = tmp_path / "unicode.jsonl"
    path.write_text('{"id": "a", "problem": "Jané ½ — 中文?", "answer": "½"}\n', encoding="utf-8")
    made = MathEnv(panel=str(path))
    observation, _ = made.reset()
    assert made.observation_space.contains(observation)
    assert made.step(r"\boxed{0.5}")[4]["won"]


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (MathEnv, {"panel": "builtin_vaild"}, "problem files"),
        (MathEnv, {"policy": "boxd"}, "did you mean 'boxed'"),
        (MathEnv, {"task_type": "sums"}, "did you mean 'sum'"),
        (MathEnv, {"data": Path("x")}, "data must be a string"),
        (MathEnv, {"render_mode": "human"}, "unknown render mode"),
        (MathEnv, {"grader_timeout_s": 0.0}, "positive time-out"),
        (MathRetryEnv, {"rewards": ()}, "at least one number"),
        (MathRetryEnv, {"rewards": "123"}, "at least one number"),
        (MathPythonEnv, {"max_steps": 0}, "at least 1"),
        (MathPythonEnv, {"isolation": "bubble"}, "did you mean 'bubblewrap'"),
        (MathPythonEnv, {"python_memory_mb": 1}, "64 MiB"),
    ],
)
def test_wrong_settings_are_refused(kind: type[MathEnv], settings: dict[str, object], message: str) -> None:
    with pytest.raises(Exception, match=message) as failure:
        kind(**settings)  # type: ignore[arg-type]
    assert "\n" not in str(failure.value)


def test_wrong_calls_are_refused() -> None:
    made = MathEnv()
    with pytest.raises(ResetNeeded):
        made.step(WRONG)
    with pytest.raises(UnknownNameError, match="did you mean 'task'"):
        made.reset(options={"tsak": 1})
    with pytest.raises(ConfigError, match="must be the id of a task"):
        made.reset(options={"task": 3})
    made.reset(seed=0)
    with pytest.raises(TypeError, match="an action is a text"):
        made.step(3)  # type: ignore[arg-type]


WITHOUT_ALGEBRA = """
import importlib.machinery, sys
find = importlib.machinery.PathFinder.find_spec
hidden = lambda name, *rest: None if name.partition(".")[0] in ("math_verify", "sympy") else find(name, *rest)
importlib.machinery.PathFinder.find_spec = hidden
from holdergym.envs.errors import MissingExtraError
from holdergym.envs.math.env import MathEnv
from holdergym.envs.math.grader import Grader
env = MathEnv()
_, info = env.reset(seed=0)
gold = env._problems[info["task_id"]].golds[0]
assert env.step(f"\\\\boxed{{{gold}}}")[4]["won"]
with Grader() as grader:
    assert grader.grade_one("1/2", "\\\\boxed{0.5}").verdict == "correct"
    assert grader.grade_one("4", "\\\\boxed{\\\\sqrt{16}}").verdict == "unparsable"
    assert grader.versions()["sympy"]
    try:
        grader.grade_one("x+1", "\\\\boxed{1+x}")
    except MissingExtraError as error:
        print(error)
assert "sympy" not in sys.modules and "torch" not in sys.modules
"""


def test_the_base_install_plays_and_grades_the_builtin_problems() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_ALGEBRA], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pip install 'holdergym[math]'" in done.stdout
