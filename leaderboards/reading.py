"""Reads runs that may come from a stranger: what cannot be held, or has numbers beyond reason, is refused in one "
"line.
"""

from pathlib import Path

from ..eval.errors import RunError
from ..eval.run import CONFIG, EPISODES, MANIFEST, SUMMARY, Run, read_run

MOST_EPISODE_BYTES = 4 * 2**30
"""A run of this size would need tens of gigabytes of memory to be read."""
MOST_OTHER_BYTES = 64 * 2**20
"""The manifest names every task of the panel; a million tasks need more, and are more than a run can have."""


def read_any_run(folder: Path) -> Run:
    """Reads a run folder.

    Raises:
        RunError: As ``read_run``, and for a file that is too large or holds a number that is.
    """
    for name in (CONFIG, MANIFEST, EPISODES, SUMMARY):
        most = MOST_EPISODE_BYTES if name == EPISODES else MOST_OTHER_BYTES
        path = folder / name
        try:
            size = path.stat().st_size if path.is_file() else 0
        except OSError as error:
            raise RunError(f"cannot read {path}: {error.strerror}") from None
        if size > most:
            raise RunError(f"{path} has {size:,} bytes, more than the {most:,} that are read")
    try:
        return read_run(folder)
    except OverflowError:
        raise RunError(f"{folder / EPISODES} is damaged: it holds a number that is too large") from None
