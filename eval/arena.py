"""What a run plays in: the panel, the agent and the environments that its settings name."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import gymnasium

from ..agents.agent import Agent
from ..agents.registry import make_agent
from ..envs.alfworld.dialect import Dialect
from ..envs.alfworld.env import ALFWorldEnv
from ..envs.alfworld.games import Games, open_games
from ..envs.alfworld.planner import shortest_plan
from ..envs.panel import Panel
from .config import EvalConfig


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
    """

    config: EvalConfig
    panel: Panel
    dialect: str
    agent: Agent
    make_env: Callable[[], gymnasium.Env[str, str]]
    shortest: Callable[[str], int | None]


def open_arena(config: EvalConfig) -> Arena:
    """Opens the games and makes the agent.

    Raises:
        HolderGymError: If the games or a file of the agent cannot be read, or the panel has no such tasks.
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

    return Arena(
        config=resolved,
        panel=panel,
        dialect="+".join(sorted({task.metadata["dialect"] for task in panel.tasks})),
        agent=make_agent(config.agent, games),
        make_env=make_env,
        shortest=lambda task_id: _shortest(games, task_id),
    )


def _shortest(games: Games, task_id: str) -> int | None:
    """Plans with full knowledge. The planner plays by the rules of dialect 0.4, so others have no plan."""
    if games.panel.task(task_id).metadata["dialect"] != Dialect.V04:
        return None
    plan = shortest_plan(games.world(task_id).initial_state())
    return None if plan is None else len(plan)
