"""Comparisons as JSON for programs: full precision, null for an undefined number with its cause beside it."""

import json

from ..eval.compare import ALPHA, Comparison, Discordant, Played, Report, Tested, episode_file
from ..eval.intervals import LEVEL
from ..eval.metrics import FAILURE_RULE
from ..eval.pairing import Paired
from ..eval.run import Run
from ..eval.value import Value
from .comparison_words import letter, verdict

SCHEMA = 1


def report_as_json(report: Report) -> str:
    """The whole report with all discordant tasks; rates and differences are shares, not percent."""
    record = {
        "schema": SCHEMA,
        "failure_rule": FAILURE_RULE,
        "alpha": ALPHA,
        "correction": "holm",
        "runs": [_run(letter(number), run) for number, run in enumerate(report.runs)],
        "comparisons": [_comparison(report, comparison) for comparison in report.comparisons],
    }
    return json.dumps(record, indent=2, allow_nan=False) + "\n"


def _run(name: str, run: Run) -> dict[str, object]:
    return {
        "letter": name,
        "folder": str(run.folder),
        "agent": run.manifest.agent,
        "agent_fingerprint": run.manifest.agent_fingerprint,
        "config_sha256": run.manifest.config_sha256,
        "panel": run.panel.label,
        "panel_sha256": run.panel.sha256,
        "complete": run.complete,
    }


def _comparison(report: Report, comparison: Comparison) -> dict[str, object]:
    first, second = report.runs[comparison.first], report.runs[comparison.second]
    return {
        "first": comparison.first,
        "second": comparison.second,
        "verdict": verdict(comparison.overall, letter(comparison.first), letter(comparison.second)),
        "mismatches": [mismatch._asdict() for mismatch in comparison.mismatches],
        "sampling_differences": [mismatch._asdict() for mismatch in comparison.sampling],
        "unfinished_episodes": list(comparison.unfinished),
        "overall": _tested(comparison.overall),
        "by_type": {kind: _tested(tested) for kind, tested in comparison.by_type.items()},
        "discordant": [_discordant(first, second, task) for task in comparison.discordant],
    }


def _tested(tested: Tested) -> dict[str, object]:
    record = _paired(tested.paired)
    record["p_holm"] = _number(tested.adjusted_p)
    record["different"] = tested.different
    record["failed_as_lost"] = None if tested.failed_as_lost is None else _paired(tested.failed_as_lost)
    return record


def _paired(paired: Paired) -> dict[str, object]:
    interval: dict[str, object] | None = None
    if not paired.interval.cause:
        low, high, _ = paired.interval
        interval = {"method": paired.interval_method, "level": LEVEL, "low": low, "high": high}
    causes = {"p": paired.p.cause, "interval": paired.interval.cause}
    return {
        "tasks": paired.tasks,
        "left_out": paired.left_out,
        "first": _number(paired.first),
        "second": _number(paired.second),
        "difference": _number(paired.difference),
        "interval": interval,
        "better_first": paired.better_first,
        "better_second": paired.better_second,
        "test": paired.test,
        "p": _number(paired.p),
        "undefined": {name: cause for name, cause in causes.items() if cause},
    }


def _number(value: Value) -> float | None:
    return value.value if value.defined else None


def _discordant(first: Run, second: Run, task: Discordant) -> dict[str, object]:
    return {
        "task_id": task.task_id,
        "task_type": task.task_type,
        "first": _played(first, task.first),
        "second": _played(second, task.second),
    }


def _played(run: Run, played: Played) -> dict[str, object]:
    return {
        "won": played.attempts.won,
        "finished": played.attempts.samples,
        "outcomes": [outcome.value for outcome in played.outcomes],
        "file": episode_file(run),
        "lines": list(played.lines),
    }
