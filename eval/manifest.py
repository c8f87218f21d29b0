"""``manifest.json``: what a run is made on, and the sessions in which it was made."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ..envs.errors import HolderGymError
from ..envs.files import read_file
from ..envs.panel import Panel
from ..envs.task import Task
from .errors import RunError
from .provenance import Session

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """A task as the panel hash sees it."""

    id: str
    type: str
    digest: str


@dataclass(frozen=True, slots=True)
class PanelEntry:
    """The panel, with all its tasks, so that a run folder can be checked and read without the games."""

    name: str
    label: str
    sha256: str
    size: int
    full_size: int
    tasks: tuple[TaskEntry, ...]
    draws: tuple[int, ...] | None = None
    drawn_from: int | None = None

    @classmethod
    def of(cls, panel: Panel) -> "PanelEntry":
        """Records a panel."""
        tasks = tuple(TaskEntry(task.id, task.type, task.digest) for task in panel.tasks)
        return cls(
            panel.name, panel.label, panel.sha256, len(tasks), panel.full_size, tasks, panel.draws, panel.drawn_from
        )

    def panel(self) -> Panel:
        """Rebuilds the panel.

        Raises:
            ValueError: If the entry contradicts itself: the tasks do not give the recorded hash or size.
        """
        tasks = tuple(Task(entry.id, entry.type, entry.digest) for entry in self.tasks)
        # The first manifests of drawn panels do not say what was drawn from: it was the whole panel.
        entry = replace(self, drawn_from=self.full_size) if self.draws and self.drawn_from is None else self
        panel = Panel(self.name, tasks, self.full_size, self.draws, entry.drawn_from)
        if PanelEntry.of(panel) != entry:
            raise ValueError("its tasks do not give its sha256, size or label")
        return panel


@dataclass(frozen=True, slots=True)
class Manifest:
    """The whole file.

    Attributes:
        schema: Version of this form.
        config_sha256: Hash of ``config.toml``.
        dialect: Wording of the games, ``0.4`` or ``0.3``; several, joined by ``+``, if the panel mixes them.
        agent: Short name of the agent.
        agent_fingerprint: The name with every setting that can change an action.
        sessions: Starts of this run, oldest first.
        panel: What is played.
    """

    schema: int
    config_sha256: str
    dialect: str
    agent: str
    agent_fingerprint: str
    sessions: tuple[Session, ...]
    panel: PanelEntry

    def started_again(self, session: Session) -> "Manifest":
        """Adds a session."""
        return replace(self, sessions=(*self.sessions, session))

    def finished(self) -> "Manifest":
        """Marks the last session as finished now."""
        return replace(self, sessions=(*self.sessions[:-1], self.sessions[-1].end()))

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps(asdict(self), indent=2) + "\n"


def read_manifest(path: Path) -> Manifest:
    """Reads a manifest and checks that its panel agrees with its hash.

    Raises:
        RunError: If the file is missing, damaged, or from a later version of holdergym.
    """
    try:
        text = read_file(path)
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        raise RunError(f"{path} is damaged: it is not JSON") from None
    schema = record.get("schema") if isinstance(record, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise RunError(
            f"{path} has schema version {schema} and this version of holdergym reads up to {SCHEMA}: upgrade holdergym"
        )
    try:
        manifest = TypeAdapter(Manifest).validate_json(text, strict=True)
        manifest.panel.panel()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RunError(f"{path} is damaged: {where or 'the file'}: {first['msg']}") from None
    except (ValueError, HolderGymError) as error:
        raise RunError(f"{path} is damaged or was changed: panel: {error}") from None
    return manifest
