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
    from .math.env import MathEnv, MathPythonEnv, MathRetryEnv
    from .math.problems import Problems, open_problems

__all__ = [
    "ALFWorldEnv",
    "Games",
    "HolderGymError",
    "MathEnv",
    "MathPythonEnv",
    "MathRetryEnv",
    "Panel",
    "Problems",
    "Task",
    "open_games",
    "open_problems",
    "register",
]

_LAZY = {
    "ALFWorldEnv": ".alfworld.env",
    "Games": ".alfworld.games",
    "MathEnv": ".math.env",
    "MathPythonEnv": ".math.env",
    "MathRetryEnv": ".math.env",
    "Problems": ".math.problems",
    "open_games": ".alfworld.games",
    "open_problems": ".math.problems",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register()
