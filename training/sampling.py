"""Stage 1: which tasks a round draws."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Literal, NamedTuple

from ..envs.panel import Panel
from ..envs.task import Task
from .advantages import State


class DrawInputs(NamedTuple):
    """What a sampler may look at.

    Attributes:
        panel: The tasks.
        size: Tasks of the round.
        round: Number of the round, from 1.
        seed: Seed of the run.
        further: Tasks that are to follow these, if the round should want more.
    """

    panel: Panel
    size: int
    round: int
    seed: int
    further: int = 0


class GroupResult(NamedTuple):
    """How a group did that the policy itself has played.

    Attributes:
        task_id: Its task.
        accuracy: Mean verifier reward of the policy's own episodes, in [0, 1].
        collapsed: Whether the verifier rewards of the whole group are all alike.
    """

    task_id: str
    accuracy: float
    collapsed: bool


class Remembered(NamedTuple):
    """What a sampler remembers for the next round, and what the log should show."""

    state: State
    metrics: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformSampler:
    """The panel is gone through again and again, each time in another order.

    What a round may want beside is drawn from the rest of the panel, so that no task is passed over for it: how many
    of these are played is not known beforehand [X].
    """

    name: Literal["uniform"] = "uniform"

    def __call__(self, inputs: DrawInputs, state: State) -> list[Task]:
        """The tasks of a round, and further ones."""
        drawn = tasks_of_round(inputs.panel, inputs.size, inputs.round, inputs.seed)
        rest = list(inputs.panel.tasks)
        random.Random(f"further tasks, seed {inputs.seed}, round {inputs.round}").shuffle(rest)
        known = {task.id for task in drawn}
        rest.sort(key=lambda task: task.id in known)  # those come last, where the panel is small
        return [*drawn, *islice(cycle(rest), inputs.further)]

    def remember(self, results: Sequence[GroupResult], state: State) -> Remembered:
        """Nothing hangs on how the groups did."""
        return Remembered(state)


def tasks_of_round(panel: Panel, count: int, round: int, seed: int) -> list[Task]:
    """The tasks that a round draws: the panel is gone through again and again, each time in another order.

    It is a function of the round alone, so a resumed run draws what it would have drawn.

    Args:
        panel: The tasks.
        count: Tasks a round.
        round: Number of the round, from 1.
        seed: Seed of the run.
    """
    first = (round - 1) * count
    return [task for task in _take(_endless(panel, seed, first // len(panel.tasks)), first % len(panel.tasks), count)]


def _endless(panel: Panel, seed: int, epoch: int) -> Iterator[Task]:
    while True:
        order = list(panel.tasks)
        random.Random(f"order of tasks, seed {seed}, epoch {epoch}").shuffle(order)
        yield from order
        epoch += 1


def _take(tasks: Iterator[Task], skip: int, count: int) -> list[Task]:
    for _ in range(skip):
        next(tasks)
    return [next(tasks) for _ in range(count)]
