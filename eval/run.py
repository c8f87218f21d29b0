"""A run folder as it is read: everything checked, nothing changed."""

from dataclasses import dataclass
from pathlib import Path

from ..envs.errors import ConfigError
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
            raise RunError(f"{folder} is not a run folder: it has no manifest.json")
        what = "is not a run folder: give the folder that holds manifest.json" if folder.exists() else "does not exist"
        raise RunError(f"{folder} {what}")
    manifest = read_manifest(folder / MANIFEST)
    config = read_config(folder)
    if config.sha256 != manifest.config_sha256:
        raise RunError(f"{folder / CONFIG} was changed after the run began: its sha256 differs from the manifest's")
    panel = manifest.panel.panel()
    found = read_results(folder, Schedule(panel, config.samples, config.seed, manifest.agent_fingerprint))
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
