"""What a run on mathematics problems plays in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gymnasium

from ..agents.registry import make_math_agent
from ..agents.trajectory import Outcome, Trajectory
from ..envs.errors import ConfigError, HolderGymError
from ..envs.math.answers.comparing import MIN_DIGITS
from ..envs.math.env import MathEnv, MathPythonEnv, MathRetryEnv
from ..envs.math.files import SUFFIXES
from ..envs.math.grader import RULES_VERSION, shared_grader
from ..envs.math.problems import Problems, find_source, open_problems
from ..envs.math.published import PUBLISHED
from .arena import Arena, cut_panel
from .config import EvalConfig, GradingSettings

# Reward of a correct answer at the first attempt; each further attempt halves it.
_FIRST_REWARD = 1.0
_DEFAULT_STEPS = {"math_retry": 3, "math_python": 5}


def open_math_arena(config: EvalConfig) -> Arena:
    """Opens the problems, makes the agent, and grades all golds against themselves; see ``open_arena``."""
    if config.engine is not None or config.engine_limits is not None:
        raise ConfigError(f"{config.env} has no engine to choose: leave out engine and engine_limits")
    if config.env == "math" and config.max_steps not in (None, 1):
        raise ConfigError("math has one answer an episode: leave out --max-steps, or take --env math_retry")
    grading = config.grading or GradingSettings()
    if grading.rules not in (None, RULES_VERSION):
        raise ConfigError(
            f"answers were to be graded by version {grading.rules} of the rules, and this version of holdergym has "
            f"{RULES_VERSION}: install the one that the run began with, or begin another run"
        )
    grading = replace(grading, rules=RULES_VERSION)
    if config.env == "math_python" and grading.policy != "boxed":
        raise ConfigError("math_python takes an answer from a box only: leave out grading.policy")
    problems = open_problems(config.panel, config.data)
    panel = cut_panel(config, problems.panel)
    resolved = replace(
        config,
        panel=problems.panel.name,
        data=_data(config),
        grading=grading,
        max_steps=config.max_steps or _DEFAULT_STEPS.get(config.env, 1),
    )
    agent = make_math_agent(config.agent, problems)
    make_env = _env_maker(resolved, grading)
    make_env().close()  # what is wrong with its settings is said before the grading of the golds, which takes time
    if grading.check_golds:
        _require_golds(problems, [task.id for task in panel.tasks], grading)
    return Arena(
        config=resolved,
        panel=panel,
        dialect="",
        source=find_source(config.panel, config.data),
        agent=agent,
        make_env=make_env,
        shortest=lambda task_id: None,
        settle=lambda trajectory: settle_cut(trajectory, grading.cut),
        notes=_notes(problems.panel.name),
    )


def _data(config: EvalConfig) -> Path | None:
    """Where environments find the panel by its name, which of a file that was given as the panel is no path."""
    if config.panel is not None and config.panel.endswith(SUFFIXES):
        return find_source(config.panel)
    return config.data


def settle_cut(trajectory: Trajectory, cut: str) -> Trajectory:
    """Gives an episode whose last response was cut by its token limit an outcome of its own.

    Args:
        trajectory: An episode as it was played.
        cut: ``graded`` leaves a won episode as it is; ``not_won`` does not.
    """
    last = trajectory.turns[-1] if trajectory.turns else None
    if last is None or last.finish != "length" or not trajectory.outcome.finished:
        return trajectory
    if trajectory.outcome is Outcome.WON and cut == "graded":
        return trajectory
    return replace(trajectory, outcome=Outcome.TOKENS, reason="the token limit cut the last response")


def _env_maker(config: EvalConfig, grading: GradingSettings) -> Callable[[], gymnasium.Env[str, str]]:
    data = None if config.data is None else str(config.data)
    steps = config.max_steps or 1

    def make() -> gymnasium.Env[str, str]:
        if config.env == "math_python":
            return MathPythonEnv(
                panel=config.panel,
                data=data,
                max_steps=steps,
                grader_timeout_s=grading.timeout_s,
                grader_workers=grading.workers,
            )
        if config.env == "math_retry":
            return MathRetryEnv(
                panel=config.panel,
                data=data,
                rewards=[_FIRST_REWARD / 2**attempt for attempt in range(steps)],
                policy=grading.policy,
                grader_timeout_s=grading.timeout_s,
                grader_workers=grading.workers,
            )
        return MathEnv(
            panel=config.panel,
            data=data,
            policy=grading.policy,
            grader_timeout_s=grading.timeout_s,
            grader_workers=grading.workers,
        )

    return make


def _require_golds(problems: Problems, task_ids: list[str], grading: GradingSettings) -> None:
    grader = shared_grader(grading.policy, grading.timeout_s, grading.workers, MIN_DIGITS)
    golds = problems.golds()
    try:
        grader.require_golds({task_id: golds[task_id] for task_id in task_ids})
    except HolderGymError as error:
        raise type(error)(f"{error}; grading.check_golds=false plays all the same") from None


def _notes(panel: str) -> tuple[str, ...]:
    known = PUBLISHED.get(panel)
    return (f"note: panel {panel}: {known.remark}",) if known and known.remark else ()
