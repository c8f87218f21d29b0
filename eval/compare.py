"""Compares runs pair by pair, task by task."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from ..agents.trajectory import Outcome
from .at_k import Attempts
from .collector import collector_paused
from .conditions import Mismatch, mismatches, sampling_differences
from .errors import RunError
from .pairing import Paired, pair
from .results import Result
from .run import EPISODES, Run
from .significance import holm
from .value import Value

ALPHA = 0.05


class Tested(NamedTuple):
    """A paired comparison with what follows from there being several.

    Attributes:
        paired: The comparison; failed episodes are left out.
        adjusted_p: Its p-value after Holm's correction over all pairs of runs, and where it is of one task type over
            all pairs and types.
        failed_as_lost: The same comparison where episodes that ended as ``error`` or ``timeout`` count as not won, or
            None where there are none.
    """

    paired: Paired
    adjusted_p: Value
    failed_as_lost: Paired | None

    @property
    def different(self) -> bool:
        """Whether the two can be told apart at the 5% level."""
        return self.adjusted_p.defined and self.adjusted_p.value < ALPHA


class Played(NamedTuple):
    """What one run did with a task.

    Attributes:
        attempts: Its finished episodes.
        outcomes: Their outcomes, in the order of the samples.
        lines: Their lines in ``episodes.jsonl``.
    """

    attempts: Attempts
    outcomes: tuple[Outcome, ...]
    lines: tuple[int, ...]


class Discordant(NamedTuple):
    """A task with which the two runs did not do equally well."""

    task_id: str
    task_type: str
    first: Played
    second: Played


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs.

    Attributes:
        first: Position of the first run among those that are compared.
        second: Position of the second.
        overall: Over all tasks.
        by_type: By task type, in alphabetical order.
        discordant: Tasks with which they did not do equally well, in the order of the panel.
        mismatches: Conditions that differ, so that a difference may not be the agents'; empty unless that was allowed.
        sampling: Settings of the agents that differ.
        unfinished: For each run the episodes that it has not finished, of tasks that it has finished others of.
    """

    first: int
    second: int
    overall: Tested
    by_type: Mapping[str, Tested]
    discordant: tuple[Discordant, ...]
    mismatches: tuple[Mismatch, ...]
    sampling: tuple[Mismatch, ...]
    unfinished: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Report:
    """All pairs of some runs.

    Attributes:
        runs: The runs.
        comparisons: One a pair, in the order given.
    """

    runs: tuple[Run, ...]
    comparisons: tuple[Comparison, ...]


def compare_runs(runs: Sequence[Run], *, anyway: bool = False) -> Report:
    """Compares each run with each later one.

    Args:
        runs: At least two.
        anyway: Whether to go on where the conditions of two runs differ. Only tasks of both are then compared.

    Raises:
        RunError: If there are fewer than two runs, one is given twice, two were played under different conditions, or
            they have no task in common.
    """
    _check(runs)
    pairs = list(combinations(range(len(runs)), 2))
    found = {(i, j): mismatches(runs[i], runs[j]) for i, j in pairs}
    for (i, j), differing in found.items():
        if differing and not anyway:
            raise RunError(
                f"{runs[i].folder} and {runs[j].folder} were played under different conditions "
                f"({'; '.join(map(str, differing))}), so a difference need not be the agents': "
                "add --anyway to compare them all the same"
            )
    with collector_paused():
        tables = [_Table(run) for run in runs]
        raw = [_compare(tables[i], tables[j], i, j, found[i, j]) for i, j in pairs]
    return Report(tuple(runs), _corrected(raw))


