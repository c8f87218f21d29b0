"""What the head of the viewer's page says of a run: who played what, how well, and how that can be traced."""

import math
from collections import Counter

from ...agents.trajectory import Outcome
from ..intervals import LEVEL
from ..metrics import Metrics
from ..repeated import Estimate
from ..run import Run
from ..summary import break_down
from .records import JsonObject


def identity(run: Run, notes: list[str]) -> JsonObject:
    """Makes the record.

    Args:
        run: The run.
        notes: What a reader must know before taking a number from the page, a sentence each.
    """
    overall, by_type = break_down(run)
    counts = Counter(result.outcome for result in run.results)
    return {
        "name": run.folder.resolve().name,
        "agent": run.manifest.agent,
        "env": run.config.env,
        "panel": run.panel.label,
        "panel_sha256": run.panel.sha256,
        "tasks": len(run.panel.tasks),
        "samples": run.config.samples,
        "level": LEVEL,
        "overall": _metrics(overall),
        "at_k": [
            {"k": at.k, "estimates": {_of_any_k(name): _estimate(estimate) for name, estimate in at.estimates.items()}}
            for at in overall.at_k
        ],
        "types": [{"type": name, **_metrics(metrics)} for name, metrics in by_type.items()],
        "outcomes": {outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]},
        "notes": [*_notes(run, overall), *notes],
        "origin": _origin(run, overall),
    }


def _metrics(metrics: Metrics) -> JsonObject:
    low, high, cause = metrics.interval
    return {
        "won": metrics.won,
        "finished": metrics.finished,
        "rate": _number(metrics.success_rate.value),
        "low": _number(low),
        "high": _number(high),
        "cause": metrics.success_rate.cause or cause,
        "steps": _number(metrics.mean_steps.value),
        "invalid": _number(metrics.invalid_command_rate.value),
    }


def _of_any_k(name: str) -> str:
    """``pass@k`` for ``pass@4``: a column for all k."""
    return name.rstrip("0123456789") + "k"


def _estimate(estimate: Estimate) -> JsonObject:
    value, (low, high, _) = estimate
    return {"value": _number(value.value), "low": _number(low), "high": _number(high), "cause": value.cause}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _notes(run: Run, overall: Metrics) -> list[str]:
    notes = []
    if overall.missing:
        notes.append(f"Not finished: {overall.missing} of {overall.expected} episodes have not been played.")
    if overall.failed:
        notes.append(
            f"Failed as error or timeout: {overall.failed} of {overall.expected} episodes. They are left out of every "
            "rate, and --resume plays them again."
        )
    if run.torn:
        notes.append("The last line of the run is half-written and is left out.")
    return notes


def _origin(run: Run, overall: Metrics) -> list[list[str]]:
    """Pairs of a name and a text, in the order in which they are shown."""
    manifest, config = run.manifest, run.config
    rows = [
        ["Agent", manifest.agent_fingerprint],
        ["Panel", run.panel.label],
        ["Panel sha256", run.panel.sha256],
        ["Settings sha256", manifest.config_sha256],
        ["Interval", f"{LEVEL:.0%} {overall.method.replace('_', ' ')}"],
        ["Environment", config.env],
        ["Engine", str(config.engine or "")],
        ["Dialect", manifest.dialect],
        ["Step limit", "" if config.max_steps is None else str(config.max_steps)],
        ["Samples a task", str(config.samples)],
        ["Seed", str(config.seed)],
    ]
    if manifest.sessions:
        first, last = manifest.sessions[0], manifest.sessions[-1]
        rows += [
            ["Started", first.started],
            ["Finished", last.finished or ""],
            ["Sessions", str(len(manifest.sessions))],
            ["Command", first.command],
            ["Commit", last.git_commit or ""],
            ["Versions", ", ".join(f"{name} {version}" for name, version in last.versions.items())],
            ["Machine", f"{last.hardware.processor}, {last.hardware.cores} cores, {last.system}"],
        ]
    return [row for row in rows if row[1]]
