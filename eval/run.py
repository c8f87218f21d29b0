"""A run folder as it is read: everything checked, nothing changed."""

import json
from dataclasses import dataclass
from pathlib import Path

from ..envs.errors import ConfigError
from ..envs.files import hint_inside, read_file
from ..envs.panel import Panel
from ..envs.settings import file_layer, resolve
from .collector import collector_paused
from .config import EvalConfig
from .errors import RunError
from .journal import torn_bytes
from .manifest import Manifest, read_manifest
from .quick_reading import read_played
from .results import Collected, Result, Schedule, collect

CONFIG, MANIFEST, EPISODES, SUMMARY = "config.toml", "manifest.json", "episodes.jsonl", "summary.json"
PROMPT, CHAT_TEMPLATE = "prompt.jinja", "chat_template.jinja"
"""Copies of what the settings name, where they name files."""


@dataclass(frozen=True)
class Run:
    """What a run folder holds.

    Attributes:
        folder: Where it is.
        config: The settings, without their circumstances.
        manifest: What it was made on.
        panel: What it plays.
        results: The episodes that count, in the order of the panel.
        replayed: Failed episodes that were played again.
        torn: Bytes of a half-written last line, which do not count.
    """

    folder: Path
    config: EvalConfig
    manifest: Manifest
    panel: Panel
    results: tuple[Result, ...]
    replayed: int
    torn: int

    @property
    def expected(self) -> int:
        """Number of episodes of the whole run."""
        return self.panel.episodes * self.config.samples

    @property
    def complete(self) -> bool:
        """Whether every episode was played and none failed."""
        return sum(result.outcome.finished for result in self.results) == self.expected


@collector_paused()
def read_run(folder: Path) -> Run:
    """Reads a run folder, finished or not.

    Args:
        folder: The folder, or one of its four files.

    Raises:
        RunError: If it is not a run folder, is damaged, or its parts contradict each other.
    """
    folder = folder_of(folder)
    if not (folder / MANIFEST).is_file():
        if folder.is_dir():
            raise RunError(f"{folder} is not a run folder: it has no {MANIFEST}{hint_inside(folder, MANIFEST)}")
        what = "is not a run folder: give the folder that holds manifest.json" if folder.exists() else "does not exist"
        raise RunError(f"{folder} {what}")
    manifest = read_manifest(folder / MANIFEST)
    config = read_config(folder)
    if config.sha256 != manifest.config_sha256:
        raise RunError(f"{folder / CONFIG} was changed after the run began: its sha256 differs from the manifest's")
    panel = manifest.panel.panel()
    found = read_results(folder, Schedule(panel, config.samples, config.seed, manifest.agent_fingerprint))
    refuse_loss(folder, manifest, found)
    return Run(folder, config, manifest, panel, found.results, found.replayed, torn_bytes(folder / EPISODES))


def folder_of(path: Path) -> Path:
    """The run folder that a path means: the folder itself, or the one that a file of a run stands in."""
    means_folder = path.name in (CONFIG, MANIFEST, EPISODES, SUMMARY) and path.is_file()
    return path.parent if means_folder else path


def read_config(folder: Path) -> EvalConfig:
    """Reads the settings of a run folder.

    Raises:
        RunError: If they cannot be read.
    """
    try:
        return resolve(EvalConfig, [file_layer(folder / CONFIG)])
    except ConfigError as error:
        raise RunError(f"the run folder {folder} is damaged: {error}") from None


def read_results(folder: Path, schedule: Schedule) -> Collected:
    """Reads the episodes of a run folder.

    Raises:
        RunError: If a line cannot be read, is there twice or does not belong to the schedule.
    """
    path = folder / EPISODES
    return collect(schedule, read_played(path), path)


def refuse_loss(folder: Path, manifest: Manifest, found: Collected) -> None:
    """Refuses a run that has lost all its episodes: it would read as one that was never played, and be played again.

    Raises:
        RunError: If there is no episode, and a session of the run came to its end with one.
    """
    path = folder / EPISODES
    ended = any(session.finished for session in manifest.sessions)
    if not found.results and ended and not path.exists():
        raise RunError(
            f"{folder} is damaged: {MANIFEST} says that the run was finished, and {EPISODES} is gone: restore it, or "
            "choose another --out to play the run again"
        )
    if not found.results and _claims_episodes(folder / SUMMARY):
        raise RunError(
            f"{folder} is damaged: {SUMMARY} was made of episodes, and {EPISODES} holds none: restore it, or choose "
            "another --out to play the run again"
        )


def _claims_episodes(path: Path) -> bool:
    """Whether a summary tells of finished episodes. It is made anew whenever a run ends, so it need not be sound."""
    try:
        record = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError):
        return False
    overall = record.get("overall") if isinstance(record, dict) else None
    finished = overall.get("finished") if isinstance(overall, dict) else None
    return isinstance(finished, int) and finished > 0
