"""What a run in ALFWorld plays in."""

from dataclasses import asdict, replace

import gymnasium

from ..agents.registry import make_alfworld_agent
from ..envs.alfworld.dialect import Dialect
from ..envs.alfworld.env import ALFWorldEnv
from ..envs.alfworld.games import Games, find_source, open_games
from ..envs.alfworld.planner import shortest_plan
from ..envs.alfworld.stock import require_stock
from ..envs.alfworld.tree import LeftOut
from ..envs.errors import ConfigError
from ..envs.panel import Panel
from .arena import Arena, cut_panel
from .config import EvalConfig

MAX_STEPS = 50


def open_alfworld_arena(config: EvalConfig) -> Arena:
    """Opens the games and makes the agent; see ``open_arena``."""
    if config.grading is not None:
        raise ConfigError("alfworld has no answers to grade: leave out grading")
    games = open_games(config.panel, config.data)
    panel = cut_panel(config, games.panel)
    engine = config.engine or "native"
    max_steps = config.max_steps or MAX_STEPS
    if config.engine_limits is not None and engine != "textworld":
        raise ConfigError(
            f"engine {engine!r} has no limits to set: leave out engine_limits, or give --engine textworld"
        )
    limits = None if config.engine_limits is None else asdict(config.engine_limits)
    agent = make_alfworld_agent(config.agent, games)
    _require_engine(engine, games, panel)

    def make_env() -> gymnasium.Env[str, str]:
        return ALFWorldEnv(
            panel=games.panel.name,
            data=None if config.data is None else str(config.data),
            engine=engine,
            max_steps=max_steps,
            engine_limits=limits,
        )

    return Arena(
        config=replace(config, panel=games.panel.name, engine=engine, max_steps=max_steps),
        panel=panel,
        dialect="+".join(sorted({task.metadata["dialect"] for task in panel.tasks})),
        source=find_source(panel.name, config.data),
        agent=agent,
        make_env=make_env,
        shortest=lambda task_id: _shortest(games, task_id),
        settle=lambda trajectory: trajectory,
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
