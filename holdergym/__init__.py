"""HölderGym: agentic environments, an evaluator whose numbers can be defended, and a multi-turn trainer.

The rooms are ``holdergym.envs``, ``holdergym.agents``, ``holdergym.eval``, ``holdergym.training`` (needs the extra
``train``) and ``holdergym.leaderboards``; each is imported on first use, so ``import holdergym`` stays cheap.
"""

import importlib
from types import ModuleType

from .version import __version__

__all__ = ["__version__", "agents", "envs", "eval", "leaderboards", "training"]

_ROOMS = frozenset({"agents", "envs", "eval", "leaderboards", "training"})


def __getattr__(name: str) -> ModuleType:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
