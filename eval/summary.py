"""``summary.json``: made of the other files of a run folder alone, so that it can be made again at any time.

It holds no time of day and no speed, and its order is the panel's: however often a run was killed and
resumed, and in whatever order its episodes ended, the bytes are the same.
"""

import json
import math
from collections.abc import Mapping
from typing import NamedTuple

from .intervals import LEVEL
from .metrics import FAILURE_RULE, FAILURE_RULE_TEXT, Metrics, Value, measure
from .run import Run

SCHEMA = 1

_RATES = (
    "success_rate",
    "success_rate_failed_as_lost",
    "mean_steps",
    "invalid_command_rate",
    "path_efficiency",
    "goal_condition_success_rate",
)


class Breakdown(NamedTuple):
    """The metrics of all tasks, and of each task type in alphabetical order."""

    overall: Metrics
    by_type: Mapping[str, Metrics]


def break_down(run: Run) -> Breakdown:
    """Measures a run as a whole and by task type."""
    samples = run.config.samples
    by_type = {}
    for task_type in sorted({task.type for task in run.panel.tasks}):
        tasks = sum(task.type == task_type for task in run.panel.tasks)
        results = [result for result in run.results if result.task_type == task_type]
        by_type[task_type] = measure(results, tasks, samples)
    return Breakdown(measure(run.results, len(run.panel.tasks), samples), by_type)


def summary_text(run: Run) -> str:
    """The text of ``summary.json``."""
    overall, by_type = break_down(run)
    summary = {
        "schema": SCHEMA,
        "complete": run.complete,
        "config_sha256": run.manifest.config_sha256,
        "env": run.config.env,
        "agent": run.manifest.agent,
        "agent_fingerprint": run.manifest.agent_fingerprint,
        "engine": run.config.engine,
        "dialect": run.manifest.dialect,
        "max_steps": run.config.max_steps,
        "samples": run.config.samples,
        "seed": run.config.seed,
        "panel": {
            "name": run.panel.name,
            "label": run.panel.label,
            "sha256": run.panel.sha256,
            "size": len(run.panel.tasks),
            "full_size": run.panel.full_size,
        },
        "failure_rule": FAILURE_RULE,
        "failure_rule_text": FAILURE_RULE_TEXT,
        "replayed": run.replayed,
        "overall": _record(overall),
        "by_type": {task_type: _record(metrics) for task_type, metrics in by_type.items()},
    }
    return json.dumps(summary, indent=2, allow_nan=False) + "\n"


def _record(metrics: Metrics) -> dict[str, object]:
    """The metrics as JSON knows numbers: NaN becomes null, with its cause under ``undefined``."""
    record: dict[str, object] = {
        "tasks": metrics.tasks,
        "expected": metrics.expected,
        "finished": metrics.finished,
        "won": metrics.won,
        "errors": metrics.errors,
        "timeouts": metrics.timeouts,
        "missing": metrics.missing,
    }
    undefined = {}
    for name in _RATES:
        value: Value = getattr(metrics, name)
        record[name] = None if math.isnan(value.value) else value.value
        if value.cause:
            undefined[name] = value.cause
    low, high, cause = metrics.interval
    record["interval"] = {"method": "wilson", "level": LEVEL, "low": low, "high": high}
    if cause:
        record["interval"] = None
        undefined["interval"] = cause
    record["undefined"] = undefined
    return record
