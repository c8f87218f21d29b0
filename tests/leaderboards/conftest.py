"""Real run folders over made-up panels, written as the evaluator writes them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from holdergym.agents.agent import episode_seed
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.agents.usage import Usage
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.eval.config import EvalConfig
from holdergym.eval.episode import Episode
from holdergym.eval.provenance import begin_session
from holdergym.eval.run import Run, read_run
from holdergym.eval.run_folder import Plan, RunFolder

TYPES = ("pick_and_place_simple", "look_at_obj_in_light", "pick_two_obj_and_place")

MakeRun = Callable[..., Run]


def made_up_panel(name: str = "made_up", size: int = 12, digest: str = "a") -> Panel:
    return Panel.of(name, [Task(f"alfworld/{name}/t{i:02}", TYPES[i % 3], digest * 64) for i in range(size)])


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Writes a run whose first ``won`` tasks are won, the next ``failed`` end as error, the rest at the limit.

    With ``usage`` each step is a reply of a language model that took so many tokens.
    """

    def make(
        folder: str,
        agent: str = "walker",
        *,
        won: int = 6,
        failed: int = 0,
        missing: int = 0,
        panel: Panel | None = None,
        usage: Usage | None = None,
        **settings: object,
    ) -> Run:
        panel = panel or made_up_panel()
        if "agent_settings" in settings:
            settings["agent"] = settings.pop("agent_settings")
        config = EvalConfig(panel=panel.name, **{"engine": "native", "max_steps": 50, **settings})
        plan = Plan(config, panel, "0.4", agent, agent)
        with RunFolder(tmp_path / folder, plan, begin_session()) as opened:
            slots = plan.schedule.slots()
            for number, slot in enumerate(slots[: len(slots) - missing]):
                outcome = Outcome.WON if number < won else Outcome.LIMIT
                outcome = Outcome.ERROR if won <= number < won + failed else outcome
                opened.append(_episode(panel, slot.task_id, slot.sample, agent, outcome, usage))
            opened.summarise()
        return read_run(tmp_path / folder)

    return make


def _episode(panel: Panel, task_id: str, sample: int, agent: str, outcome: Outcome, usage: Usage | None) -> Episode:
    steps = 8 if outcome is Outcome.WON else 50
    return Episode(
        Trajectory(
            task_id=task_id,
            task_type=panel.task(task_id).type,
            sample=sample,
            seed=episode_seed(0, task_id, sample),
            agent=agent,
            turns=tuple(
                Turn(
                    "o",
                    "look",
                    step > 0,
                    float(outcome is Outcome.WON and step == steps - 1),
                    reply=None if usage is None else "> look",
                    finish=None if usage is None else "stop",
                    usage=usage,
                    agent_seconds=0.5,
                    env_seconds=0.25,
                )
                for step in range(steps)
            ),
            outcome=outcome,
            goal_condition_success_rate=float(outcome is Outcome.WON),
            reason="" if outcome.finished else f"task {task_id}: the engine stopped",
        ),
        shortest=4,
    )


@pytest.fixture
def panel_of() -> Callable[..., Panel]:
    return made_up_panel