class _Table:
    """A run's results by task, under both rules for failed episodes."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.types = {task.id: task.type for task in run.panel.tasks}
        self.draws = {task.id: run.panel.draws_of(number) for number, task in enumerate(run.panel.tasks)}
        self.episodes: dict[str, list[Result]] = {}
        for result in run.results:
            self.episodes.setdefault(result.task_id, []).append(result)
        self.finished: dict[str, Attempts] = {}
        self.played: dict[str, Attempts] = {}
        for task_id, results in self.episodes.items():
            outcomes = [result.outcome for result in results]
            won = outcomes.count(Outcome.WON)
            finished = len(outcomes) - outcomes.count(Outcome.ERROR) - outcomes.count(Outcome.TIMEOUT)
            self.played[task_id] = Attempts(len(results), won)
            if finished:
                self.finished[task_id] = Attempts(finished, won)
        self.failed = self.finished != self.played

    def unfinished(self, tasks: Sequence[str]) -> int:
        """Episodes that were not played, or failed, of tasks of which others were finished."""
        return sum(
            self.draws[task_id] * self.run.config.samples - self.finished[task_id].samples
            for task_id in tasks
            if task_id in self.finished
        )

    def with_task(self, task_id: str) -> Played:
        results = [result for result in self.episodes[task_id] if result.outcome.finished]
        return Played(
            self.finished[task_id], tuple(r.outcome for r in results), tuple(result.line for result in results)
        )


def _check(runs: Sequence[Run]) -> None:
    if len(runs) < 2:
        raise RunError("a comparison needs at least two run folders")
    folders = [os.path.realpath(run.folder) for run in runs]
    for number, folder in enumerate(folders):
        if folder in folders[:number]:
            raise RunError(f"the run folder {runs[number].folder} is given twice: a run does not differ from itself")


def _compare(first: _Table, second: _Table, i: int, j: int, differing: tuple[Mismatch, ...]) -> Comparison:
    # Where the panels differ, as was allowed, a task of the same name may still be of another type; that of the first
    # run counts.
    tasks = [task_id for task_id in first.types if task_id in second.types]
    if not tasks:
        raise RunError(f"{first.run.folder} and {second.run.folder} have no task in common: nothing can be compared")
    by_type: dict[str, list[str]] = {}
    for task_id in tasks:
        by_type.setdefault(first.types[task_id], []).append(task_id)
    return Comparison(
        first=i,
        second=j,
        overall=_tested(first, second, tasks),
        by_type={task_type: _tested(first, second, by_type[task_type]) for task_type in sorted(by_type)},
        discordant=tuple(
            Discordant(task_id, first.types[task_id], first.with_task(task_id), second.with_task(task_id))
            for task_id in tasks
            if _discordant(first.finished.get(task_id), second.finished.get(task_id))
        ),
        mismatches=differing,
        sampling=sampling_differences(first.run, second.run),
        unfinished=(first.unfinished(tasks), second.unfinished(tasks)),
    )


def _tested(first: _Table, second: _Table, tasks: Sequence[str]) -> Tested:
    # Panels that hold tasks differently often, which must have been allowed, have no common weights.
    alike = all(first.draws[task_id] == second.draws[task_id] for task_id in tasks)
    draws = first.draws if alike else None
    paired = pair(_of(first.finished, tasks), _of(second.finished, tasks), tasks=len(tasks), draws=draws)
    other = None
    if first.failed or second.failed:
        other = pair(_of(first.played, tasks), _of(second.played, tasks), tasks=len(tasks), draws=draws)
    return Tested(paired, paired.p, other)


def _of(attempts: Mapping[str, Attempts], tasks: Sequence[str]) -> dict[str, Attempts]:
    return {task_id: attempts[task_id] for task_id in tasks if task_id in attempts}


def _discordant(first: Attempts | None, second: Attempts | None) -> bool:
    return first is not None and second is not None and first.won * second.samples != second.won * first.samples


def _corrected(raw: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Fills in the adjusted p-values: one family for the pairs of runs, one for the pairs by task type."""
    overall = _holm([comparison.overall for comparison in raw])
    typed = _holm([tested for comparison in raw for tested in comparison.by_type.values()])
    corrected = []
    for comparison, whole in zip(raw, overall, strict=True):
        kinds = len(comparison.by_type)
        by_type = dict(zip(comparison.by_type, typed[:kinds], strict=True))
        typed = typed[kinds:]
        corrected.append(replace(comparison, overall=whole, by_type=by_type))
    return tuple(corrected)


def _holm(family: Sequence[Tested]) -> list[Tested]:
    """Adjusts the p-values that are defined."""
    adjusted = iter(holm([tested.paired.p.value for tested in family if tested.paired.p.defined]))
    return [
        tested._replace(adjusted_p=Value(next(adjusted))) if tested.paired.p.defined else tested for tested in family
    ]


def episode_file(run: Run) -> str:
    """Where a run's episodes are, as its folder was given."""
    return str(run.folder / EPISODES)
