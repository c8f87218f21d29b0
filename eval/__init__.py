"""How well it went: run folders, outcomes, rates with their intervals, and comparisons of runs.

Each name is loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .at_k import avg_at_k, pass_at_k, pass_hat_k
    from .compare import compare_runs
    from .config import EvalConfig, GradingSettings
    from .episode import Episode
    from .errors import RunError
    from .evaluation import evaluate
    from .intervals import Interval, wilson
    from .journal import read_journal
    from .majority import maj_at_k
    from .manifest import Manifest
    from .metrics import Metrics, measure
    from .protocols import PROTOCOLS, Protocol, find_protocol
    from .results import Result
    from .run import Run, read_run
    from .summary import Breakdown, break_down, summary_text
    from .value import Value

__all__ = [
    "PROTOCOLS",
    "Breakdown",
    "Episode",
    "EvalConfig",
    "GradingSettings",
    "Interval",
    "Manifest",
    "Metrics",
    "Protocol",
    "Result",
    "Run",
    "RunError",
    "Value",
    "avg_at_k",
    "break_down",
    "compare_runs",
    "evaluate",
    "find_protocol",
    "maj_at_k",
    "measure",
    "pass_at_k",
    "pass_hat_k",
    "read_journal",
    "read_run",
    "summary_text",
    "wilson",
]

_LAZY = {
    "Breakdown": ".summary",
    "Episode": ".episode",
    "EvalConfig": ".config",
    "GradingSettings": ".config",
    "Interval": ".intervals",
    "Manifest": ".manifest",
    "Metrics": ".metrics",
    "PROTOCOLS": ".protocols",
    "Protocol": ".protocols",
    "Result": ".results",
    "Run": ".run",
    "RunError": ".errors",
    "Value": ".value",
    "avg_at_k": ".at_k",
    "break_down": ".summary",
    "compare_runs": ".compare",
    "evaluate": ".evaluation",
    "find_protocol": ".protocols",
    "maj_at_k": ".majority",
    "measure": ".metrics",
    "pass_at_k": ".at_k",
    "pass_hat_k": ".at_k",
    "read_journal": ".journal",
    "read_run": ".run",
    "summary_text": ".summary",
    "wilson": ".intervals",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
