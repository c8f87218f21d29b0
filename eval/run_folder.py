"""A run folder as it is written: one process at a time, from its first to its last episode."""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from ..agents.registry import ReplaySettings
from ..envs.errors import ConfigError
from ..envs.files import read_file, replace_file
from ..envs.folder_lock import FolderLock, FolderLockError
from ..envs.panel import Panel
from ..envs.settings import first_difference
from ..envs.wording import counted
from .config import CIRCUMSTANCES, EvalConfig
from .episode import Episode
from .errors import RunError
from .journal import Journal, repair_journal
from .manifest import SCHEMA, Manifest, PanelEntry, read_manifest
from .provenance import Session
from .results import Schedule, Slot
from .run import (
    CHAT_TEMPLATE,
    CONFIG,
    EPISODES,
    MANIFEST,
    PROMPT,
    SUMMARY,
    Run,
    read_config,
    read_results,
    read_run,
    refuse_loss,
)
from .summary import summary_text

_WRITTEN = (CONFIG, MANIFEST, SUMMARY, PROMPT, CHAT_TEMPLATE)
_HALF_WRITTEN = re.compile(rf"\.({'|'.join(map(re.escape, _WRITTEN))})(\.[0-9a-f]+)?\.new")


MOST_EPISODES = 1_000_000
"""They take some gigabytes on the disk and in the memory of whoever reads them."""


@dataclass(frozen=True)
class Plan:
    """What is to be played, before anything is written.

    Attributes:
        config: The resolved settings.
        panel: The tasks.
        dialect: Wording of the games.
        agent: Short name of the agent.
        agent_fingerprint: The name with every setting that can change an action.
        texts: What the prompt files say that the agent was made of, by the names of their copies.
    """

    config: EvalConfig
    panel: Panel
    dialect: str
    agent: str
    agent_fingerprint: str
    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        episodes = self.panel.episodes * self.config.samples
        if episodes > MOST_EPISODES:
            raise ConfigError(
                f"{counted(episodes, 'episode')} are more than a run folder can hold ({MOST_EPISODES:,}): give fewer "
                "--samples, a --limit or a --task-type"
            )

    @property
    def schedule(self) -> Schedule:
        """The slots to be played."""
        return Schedule(self.panel, self.config.samples, self.config.seed, self.agent_fingerprint)


class RunFolder:
    """A run folder, locked and opened for appending. Use it in a ``with`` statement.

    Attributes:
        path: The folder.
        finished: Slots whose episode is there and has not failed; they are not played again.
    """

    def __init__(
        self,
        path: Path,
        plan: Plan,
        session: Session,
        *,
        resume: bool = False,
        say: Callable[[str], None] = lambda message: None,
    ) -> None:
        """Makes a new folder, or opens an interrupted one to go on.

        Args:
            path: The folder.
            plan: What is to be played.
            session: Who is starting, for the manifest.
            resume: Whether to go on with what the folder holds. Where it holds nothing yet, a new run begins.
            say: Told in one line what was repaired or found.

        Raises:
            RunError: If the folder holds a run and ``resume`` is false, holds a run with other settings, is
                damaged, is in use, or cannot be written.
        """
        self.path = path
        self._plan = plan
        self._session_counts = True
        agent = plan.config.agent
        if isinstance(agent, ReplaySettings) and agent.path is not None:
            session = replace(session, recording=str(agent.path.absolute()))
        with ExitStack() as opened:
            _make_folder(path, plan.texts)
            lock = _locked(path)
            opened.callback(lock.release)
            _remove_left_over(path)
            if (path / MANIFEST).exists():
                self.finished = self._continue(session, resume, say)
            else:
                self.finished = self._begin(session)
            self._journal = opened.enter_context(Journal(path / EPISODES))
            self._opened = opened.pop_all()

    def append(self, episode: Episode) -> None:
        """Adds a finished episode.

        Raises:
            RunError: If it cannot be written; all episodes before it are safe.
        """
        self._journal.append(episode)

    def summarise(self) -> Run:
        """Writes ``summary.json`` from the other files, marks the session as finished, and reads it all.

        Raises:
            RunError: If a file cannot be read or written.
        """
        self._journal.sync()
        run = read_run(self.path)
        self._write(SUMMARY, summary_text(run))
        if self._session_counts:
            self._write_manifest(self._manifest.finished())
        return run

    def close(self) -> None:
        """Closes the files and lets the next process in."""
        self._opened.close()

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, session: Session) -> frozenset[Slot]:
        """Sets up a new run. The manifest comes last: a folder without one has no episodes."""
        plan = self._plan
        self._write(CONFIG, plan.config.to_toml())
        for name, text in plan.texts.items():
            self._write(name, text)
        self._write_manifest(
            Manifest(
                schema=SCHEMA,
                config_sha256=plan.config.sha256,
                dialect=plan.dialect,
                agent=plan.agent,
                agent_fingerprint=plan.agent_fingerprint,
                sessions=(session,),
                panel=PanelEntry.of(plan.panel),
            )
        )
        return frozenset()

    def _continue(self, session: Session, resume: bool, say: Callable[[str], None]) -> frozenset[Slot]:
        """Checks that the folder holds a part of this very run, and repairs a torn last line."""
        self._manifest = read_manifest(self.path / MANIFEST)
        if not resume:
            _refuse_to_overwrite(self.path)
        _refuse_difference(self.path, self._manifest, self._plan)
        for name, text in self._plan.texts.items():
            if not _holds(self.path / name, text):
                self._write(name, text)  # a run that was begun before these were kept
        torn = repair_journal(self.path / EPISODES)
        if torn:
            say(f"{self.path / EPISODES}: cut off a half-written last line of {torn} bytes; it is played again")
        found = read_results(self.path, self._plan.schedule)
        refuse_loss(self.path, self._manifest, found)
        results = found.results
        finished = frozenset(Slot(r.task_id, r.sample) for r in results if r.outcome.finished)
        total = len(self._plan.schedule.slots())
        failed = len(results) - len(finished)
        again = f", {counted(failed, 'failed one is', 'failed ones are')} played again" if failed else ""
        say(f"{self.path}: {len(finished)} of {total} episodes are there{again}")
        # A process that finds nothing to play starts no session, and must not end another one's.
        self._session_counts = len(finished) < total
        if self._session_counts:
            self._write_manifest(self._manifest.started_again(session))
        return finished

    def _write_manifest(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._write(MANIFEST, manifest.to_json())

    def _write(self, name: str, text: str) -> None:
        path = self.path / name
        try:
            replace_file(path, text.encode())
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror}") from None


