"""What is played: tasks, panels and Gymnasium environments.

Importing this registers the environments for ``gymnasium.make``. Nothing heavier than Gymnasium is loaded; the
environments themselves and the stock engine are loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING

from .errors import HolderGymError
from .panel import Panel
from .registration import register
from .task import Task

if TYPE_CHECKING:
    from .alfworld.env import ALFWorldEnv
    from .alfworld.games import Games, open_games

__all__ = ["ALFWorldEnv", "Games", "HolderGymError", "Panel", "Task", "open_games", "register"]

_LAZY = {"ALFWorldEnv": ".alfworld.env", "Games": ".alfworld.games", "open_games": ".alfworld.games"}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register()
