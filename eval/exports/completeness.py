"""Numbers that go out to others are those of whole runs, unless somebody says otherwise."""

from ...envs.errors import HolderGymError
from ..metrics import Metrics
from ..run import Run


def require_finished(run: Run, overall: Metrics, unfinished: bool) -> None:
    """Refuses a run that is not finished or has no rate.

    Args:
        run: The run.
        overall: Its metrics.
        unfinished: Whether a part of a run will do.

    Raises:
        HolderGymError: If it is refused; the message says what to do.
    """
    if not overall.finished:
        raise HolderGymError(f"{run.folder}: no episode finished, so there is no rate to export")
    open_episodes = overall.missing + overall.failed
    if open_episodes and not unfinished:
        raise HolderGymError(
            f"{run.folder}: {open_episodes} of {overall.expected} episodes are missing or failed, and a rate over the "
            "others may differ: finish the run with `holdergym eval --resume`, or give --unfinished"
        )