def _locked(path: Path) -> FolderLock:
    try:
        return FolderLock(path)
    except FolderLockError as error:
        raise RunError(str(error)) from None


def _holds(path: Path, text: str) -> bool:
    """Whether a copy is there.

    Raises:
        RunError: If it cannot be read or says something else.
    """
    try:
        found = read_file(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from None
    if found != text.encode():
        raise RunError(
            f"{path} was changed after the run began: it is no longer what the agent reads; put it back, or remove it "
            "to have it written again"
        )
    return True


def _make_folder(path: Path, texts: Mapping[str, str]) -> None:
    """Makes the folder; one that holds other files than a run's is not touched."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        present = {entry.name for entry in path.iterdir()}
    except OSError as error:
        raise RunError(f"cannot make the run folder {path}: {error.strerror}") from None
    if MANIFEST in present:
        return
    # A process that was killed in the first moments may leave these, and half-written ones.
    copies = {name for name in texts if name in present and _is(path / name, texts[name])}
    others = {name for name in present - {".lock", CONFIG} - copies if not _HALF_WRITTEN.fullmatch(name)}
    if others:
        raise RunError(f"{path} is not empty (it holds {min(others)!r}) and is not a run folder: choose another --out")


def _is(path: Path, text: str) -> bool:
    """Whether a file holds this text; a user's own file of that name does not, and is never written over."""
    try:
        return read_file(path) == text.encode()
    except OSError:
        return False


def _remove_left_over(path: Path) -> None:
    """Removes the half-written files of a process that was killed. The lock says that nobody is writing them."""
    for name in os.listdir(path):
        if _HALF_WRITTEN.fullmatch(name):
            with suppress(OSError):
                (path / name).unlink()


def _refuse_to_overwrite(path: Path) -> None:
    run = read_run(path)
    done = sum(result.outcome.finished for result in run.results)
    if run.complete:
        raise RunError(
            f"{path} already holds a finished run of {counted(done, 'episode')}: choose another --out, or show it with "
            f"`holdergym leaderboard {path}`"
        )
    raise RunError(
        f"{path} holds an unfinished run ({done} of {run.expected} episodes): add --resume to go on, "
        "or choose another --out"
    )


def _refuse_difference(path: Path, manifest: Manifest, plan: Plan) -> None:
    """Refuses to go on with a run as another one."""
    saved = read_config(path)
    changed = first_difference(saved, plan.config, leave_out=CIRCUMSTANCES)
    if changed:
        raise RunError(
            f"cannot resume {path}: the setting {changed.key!r} is {_shown(changed.first)} there and "
            f"{_shown(changed.second)} here; leave it out, or choose another --out"
        )
    if manifest.panel.sha256 != plan.panel.sha256:
        raise RunError(
            f"cannot resume {path}: the games of panel {plan.panel.label!r} are not those it began with "
            f"(sha256 {manifest.panel.sha256[:12]} there, {plan.panel.sha256[:12]} here): give the same --data"
        )
    if manifest.agent_fingerprint != plan.agent_fingerprint:
        raise RunError(
            f"cannot resume {path}: it was played by {manifest.agent_fingerprint!r}, and this agent is "
            f"{plan.agent_fingerprint!r}: choose another --out"
        )


def _shown(value: object) -> str:
    return "not set" if value is None else repr(value)
