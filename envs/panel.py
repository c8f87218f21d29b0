"""A panel: a named, sorted list of tasks with a hash, every task once."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from .errors import HolderGymError, UnknownNameError
from .task import Task


@dataclass(frozen=True)
class Panel:
    """The tasks that a number is measured on.

    Attributes:
        name: For example ``valid_unseen``.
        tasks: Sorted by id, each once.
        full_size: Number of tasks of the panel that this one was cut from; equal to ``len(tasks)`` when
            nothing was cut. A cut panel says so in ``label`` and in every number made from it.
    """

    name: str
    tasks: tuple[Task, ...]
    full_size: int

    def __post_init__(self) -> None:
        ids = [task.id for task in self.tasks]
        if not ids:
            raise HolderGymError(f"panel {self.name!r} is empty: nothing would be measured")
        if ids != sorted(ids):
            raise ValueError(f"panel {self.name!r} is not sorted by task id: build it with Panel.of")
        doubled = [task_id for task_id, count in Counter(ids).items() if count > 1]
        if doubled:
            raise HolderGymError(f"panel {self.name!r} holds task {doubled[0]!r} more than once")

    @classmethod
    def of(cls, name: str, tasks: list[Task]) -> "Panel":
        """Sorts the tasks by id and makes the whole panel of them."""
        return cls(name, tuple(sorted(tasks, key=lambda task: task.id)), len(tasks))

    @cached_property
    def sha256(self) -> str:
        """Hash over the ids and digests: equal on every machine that has the same games."""
        lines = "".join(f"{task.id}\t{task.digest}\n" for task in self.tasks)
        return hashlib.sha256(lines.encode()).hexdigest()

    @property
    def partial(self) -> bool:
        """Whether tasks were left out."""
        return len(self.tasks) < self.full_size

    @property
    def label(self) -> str:
        """The name as tables show it: ``valid_unseen`` or ``valid_unseen[6 of 134]``."""
        return f"{self.name}[{len(self.tasks)} of {self.full_size}]" if self.partial else self.name

    def limit(self, count: int) -> "Panel":
        """Keeps ``count`` tasks, spread evenly over the sorted list so that all task types stay in.

        Raises:
            HolderGymError: If ``count`` is not positive.
        """
        if count < 1:
            raise HolderGymError(f"a panel cannot be limited to {count} tasks: give a positive number")
        size = len(self.tasks)
        if count >= size:
            return self
        kept = tuple(self.tasks[(2 * i + 1) * size // (2 * count)] for i in range(count))
        return Panel(self.name, kept, self.full_size)

    def of_type(self, task_type: str) -> "Panel":
        """Keeps the tasks of one type.

        Raises:
            UnknownNameError: If the panel has none of this type.
        """
        kept = tuple(task for task in self.tasks if task.type == task_type)
        if not kept:
            raise UnknownNameError(f"task type of panel {self.name!r}:", task_type, {t.type for t in self.tasks})
        return Panel(self.name, kept, self.full_size)

    def task(self, task_id: str) -> Task:
        """Finds a task by id.

        Raises:
            UnknownNameError: If the panel has no such task.
        """
        try:
            return self._by_id[task_id]
        except KeyError:
            raise UnknownNameError(f"task of panel {self.name!r}:", task_id, self._by_id) from None

    @cached_property
    def _by_id(self) -> dict[str, Task]:
        return {task.id: task for task in self.tasks}
