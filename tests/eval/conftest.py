"""Made-up panels and trajectories: the evaluator's pure parts need records, not games."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.agent import episode_seed
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.eval.config import EvalConfig
from holdergym.eval.episode import Episode
from holdergym.eval.provenance import Session, begin_session
from holdergym.eval.run_folder import Plan

AGENT = "scripted(version=1)"

MakeEpisode = Callable[..., Episode]


@pytest.fixture
def panel() -> Panel:
    """Six tasks of two types."""
    types = ["look", "pick"]
    return Panel.of("made_up", [Task(f"alfworld/made_up/t{i}", types[i % 2], f"{i:064x}") for i in range(6)])


@pytest.fixture
def make_episode(panel: Panel) -> MakeEpisode:
    """Makes the episode of the task with a number, as a run with seed 0 plays it."""

    def make(
        number: int,
        outcome: Outcome = Outcome.WON,
        *,
        steps: int = 4,
        invalid: int = 0,
        sample: int = 0,
        shortest: int | None = 4,
        **changes: object,
    ) -> Episode:
        task = panel.tasks[number]
        turns = tuple(
            Turn(
                f"You see step {i}.",
                f"go to desk {i}",
                i >= invalid,
                float(outcome is Outcome.WON and i == steps - 1),
                agent_seconds=0.5,
            )
            for i in range(steps)
        )
        trajectory = Trajectory(
            task_id=task.id,
            task_type=task.type,
            sample=sample,
            seed=episode_seed(0, task.id, sample),
            agent=AGENT,
            turns=turns,
            outcome=outcome,
            goal_condition_success_rate=1.0 if outcome is Outcome.WON else 0.0,
            final_observation="The end.",
            reason="" if outcome.finished else "the engine stopped",
        )
        return Episode(replace(trajectory, **changes), shortest)

    return make


@pytest.fixture
def plan(panel: Panel) -> Plan:
    """The plan of a run over the made-up panel."""
    return Plan(EvalConfig(panel="made_up", engine="native", max_steps=50), panel, "0.4", "scripted", AGENT)


@pytest.fixture
def session() -> Session:
    return begin_session()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a run goes; not made yet."""
    return tmp_path / "runs" / "first"
