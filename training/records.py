"""What a run writes: its settings, a line a round, checkpoints. One process of the run does, whatever their number."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Protocol

from .learner import Learner
from .metrics_log import MetricsLog, seconds_by_stage
from .saving import Checkpoints
from .trackers import Trackers
from .trainer import Progress


class Records(Protocol):
    """Takes down what a run does."""

    def round(self, number: int, metrics: Mapping[str, float], seconds: Mapping[str, float]) -> None:
        """Takes down the numbers of a round.

        Raises:
            HolderGymError: If they cannot be written.
        """

    def checkpoint(self, progress: Progress, learners: Sequence[Learner], best: tuple[float, int] | None) -> None:
        """Saves all that the run goes on from.

        Raises:
            HolderGymError: If it cannot be written.
        """


class NoRecords:
    """Of a process that shares the work and writes nothing."""

    def round(self, number: int, metrics: Mapping[str, float], seconds: Mapping[str, float]) -> None:
        """Writes nothing."""

    def checkpoint(self, progress: Progress, learners: Sequence[Learner], best: tuple[float, int] | None) -> None:
        """Hands over what the process that writes does not hold."""
        for one in learners:
            one.optimiser.state()


class RunRecords:
    """The folder of a run.

    Args:
        log: ``metrics.jsonl``.
        trackers: What else is told of each round.
        checkpoints: The folder of checkpoints.
    """

    def __init__(self, log: MetricsLog, trackers: Trackers, checkpoints: Checkpoints) -> None:
        self._log = log
        self._trackers = trackers
        self._checkpoints = checkpoints

    def round(self, number: int, metrics: Mapping[str, float], seconds: Mapping[str, float]) -> None:
        """Adds a line to the log, then tells the trackers."""
        self._log.append(number, metrics, seconds)
        self._trackers.log(number, {**metrics, **seconds_by_stage(seconds)})

    def checkpoint(self, progress: Progress, learners: Sequence[Learner], best: tuple[float, int] | None) -> None:
        """Writes a checkpoint, and removes those that are no longer wanted."""
        self._checkpoints.save(progress, learners, best)


@contextmanager
def run_records(checkpoints: Checkpoints, trackers: Trackers, after: int | None) -> Iterator[Records]:
    """Opens the records of a run whose folder is set up.

    Args:
        checkpoints: The folder of checkpoints, in that of the run.
        trackers: What else is told of each round.
        after: The round of the checkpoint that the run goes on from; None if it begins.

    Raises:
        HolderGymError: If something cannot be written.
    """
    with closing(MetricsLog(checkpoints.folder.parent, after)) as log:
        yield RunRecords(log, trackers, checkpoints)
