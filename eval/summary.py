"""``summary.json``: made of the other files of a run folder alone, so that it can be made again at any time.

It holds no time of day and no speed, and its order is the panel's: however often a run was killed and
resumed, and in whatever order its episodes ended, the bytes are the same.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from .intervals import LEVEL, Interval
from .metrics import CLUSTER_BOOTSTRAP, FAILURE_RULE, FAILURE_RULE_TEXT, NO_REPLY, Metrics, measure
from .results import Result
from .run import Run
from .value import Value

SCHEMA = 1

_RATES = (
    "success_rate",
    "success_rate_failed_as_lost",
    "mean_steps",
    "invalid_command_rate",
    "path_efficiency",
    "goal_condition_success_rate",
)
# Environments in which an episode ends with an answer that can vote.
_VOTING = ("math", "math_retry", "math_python")
# Only where a language model played.
_REPLY_RATES = (
    "unparsable_reply_rate",
    "cut_reply_rate",
    "prompt_tokens_per_episode",
    "generated_tokens_per_episode",
    "prompt_tokens_per_success",
    "generated_tokens_per_success",
)


class Breakdown(NamedTuple):
    """The metrics of all tasks, and of each task type in alphabetical order."""

    overall: Metrics
    by_type: Mapping[str, Metrics]


def break_down(run: Run) -> Breakdown:
    """Measures a run as a whole and by task type."""
    samples = run.config.samples
    votes = run.config.env in _VOTING
    tasks: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    for number, task in enumerate(run.panel.tasks):
        tasks[task.type] += 1
        expected[task.type] += samples * run.panel.draws_of(number)
    results: dict[str, list[Result]] = {task_type: [] for task_type in sorted(tasks)}
    for result in run.results:
        results[result.task_type].append(result)
    by_type = {
        task_type: measure(found, tasks[task_type], samples, expected=expected[task_type], votes=votes)
        for task_type, found in results.items()
    }
    overall = measure(run.results, len(run.panel.tasks), samples, expected=run.expected, votes=votes)
    return Breakdown(overall, by_type)


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
    for name in (*_RATES, *_REPLY_RATES):
        value: Value = getattr(metrics, name)
        if name in _REPLY_RATES and value.cause == NO_REPLY:
            continue
        record[name] = None if math.isnan(value.value) else value.value
        if value.cause:
            undefined[name] = value.cause
    record["interval"] = _interval(metrics.interval, metrics.method)
    if metrics.interval.cause:
        undefined["interval"] = metrics.interval.cause
    if metrics.at_k:
        at_k = record["at_k"] = {}
        for row in metrics.at_k:
            for name, (value, interval) in row.estimates.items():
                defined = value.defined
                at_k[name] = {
                    "value": value.value if defined else None,
                    "interval": _interval(interval, CLUSTER_BOOTSTRAP),
                }
                if not defined:
                    undefined[name] = value.cause
    record["undefined"] = undefined
    return record


def _interval(interval: Interval, method: str) -> dict[str, object] | None:
    if interval.cause:
        return None
    return {"method": method, "level": LEVEL, "low": interval.low, "high": interval.high}
