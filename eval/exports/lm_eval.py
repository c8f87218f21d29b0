"""The result file of EleutherAI's lm-evaluation-harness, so that what reads its files reads runs too.

The form is that of ``EvalResults`` in ``lm_eval/result_schema.py`` and ``save_results_aggregated`` in
``lm_eval/loggers/evaluation_tracker.py`` of the harness, version 0.4.13. A panel is a group and each task type a task
of it; the metric is ``success_rate`` with the filter ``none``, a share with its standard error. What the form has no
place for (interval, hashes, outcomes) is in each task's ``metadata`` under ``configs``, where the harness keeps what a
task's author wants to say.
"""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from ...agents.language_model_settings import LanguageModelSettings
from ..intervals import LEVEL
from ..metrics import FAILURE_RULE, Metrics
from ..results import Result
from ..run import Run
from ..summary import break_down
from .completeness import require_finished
from .standard_error import clustered_standard_error

METRIC = "success_rate"
# No task of a panel is shown with its solution. Invented examples belong to a prompt, which the fingerprint names.
_SHOTS = 0
# Raise it when the same play would give another number.
TASK_VERSION = 1
_UNSAFE = re.compile(r"[^\w.-]+")
# As the harness makes names of folders.
_NOT_IN_NAMES = re.compile(r"[\"<>:/|\\?*\[\]]+")
JsonObject = dict[str, object]


def lm_eval_results(run: Run, *, unfinished: bool = False) -> bytes:
    """Makes the result file of a run.

    Args:
        run: The run.
        unfinished: Whether a run that is not finished will do.

    Raises:
        HolderGymError: If no episode finished, or the run is not finished and ``unfinished`` is false.
    """
    overall, by_type = break_down(run)
    require_finished(run, overall, unfinished)
    group = _UNSAFE.sub("_", f"{run.config.env}_{run.panel.name}")
    names = _part_names(group, by_type)
    parts = {
        names[kind]: _Part(run, kind, metrics, [r for r in run.results if r.task_type == kind])
        for kind, metrics in by_type.items()
        if metrics.finished
    }
    whole = _Part(run, run.panel.label, overall, list(run.results))
    tasks = {group: whole, **parts}
    record: JsonObject = {
        "results": {name: part.result(name) for name, part in tasks.items()},
        "groups": {group: whole.result(group)},
        "group_subtasks": {group: list(parts)},
        "configs": {name: part.config(name) for name, part in tasks.items()},
        "versions": dict.fromkeys(tasks, TASK_VERSION),
        "n-shot": dict.fromkeys(tasks, _SHOTS),
        "higher_is_better": {name: {METRIC: True} for name in tasks},
        "n-samples": {name: part.count() for name, part in tasks.items() if name == group or not run.panel.partial},
        "config": _settings(run),
        "git_hash": _last_commit(run),
        "date": _began(run),
        "model_source": "holdergym",
        "model_name": _model(run),
        "model_name_sanitized": _NOT_IN_NAMES.sub("__", _model(run)),
        "system_instruction": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": None,
        "chat_template": None,
        "chat_template_sha": None,
        "task_hashes": {group: run.panel.sha256},
        "total_evaluation_time_seconds": _seconds(run),
    }
    return (json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace")


def _part_names(group: str, types: Iterable[str]) -> dict[str, str]:
    """A name of the harness for each task type; types that would share one are numbered, so that none is lost."""
    names: dict[str, str] = {}
    for kind in sorted(types):
        plain = name = f"{group}_{_UNSAFE.sub('_', kind)}"
        number = 1
        while name in names.values():
            number += 1
            name = f"{plain}_{number}"
        names[kind] = name
    return names


class _Part:
    """A run or the part of it that is of one task type."""

    def __init__(self, run: Run, label: str, metrics: Metrics, results: Sequence[Result]) -> None:
        self._run = run
        self._label = label
        self._metrics = metrics
        self._error = clustered_standard_error(results)
        self._tasks = len({result.task_id for result in results if result.outcome.finished})

    def result(self, name: str) -> JsonObject:
        return {
            "name": name,
            "alias": self._label,
            "sample_len": self._tasks,  # the harness counts documents, each once however often it is repeated
            f"{METRIC},none": self._metrics.success_rate.value,
            # What the harness writes where it has none.
            f"{METRIC}_stderr,none": self._error.value if self._error.defined else "N/A",
        }

    def count(self) -> JsonObject:
        whole = self._run.panel.full_size if self._run.panel.partial else self._metrics.tasks
        return {"original": whole, "effective": self._tasks}

    def config(self, name: str) -> JsonObject:
        run, metrics = self._run, self._metrics
        low, high, cause = metrics.interval
        interval: JsonObject = {"level": LEVEL, "method": metrics.method, "low": low, "high": high}
        return {
            "task": name,
            "dataset_path": run.config.env,
            "dataset_name": run.panel.name,
            "output_type": "generate_until",
            "repeats": run.config.samples,
            "num_fewshot": _SHOTS,
            "metric_list": [{"metric": METRIC, "aggregation": "mean", "higher_is_better": True}],
            "metadata": {
                "version": TASK_VERSION,
                "panel": run.panel.label,
                "panel_sha256": run.panel.sha256,
                "config_sha256": run.manifest.config_sha256,
                "agent_fingerprint": run.manifest.agent_fingerprint,
                "dialect": run.manifest.dialect,
                "max_steps": run.config.max_steps,
                "won": metrics.won,
                "finished": metrics.finished,
                "failed": metrics.failed,
                "missing": metrics.missing,
                "failure_rule": FAILURE_RULE,
                "interval": None if cause else interval,
            },
        }


def _settings(run: Run) -> JsonObject:
    agent = run.config.agent
    settings: JsonObject = {
        "model": "holdergym",
        "model_args": run.manifest.agent_fingerprint,
        "batch_size": None,
        "device": None,
        "limit": run.config.limit,
        "random_seed": run.config.seed,
        "gen_kwargs": None,
    }
    if isinstance(agent, LanguageModelSettings):
        settings["gen_kwargs"] = {
            "temperature": agent.temperature,
            "top_p": agent.top_p,
            "top_k": agent.top_k,
            "max_gen_toks": agent.max_tokens,
        }
        if agent.revision is not None:
            settings["model_revision"] = agent.revision
    return settings


def _model(run: Run) -> str:
    agent = run.config.agent
    return agent.model if isinstance(agent, LanguageModelSettings) else run.manifest.agent


def _last_commit(run: Run) -> str:
    return (run.manifest.sessions[-1].git_commit if run.manifest.sessions else None) or "N/A"


def _began(run: Run) -> float:
    return datetime.fromisoformat(run.manifest.sessions[0].started).timestamp() if run.manifest.sessions else 0.0


def _seconds(run: Run) -> str:
    """Seconds of all sessions that came to their end."""
    total = 0.0
    for session in run.manifest.sessions:
        if session.finished is not None:
            took = datetime.fromisoformat(session.finished) - datetime.fromisoformat(session.started)
            total += took.total_seconds()
    return str(total)
