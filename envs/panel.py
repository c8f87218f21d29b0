"""A panel: a named, sorted list of tasks with a hash, every task once."""

import hashlib
import random
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
        draws: How often each task was drawn, for a panel that was drawn at random; None for one that was not.
        drawn_from: Number of tasks that were drawn among; None for a panel that was not drawn.
    """

    name: str
    tasks: tuple[Task, ...]
    full_size: int
    draws: tuple[int, ...] | None = None
    drawn_from: int | None = None

    def __post_init__(self) -> None:
        ids = [task.id for task in self.tasks]
        if not ids:
            raise HolderGymError(f"panel {self.name!r} is empty: nothing would be measured")
        if ids != sorted(ids):
            raise ValueError(f"panel {self.name!r} is not sorted by task id: build it with Panel.of")
        doubled = [task_id for task_id, count in Counter(ids).items() if count > 1]
        if doubled:
            raise HolderGymError(f"panel {self.name!r} holds task {doubled[0]!r} more than once")
        if self.draws is not None and (len(self.draws) != len(ids) or min(self.draws) < 1):
            raise ValueError(f"panel {self.name!r} needs a positive number of draws for each of its {len(ids)} tasks")

    @classmethod
    def of(cls, name: str, tasks: list[Task]) -> "Panel":
        """Sorts the tasks by id and makes the whole panel of them."""
        return cls(name, tuple(sorted(tasks, key=lambda task: task.id)), len(tasks))

    @cached_property
    def sha256(self) -> str:
        """Hash over the ids and digests, and the draws: equal on every machine that has the same games."""
        lines = "".join(f"{task.id}\t{task.digest}\n" for task in self.tasks)
        if self.draws is not None:
            lines += "".join(f"{count}\n" for count in self.draws)
        return hashlib.sha256(lines.encode()).hexdigest()

    @property
    def episodes(self) -> int:
        """Number of episodes of one pass: the tasks, or the draws."""
        return len(self.tasks) if self.draws is None else sum(self.draws)

    @property
    def partial(self) -> bool:
        """Whether tasks were left out."""
        return len(self.tasks) < self.full_size

    @property
    def label(self) -> str:
        """The name as tables show it: ``valid_unseen``, ``valid_unseen[6 of 134]``, or for one that was drawn
        ``valid_seen[128 draws of 140, 91 different]``.
        """
        if self.draws is not None:
            part = "" if self.drawn_from == self.full_size else f" of the {self.full_size}"
            return f"{self.name}[{self.episodes} draws of {self.drawn_from}{part}, {len(self.tasks)} different]"
        return f"{self.name}[{len(self.tasks)} of {self.full_size}]" if self.partial else self.name

    def limit(self, count: int) -> "Panel":
        """Keeps ``count`` tasks, spread evenly over the list sorted by type and id.

        Each type keeps its share, to less than one task. A type stays in for sure if it has at least
        ``len(tasks) / count`` tasks: with 8 of ``valid_unseen`` all six do, with fewer than six some cannot.

        Raises:
            HolderGymError: If ``count`` is not positive.
        """
        if count < 1:
            raise HolderGymError(f"a panel cannot be limited to {count} tasks: give a positive number")
        size = len(self.tasks)
        if count >= size:
            return self
        # By type first: where types take turns in the ids, an even step through the ids would meet one type only.
        by_type = sorted(self.tasks, key=lambda task: (task.type, task.id))
        kept = [by_type[(2 * i + 1) * size // (2 * count)] for i in range(count)]
        return Panel(self.name, tuple(sorted(kept, key=lambda task: task.id)), self.full_size)

    def of_type(self, task_type: str) -> "Panel":
        """Keeps the tasks of one type.

        Raises:
            UnknownNameError: If the panel has none of this type.
        """
        kept = tuple(task for task in self.tasks if task.type == task_type)
        if not kept:
            raise UnknownNameError(f"task type of panel {self.name!r}:", task_type, {t.type for t in self.tasks})
        return Panel(self.name, kept, self.full_size)

    def draw(self, count: int, seed: int) -> "Panel":
        """Draws ``count`` times among the tasks, all with the same chance, so that some come several times.

        Raises:
            HolderGymError: If ``count`` is not positive.
        """
        if count < 1:
            raise HolderGymError(f"{count} tasks cannot be drawn from a panel: give a positive number")
        drawn = Counter(random.Random(f"draw of tasks, seed {seed}").choices(range(len(self.tasks)), k=count))
        numbers = sorted(drawn)
        return Panel(
            self.name,
            tuple(self.tasks[number] for number in numbers),
            self.full_size,
            tuple(drawn[number] for number in numbers),
            len(self.tasks),
        )

    def draws_of(self, number: int) -> int:
        """How often the task with this number was drawn; 1 in a panel that was not drawn."""
        return 1 if self.draws is None else self.draws[number]

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
