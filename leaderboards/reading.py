"""Reads runs that may come from a stranger.

What cannot be held, has numbers beyond reason, or might never come to an end is refused in one line.
"""

import stat
from pathlib import Path

from ..eval.errors import RunError
from ..eval.results import Result
from ..eval.run import CONFIG, EPISODES, MANIFEST, SUMMARY, Run, read_run

MOST_EPISODE_BYTES = 4 * 2**30
"""A run of this size would need tens of gigabytes of memory to be read."""
MOST_OTHER_BYTES = 64 * 2**20
"""The manifest names every task of the panel; a million tasks need more, and are more than a run can have."""

MOST_COUNT = 10**12
"""Of tokens or commands in an episode."""
MOST_SECONDS = 10**9
"""Of an episode: thirty years."""


def read_any_run(folder: Path) -> Run:
    """Reads a run folder.

    Raises:
        RunError: As ``read_run``, and for a file that is a pipe or a device, is too large, or holds a number that is.
    """
    for name in (CONFIG, MANIFEST, EPISODES, SUMMARY):
        most = MOST_EPISODE_BYTES if name == EPISODES else MOST_OTHER_BYTES
        path = folder / name
        try:
            found = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue  # which file may be missing is not asked here
        except OSError as error:
            raise RunError(f"cannot read {path}: {error.strerror}") from None
        if not stat.S_ISREG(found.st_mode):
            raise RunError(f"cannot read {path}: it is not a regular file")
        if found.st_size > most:
            raise RunError(f"{path} has {found.st_size:,} bytes, more than the {most:,} that are read")
    try:
        run = read_run(folder)
    except OverflowError:
        raise RunError(f"{folder / EPISODES} is damaged: it holds a number that is too large") from None
    for result in run.results:
        if _beyond_reason(result):
            raise RunError(f"line {result.line} of {folder / EPISODES} is damaged: it holds a number beyond reason")
    return run


def _beyond_reason(result: Result) -> bool:
    """Whether a number is so large, or so little of a number, that sums over episodes would say nothing."""
    counts = [result.shortest or 0]
    if result.usage is not None:
        counts += [result.usage.prompt, result.usage.cached or 0, result.usage.generated]
    seconds = (result.agent_seconds, result.env_seconds)
    return max(counts) > MOST_COUNT or not all(0 <= value <= MOST_SECONDS for value in seconds)
