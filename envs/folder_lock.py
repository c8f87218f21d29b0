"""One writer a folder."""

import fcntl
import os
from pathlib import Path

from .errors import HolderGymError

LOCK = ".lock"


class FolderLockError(HolderGymError):
    """A folder that another process is writing, or that cannot be written."""


class FolderLock:
    """Holds a folder for this process until ``release``, or until the process ends in whatever way."""

    def __init__(self, folder: Path) -> None:
        """Takes the lock.

        Raises:
            FolderLockError: If another process holds it (the message has its id), or the folder cannot be written.
        """
        try:
            self._file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise FolderLockError(f"cannot write to the folder {folder}: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode(), 0)
        except BlockingIOError:
            holder = os.pread(self._file, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise FolderLockError(
                f"another process (pid {holder}) is writing the folder {folder}: wait for it, or choose another --out"
            ) from None
        except OSError as error:
            os.close(self._file)
            raise FolderLockError(f"cannot lock the folder {folder}: {error.strerror}") from None

    def release(self) -> None:
        """Lets the next one in. The lock file stays: removing it would let two in at once."""
        os.close(self._file)
