"""One writer a run folder."""

import fcntl
import os
from pathlib import Path

from .errors import RunError


class FolderLock:
    """Holds a folder for this process until ``release``, or until the process ends in whatever way."""

    def __init__(self, folder: Path) -> None:
        """Takes the lock.

        Raises:
            RunError: If another process holds it (the message has its id), or the folder cannot be written.
        """
        try:
            self._file = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RunError(f"cannot write to the run folder {folder}: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode(), 0)
        except BlockingIOError:
            holder = os.pread(self._file, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise RunError(
                f"another process (pid {holder}) is writing the run folder {folder}: "
                "wait for it, or choose another --out"
            ) from None
        except OSError as error:
            os.close(self._file)
            raise RunError(f"cannot lock the run folder {folder}: {error.strerror}") from None

    def release(self) -> None:
        """Lets the next one in. The lock file stays: removing it would let two in at once."""
        os.close(self._file)
