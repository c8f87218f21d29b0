"""An entry for ``.eval_results/*.yaml`` in a model repository of the Hugging Face hub.

The form is that of https://huggingface.co/docs/hub/eval-results: a list of entries with ``dataset.id`` (a benchmark of
the hub), ``dataset.task_id`` (one of the tasks in its ``eval.yaml``) and ``value``; then ``date``, ``source`` and
``notes``. There is no field for an interval, so it is in the notes, with the count, the panel and its hash.
"""

import json
import re
from typing import NamedTuple

from ...envs.errors import HolderGymError
from ..intervals import LEVEL
from ..metrics import Metrics
from ..run import Run
from ..summary import break_down
from .completeness import require_finished

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_SHOWN = 12
# What JSON leaves as it is, and YAML 1.2 has no place for in a file or takes for a line break.
_NOT_PRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Target(NamedTuple):
    """Where on the hub a result belongs.

    Attributes:
        dataset: Id of the benchmark dataset, ``OWNER/NAME``.
        task: Id of the task in its ``eval.yaml``; None for the name of the run's panel.
        revision: Commit of the dataset.
        source: Address of traces or of a paper.
    """

    dataset: str
    task: str | None = None
    revision: str | None = None
    source: str | None = None


def hf_results(run: Run, target: Target, *, unfinished: bool = False) -> bytes:
    """Makes the file of a run, with the success rate in per cent.

    Args:
        run: The run.
        target: Where it belongs.
        unfinished: Whether a run that is not finished will do.

    Raises:
        HolderGymError: If the dataset's id is none, no episode finished, or the run is not finished and ``unfinished``
            is false.
    """
    if not _HUB_ID.fullmatch(target.dataset):
        raise HolderGymError(f"--dataset {target.dataset!r} is no dataset of the hub: give OWNER/NAME of a benchmark")
    if target.source is not None and not re.match(r"https?://\S+$", target.source):
        raise HolderGymError(f"--source {target.source!r} is no address: give one that begins with https://")
    overall = break_down(run).overall
    require_finished(run, overall, unfinished)
    lines = ["- dataset:", f"    id: {_text(target.dataset)}", f"    task_id: {_text(target.task or run.panel.name)}"]
    if target.revision is not None:
        lines.append(f"    revision: {_text(target.revision)}")
    lines.append(f"  value: {100 * overall.success_rate.value:.2f}")
    finished = [session.finished for session in run.manifest.sessions if session.finished is not None]
    if finished:
        lines.append(f"  date: {_text(finished[-1])}")
    if target.source is not None:
        lines += ["  source:", f"    url: {_text(target.source)}"]
    lines.append(f"  notes: {_text(_notes(run, overall))}")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _notes(run: Run, overall: Metrics) -> str:
    """One line with what a number needs beside it."""
    low, high, cause = overall.interval
    parts = [f"success rate in %: {overall.won} of {overall.finished} episodes"]
    if not cause:
        parts.append(f"{LEVEL:.0%} interval [{100 * low:.1f}, {100 * high:.1f}] ({overall.method.replace('_', ' ')})")
    if run.config.samples > 1:
        parts.append(f"{run.config.samples} samples a task")
    if overall.missing:
        parts.append(f"not finished, {overall.missing} episodes missing")
    if overall.failed:
        parts.append(f"{overall.failed} failed episodes left out")
    parts.append(f"panel {run.panel.label} (sha256 {run.panel.sha256[:_SHOWN]})")
    if run.manifest.dialect:  # only games have one
        parts.append(f"dialect {run.manifest.dialect}")
    parts += [
        f"agent {run.manifest.agent_fingerprint}",
        f"settings {run.manifest.config_sha256[:_SHOWN]}",
    ]
    return "; ".join(parts)


def _text(text: str) -> str:
    """A text as YAML: a double-quoted scalar, which has the escapes of JSON."""
    return _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
