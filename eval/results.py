"""Which episode counts for which task and sample, and what the metrics need to know of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..agents.agent import episode_seed
from ..agents.trajectory import Outcome
from ..envs.panel import Panel
from .episode import Episode
from .errors import RunError
from .journal import NumberedEpisode


@dataclass(frozen=True, slots=True)
class Result:
    """An episode without its texts.

    Attributes:
        task_id: The task.
        task_type: Its type.
        sample: 0, 1, ... when a task is played several times.
        outcome: How it ended.
        steps: Number of commands given.
        invalid_commands: How many of them were not among the admissible ones.
        shortest: Length of the shortest plan, or None where it is not known.
        goal_condition_success_rate: Share of the goal's conditions that held at the end.
    """

    task_id: str
    task_type: str
    sample: int
    outcome: Outcome
    steps: int
    invalid_commands: int
    shortest: int | None
    goal_condition_success_rate: float

    @classmethod
    def of(cls, episode: Episode) -> "Result":
        """Takes from an episode what the metrics need."""
        played = episode.trajectory
        return cls(
            played.task_id,
            played.task_type,
            played.sample,
            played.outcome,
            len(played.turns),
            sum(not turn.valid for turn in played.turns),
            episode.shortest,
            played.goal_condition_success_rate,
        )


class Slot(NamedTuple):
    """A task and a sample: what is played exactly once."""

    task_id: str
    sample: int


class Schedule(NamedTuple):
    """What a run has to play: every slot, in panel order, with the seed and agent that belong to it."""

    panel: Panel
    samples: int
    seed: int
    agent_fingerprint: str

    def slots(self) -> list[Slot]:
        """All slots in the order in which summaries list them. A task that was drawn twice has twice the samples."""
        return [
            Slot(task.id, sample)
            for number, task in enumerate(self.panel.tasks)
            for sample in range(self.samples * self.panel.draws_of(number))
        ]

    def samples_of(self) -> dict[str, int]:
        """How often each task is to be played, by its id."""
        return {task.id: self.samples * self.panel.draws_of(number) for number, task in enumerate(self.panel.tasks)}


class Collected(NamedTuple):
    """The results that count, in the order of the schedule, and how many failed episodes were played again."""

    results: tuple[Result, ...]
    replayed: int


def collect(schedule: Schedule, episodes: Iterable[NumberedEpisode], path: Path) -> Collected:
    """Sorts out a run's episodes.

    An episode that ended as ``error`` or ``timeout`` is superseded by a later one of the same slot. Anything
    else that is there twice would be counted twice, so it is refused.

    Args:
        schedule: What was to be played.
        episodes: The lines of the journal.
        path: The journal, for messages.

    Raises:
        RunError: If a line belongs to another panel, agent or seed, or repeats a finished episode.
    """
    types = {task.id: task.type for task in schedule.panel.tasks}
    samples = schedule.samples_of()
    by_slot: dict[Slot, tuple[int, Result]] = {}
    replayed = 0
    for line, episode in episodes:
        played = episode.trajectory
        slot = Slot(played.task_id, played.sample)
        problem = _mismatch(schedule, types, samples, episode)
        if slot in by_slot and not problem:
            earlier, result = by_slot[slot]
            if result.outcome.finished:
                problem = f"task {slot.task_id!r}, sample {slot.sample} is already in line {earlier}"
            replayed += 1
        if problem:
            raise RunError(f"line {line} of {path} does not belong to this run: {problem}")
        by_slot[slot] = line, Result.of(episode)
    results = tuple(by_slot[slot][1] for slot in schedule.slots() if slot in by_slot)
    return Collected(results, replayed)


def _mismatch(schedule: Schedule, types: dict[str, str], samples: dict[str, int], episode: Episode) -> str:
    """Says why an episode cannot be one of the schedule's, or nothing."""
    played = episode.trajectory
    if played.task_id not in types:
        return f"task {played.task_id!r} is not in panel {schedule.panel.label!r}"
    if played.task_type != types[played.task_id]:
        return f"task {played.task_id!r} is of type {types[played.task_id]!r}, not {played.task_type!r}"
    if played.sample >= samples[played.task_id]:
        return f"sample {played.sample} of task {played.task_id!r}, where {samples[played.task_id]} were asked for"
    if played.seed != episode_seed(schedule.seed, played.task_id, played.sample):
        return f"task {played.task_id!r} was played with another seed"
    if played.agent != schedule.agent_fingerprint:
        return f"it was played by {played.agent!r}, not by {schedule.agent_fingerprint!r}"
    return ""
