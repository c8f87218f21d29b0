"""Whether a run folder may be handed in: all of a panel, sound, and what it says of itself is what follows from it."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from ...agents.language_model_settings import LanguageModelSettings
from ...agents.prompt import PromptError
from ...envs.errors import HolderGymError
from ...envs.files import read_file
from ...envs.wording import counted
from ...eval.journal import read_journal
from ...eval.prompt_texts import contradiction
from ...eval.provenance import Session
from ...eval.run import EPISODES, MANIFEST, SUMMARY, Run
from ...eval.summary import summary_text
from ..numbers import plain
from ..reading import read_any_run
from .turn_checks import contradictions


class RefusedError(HolderGymError):
    """A run that is not taken; the message is one line with the reason."""


def check_run(folder: Path) -> Run:
    """Checks all that a folder alone can show.

    Reading it recomputes the panel's hash from its tasks and the settings' hash from the settings, and holds each
    episode against the panel, its seed, its agent and its own outcome.

    Args:
        folder: The run.

    Returns:
        The run, read.

    Raises:
        RefusedError: If something is missing, changed or contradicts itself; the first reason that is found.
        RunError: If it cannot be read, with the reason.
    """
    run = read_any_run(folder)
    for problem in (_incomplete(run), _origin(run), _texts(run), _episodes(run), _summary(run)):
        if problem:
            raise RefusedError(f"{folder} is refused: {plain(problem)}")
    return run


def _incomplete(run: Run) -> str:
    """Why it is not the whole of a panel, or nothing."""
    panel = run.panel
    if panel.draws is not None:
        return f"panel {panel.label} is a draw of tasks, not each of them as often as the others"
    if panel.partial:
        return f"panel {panel.label} is a part of a panel: play all {counted(panel.full_size, 'task')}"
    if run.torn:
        return f"the last line of {EPISODES} is half-written: go on with `holdergym eval --resume --out {run.folder}`"
    failed = sum(not result.outcome.finished for result in run.results)
    missing = run.expected - len(run.results)
    if missing or failed:
        what = f"{missing} of {counted(run.expected, 'episode')} are missing" if missing else ""
        fault = f"{failed} of {counted(run.expected, 'episode')} ended as error or timeout" if failed else ""
        said = " and ".join(part for part in (what, fault) if part)
        return f"{said}: go on with `holdergym eval --resume --out {run.folder}`"
    samples = Counter(result.task_id for result in run.results)
    odd = [task.id for task in panel.tasks if samples[task.id] != run.config.samples]
    return f"task {odd[0]!r} has {samples[odd[0]]} samples, and {run.config.samples} were asked for" if odd else ""


def _origin(run: Run) -> str:
    """Why the manifest does not say where the run comes from, or contradicts the settings; or nothing."""
    manifest, agent = run.manifest, run.config.agent
    if not manifest.sessions:
        return f"{MANIFEST} has no session"
    if manifest.sessions[-1].finished is None:
        return (
            f"{MANIFEST} says that the last session was cut off: `holdergym eval --resume --out {run.folder}` ends it"
        )
    for number, session in enumerate(manifest.sessions, start=1):
        problem = _session(session)
        if problem:
            return f"session {number} in {MANIFEST}: {problem}"
    if isinstance(agent, LanguageModelSettings) != manifest.agent_fingerprint.startswith("llm "):
        return f"{MANIFEST} says that {manifest.agent_fingerprint[:60]!r} played, and the settings say {agent.name!r}"
    if not isinstance(agent, LanguageModelSettings) and manifest.agent != agent.name:
        return f"{MANIFEST} says that {manifest.agent[:60]!r} played, and the settings say {agent.name!r}"
    return ""


def _texts(run: Run) -> str:
    """Why the prompt that is kept with the run is not the one that played, or nothing."""
    try:
        return contradiction(run.folder, run.config.agent, run.manifest.agent_fingerprint)
    except PromptError as error:
        return str(error)


def _session(session: Session) -> str:
    for name in ("holdergym", "python"):
        if not session.versions.get(name):
            return f"the version of {name} is missing"
    try:
        times = [datetime.fromisoformat(text) for text in (session.started, session.finished) if text is not None]
    except ValueError:
        return "a time cannot be read"
    if any(time.tzinfo is None for time in times):
        return "a time has no zone"
    return "it ended before it began" if times != sorted(times) else ""


def _episodes(run: Run) -> str:
    """The first episode that contradicts its turns, or nothing. Failed ones that were played again count too."""
    line = 0
    try:
        for line, episode in read_journal(run.folder / EPISODES):
            for problem in contradictions(episode, run.config):
                return f"line {line} of {EPISODES}: {problem}"
    except OverflowError:
        return f"line {line + 1} of {EPISODES}: it holds a number that is too large"
    return ""


def _summary(run: Run) -> str:
    """Where the summary says something else than the episodes do, or nothing."""
    path = run.folder / SUMMARY
    try:
        said = json.loads(read_file(path))
    except FileNotFoundError:
        return f"{SUMMARY} is missing: `holdergym eval --resume --out {run.folder}` makes it again"
    except (OSError, ValueError, RecursionError):
        return f"{SUMMARY} cannot be read: `holdergym eval --resume --out {run.folder}` makes it again"
    different = _difference(said, json.loads(summary_text(run)), "")
    return f"{SUMMARY} does not follow from the episodes: {different}" if different else ""


def _difference(said: object, true: object, where: str) -> str:
    """The first place in which two JSON values differ, or nothing."""
    if isinstance(said, Mapping) and isinstance(true, Mapping):
        for key in [*true, *(key for key in said if key not in true)]:
            place = f"{where}.{key}" if where else str(key)
            if key not in said or key not in true:
                return f"{place[:80]} is {'missing' if key not in said else 'not a part of it'}"
            found = _difference(said[key], true[key], place)
            if found:
                return found
        return ""
    if _same(said, true):
        return ""
    return f"{where[:80]} is {_shown(said)}, and the episodes give {_shown(true)}"


def _same(said: object, true: object) -> bool:
    if isinstance(said, float) and isinstance(true, float):
        # The last digits of a mean may depend on the version of a library.
        return math.isclose(said, true, rel_tol=1e-9, abs_tol=1e-12)
    return type(said) is type(true) and said == true


def _shown(value: object) -> str:
    return json.dumps(value)[:60]
