"""``episodes.jsonl``: an append-only file in which a finished episode, once written, is never lost.

Each line goes out in a single ``write``, so a killed process leaves whole lines and at most one torn line at
the end. The file is forced to the disk at most once a second and when it is closed: ``kill -9`` loses
nothing that was written, a power cut at most the last second, and both are played again on resume.
Forcing every line would cost more than an episode of a scripted agent takes.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeVar

from ..envs.files import open_file
from .episode import Episode, episode_from_line, episode_to_line
from .errors import RunError
from .fields import EpisodeFormatError

SYNC_SECONDS = 1.0

ReadT = TypeVar("ReadT")


class NumberedEpisode(NamedTuple):
    """An episode and the number of its line, from 1."""

    line: int
    episode: Episode


class Journal:
    """The file, opened for appending."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._synced_at = time.monotonic()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._size = os.fstat(self._file).st_size
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror}") from None

    def append(self, episode: Episode) -> None:
        """Writes one episode.

        Raises:
            RunError: If the disk is full or the file cannot be written. The file is cut back to the last
                whole line, so everything written before stays readable.
        """
        data = episode_to_line(episode).encode()
        try:
            written = os.write(self._file, data)
            if written < len(data):
                # A nearly full disk takes a part; the second write then gives the reason.
                written += os.write(self._file, data[written:])
            if written < len(data):
                raise OSError(0, "only a part of the line could be written")
            if time.monotonic() - self._synced_at >= SYNC_SECONDS:
                self._sync()
        except OSError as error:
            with suppress(OSError):  # If even this fails, resume cuts the torn line off.
                os.ftruncate(self._file, self._size)
            raise RunError(
                f"cannot write {self._path}: {error.strerror}; the episodes before this one are safe, "
                "remove the cause and continue with --resume"
            ) from None
        self._size += len(data)

    def sync(self) -> None:
        """Forces the file to the disk.

        Raises:
            RunError: If the disk refuses.
        """
        try:
            self._sync()
        except OSError as error:
            raise RunError(f"cannot write {self._path}: {error.strerror}") from None

    def close(self) -> None:
        """Forces the file to the disk and closes it.

        Raises:
            RunError: If the disk refuses.
        """
        try:
            self.sync()
        finally:
            os.close(self._file)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _sync(self) -> None:
        os.fsync(self._file)
        self._synced_at = time.monotonic()


def read_journal(path: Path) -> Iterator[NumberedEpisode]:
    """Yields the episodes of all whole lines; a torn last line is passed over (see ``torn_bytes``).

    Raises:
        RunError: If a whole line cannot be read; the message has its number. Such a line is never skipped,
            because that would change what is counted.
    """
    return read_lines(path, lambda line, number: NumberedEpisode(number, episode_from_line(line)))


def read_lines(path: Path, read: Callable[[bytes, int], ReadT]) -> Iterator[ReadT]:
    """Yields what a function makes of each whole line and its number, from 1.

    Raises:
        RunError: If the file cannot be read, or the function raises an EpisodeFormatError.
    """
    try:
        with open_file(path) as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                try:
                    found = read(line, number)
                except EpisodeFormatError as error:
                    raise RunError(f"cannot read line {number} of {path}: {error}") from None
                yield found
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from None


def torn_bytes(path: Path) -> int:
    """The length of a last line without its newline: what a process that was killed while writing leaves."""
    try:
        with open_file(path) as file:
            end = file.seek(0, os.SEEK_END)
            start = end
            while start > 0:
                step = min(start, 65536)
                start -= step
                file.seek(start)
                found = file.read(step).rfind(b"\n")
                if found >= 0:
                    return end - (start + found + 1)
            return end
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from None


def repair_journal(path: Path) -> int:
    """Cuts off a torn last line and returns how many bytes were cut.

    Raises:
        RunError: If the file cannot be changed.
    """
    torn = torn_bytes(path)
    if torn:
        try:
            os.truncate(path, path.stat().st_size - torn)
        except OSError as error:
            raise RunError(f"cannot repair {path}: {error.strerror}") from None
    return torn
