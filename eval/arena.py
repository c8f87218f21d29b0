"""What a run plays in: the panel, the agent and the environments that its settings name."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import gymnasium

from ..agents.agent import Agent
from ..agents.language_model_settings import LanguageModelSettings
from ..agents.registry import make_agent
from ..agents.replay import ReplayAgent
from ..envs.alfworld.dialect import Dialect
from ..envs.alfworld.env import ALFWorldEnv
from ..envs.alfworld.games import Games, open_games
from ..envs.alfworld.planner import shortest_plan
from ..envs.alfworld.stock import require_stock
from ..envs.alfworld.tree import LeftOut
from ..envs.panel import Panel
from .config import EvalConfig

# As many as the transformers back end answers together.
_MODEL_WORKERS = 16


@dataclass(frozen=True)
class Arena:
    """Everything that playing needs, made once a run.

    Attributes:
        config: The settings, with the name of the panel filled in.
        panel: The tasks to play.
        dialect: Wording of the games; several are joined by ``+``.
        agent: Who plays. It keeps no state, so all environments may share it.
        make_env: Makes one more environment that plays the panel's tasks.
        shortest: Length of the shortest plan of a task, or None where none is known.
        workers: Number of environments played at once.
        notes: What a user must know of the games before trusting a number, one line each.
    """

    config: EvalConfig
    panel: Panel
    dialect: str
    agent: Agent
    make_env: Callable[[], gymnasium.Env[str, str]]
    shortest: Callable[[str], int | None]
    workers: int
    notes: tuple[str, ...]


def open_arena(config: EvalConfig) -> Arena:
    """Opens the games and makes the agent, and makes sure that they can play, before anything is written.

    Raises:
        HolderGymError: If the games or a file of the agent cannot be read, the panel has no such tasks, the engine
            is not installed or does not play these games, or a recording lacks one of them.
    """
    games = open_games(config.panel, config.data)
    panel = games.panel
    if config.task_type is not None:
        panel = panel.of_type(config.task_type)
    if config.limit is not None:
        panel = panel.limit(config.limit)
    resolved = replace(config, panel=games.panel.name)

    def make_env() -> gymnasium.Env[str, str]:
        return ALFWorldEnv(
            panel=games.panel.name,
            data=None if config.data is None else str(config.data),
            engine=config.engine,
            max_steps=config.max_steps,
        )

    agent = make_agent(config.agent, games)
    if isinstance(agent, ReplayAgent):
        agent.require(panel, config.samples)
    _require_engine(config.engine, games, panel)
    return Arena(
        config=resolved,
        panel=panel,
        dialect="+".join(sorted({task.metadata["dialect"] for task in panel.tasks})),
        agent=agent,
        make_env=make_env,
        shortest=lambda task_id: _shortest(games, task_id),
        workers=config.workers or (_MODEL_WORKERS if isinstance(config.agent, LanguageModelSettings) else 1),
        notes=_notes(games),
    )


def _require_engine(engine: str, games: Games, panel: Panel) -> None:
    if engine == "textworld":
        require_stock()
        return
    for task in panel.tasks:
        if task.metadata["dialect"] != Dialect.V04:
            games.world(task.id)  # says which file it is and what to do


def _notes(games: Games) -> tuple[str, ...]:
    """Says which games a partial panel lacks, as far as the files tell."""
    if not games.panel.partial:
        return ()
    reasons: dict[str, list[LeftOut]] = {}
    for item in games.left_out:
        reasons.setdefault(item.reason, []).append(item)
    found = [
        f"note: panel {games.panel.label}: {len(items)} left out: {reason}, the first in {items[0].folder}"
        for reason, items in sorted(reasons.items())
    ]
    return (*found, f"note: panel {games.panel.label} is partial: `holdergym games verify` says more")


def _shortest(games: Games, task_id: str) -> int | None:
    """Plans with full knowledge. The planner plays by the rules of dialect 0.4, so others have no plan."""
    if games.panel.task(task_id).metadata["dialect"] != Dialect.V04:
        return None
    plan = shortest_plan(games.world(task_id).initial_state())
    return None if plan is None else len(plan)
