"""An agent that repeats recorded commands: those of an earlier run, or of a hand-written file."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from ..envs.errors import HolderGymError, UnknownNameError
from ..envs.files import read_file
from ..envs.panel import Panel
from .agent import Agent, AgentError, Conversation, Response
from .trajectory import Outcome

_EPISODES = "episodes.jsonl"
_FAILED = frozenset(outcome.value for outcome in Outcome if not outcome.finished)


class ReplayAgent(Agent):
    """Repeats recorded commands.

    Args:
        path: A run folder, its ``episodes.jsonl``, or a JSONL file with a line per task such as
            ``{"task_id": "alfworld/...", "actions": ["go to desk 1"]}``. A line may give ``"sample": 1`` for
            the second time that a task is played; without it the line serves all samples.

    Raises:
        HolderGymError: If the file cannot be read or a line is not a recording; the message names the line.
    """

    name = "replay"

    def __init__(self, path: Path) -> None:
        self._path = path / _EPISODES if path.is_dir() else path
        text = _read(self._path)
        self._actions = _recordings(self._path, text)
        self._digest = hashlib.sha256(text).hexdigest()

    @property
    def fingerprint(self) -> str:
        """Equal for equal files, wherever they are."""
        return f"replay(sha256={self._digest[:16]})"

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order.

        Raises:
            AgentError: If a recording ends before the episode does.
            HolderGymError: If a task or sample was not recorded.
        """
        return [Response(self._next(conversation)) for conversation in conversations]

    def require(self, panel: Panel, samples: int) -> None:
        """Makes sure that every task and sample was recorded, before a run begins.

        Raises:
            HolderGymError: If one was not; the message names it.
        """
        for task in panel.tasks:
            for sample in range(samples):
                self._recorded(task.id, sample)

    def _next(self, conversation: Conversation) -> str:
        task_id = conversation.task.id
        actions = self._recorded(task_id, conversation.sample)
        if conversation.turn >= len(actions):
            raise AgentError(f"task {task_id}: the recording ends after {len(actions)} commands")
        return actions[conversation.turn]

    def _recorded(self, task_id: str, sample: int) -> tuple[str, ...]:
        actions = self._actions.get((task_id, sample), self._actions.get((task_id, None)))
        if actions is None:
            recorded = {task for task, _ in self._actions}
            if task_id in recorded:
                raise HolderGymError(f"{self._path}: sample {sample} of task {task_id!r} was not recorded")
            raise UnknownNameError(f"task in {self._path}:", task_id, recorded)
        return actions


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except FileNotFoundError:
        raise HolderGymError(f"{path}: there is no such recording; give a run folder or a JSONL file") from None
    except OSError as error:
        raise HolderGymError(f"{path}: cannot be read ({error.strerror})") from None


def _recordings(path: Path, text: bytes) -> dict[tuple[str, int | None], tuple[str, ...]]:
    """The commands of each task and sample. An episode that failed in the run gives way to a later one."""
    found: dict[tuple[str, int | None], tuple[str, ...]] = {}
    failed: set[tuple[str, int | None]] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise HolderGymError(f"{where}: is not JSON; finish the run with --resume, or mend the line") from None
        key, actions = _recording(record, where)
        if key in found and key not in failed:
            raise HolderGymError(f"{where}: task {key[0]!r} is recorded twice; remove one of the lines")
        found[key] = actions
        if record.get("outcome") in _FAILED:
            failed.add(key)
        else:
            failed.discard(key)
    if not found:
        raise HolderGymError(f"{path}: holds no recording; give a run folder or a JSONL file")
    return found


def _recording(record: object, where: str) -> tuple[tuple[str, int | None], tuple[str, ...]]:
    if not isinstance(record, dict) or not isinstance(record.get("task_id"), str):
        raise HolderGymError(f'{where}: has no \'task_id\'; write {{"task_id": ..., "actions": [...]}}')
    turns = record.get("turns")
    actions = [t.get("action") if isinstance(t, dict) else None for t in turns] if isinstance(turns, list) else None
    actions = record.get("actions", actions)
    if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
        raise HolderGymError(f"{where}: 'actions' (or the turns of a run) must be a list of commands")
    sample = record.get("sample")
    if sample is not None and type(sample) is not int:
        raise HolderGymError(f"{where}: 'sample' must be a whole number, not {sample!r:.40}")
    return (record["task_id"], sample), tuple(actions)
