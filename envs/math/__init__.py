"""Mathematics: problems as environments, and the grader of their answers. Each name is loaded on first use."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .env import MathEnv, MathPythonEnv, MathRetryEnv
    from .grader import Grader
    from .judging import Verdict
    from .problem import Problem, ProblemError
    from .problems import Problems, open_problems

__all__ = [
    "Grader",
    "MathEnv",
    "MathPythonEnv",
    "MathRetryEnv",
    "Problem",
    "ProblemError",
    "Problems",
    "Verdict",
    "open_problems",
]

_LAZY = {
    "Grader": ".grader",
    "MathEnv": ".env",
    "MathPythonEnv": ".env",
    "MathRetryEnv": ".env",
    "Problem": ".problem",
    "ProblemError": ".problem",
    "Problems": ".problems",
    "Verdict": ".judging",
    "open_problems": ".problems",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
