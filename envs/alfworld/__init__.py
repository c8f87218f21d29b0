"""ALFWorld: household tasks as text games."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .env import ALFWorldEnv
    from .game import Game
    from .games import Games, open_games
    from .planner import shortest_plan
    from .problem import Problem, TaskType
    from .state import State
    from .world import World

__all__ = [
    "ALFWorldEnv",
    "Game",
    "Games",
    "Problem",
    "State",
    "TaskType",
    "World",
    "open_games",
    "shortest_plan",
]

_LAZY = {
    "ALFWorldEnv": ".env",
    "Game": ".game",
    "Games": ".games",
    "Problem": ".problem",
    "State": ".state",
    "TaskType": ".problem",
    "World": ".world",
    "open_games": ".games",
    "shortest_plan": ".planner",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
