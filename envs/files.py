"""Files of the user: read whole, and only where reading ends; replaced whole, or not at all."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def open_file(path: Path) -> BinaryIO:
    """Opens a regular file for reading. A pipe or a device is refused at once, as it may never give an end.

    Raises:
        OSError: If the file cannot be opened or is not a regular one; ``strerror`` says which.
    """
    # Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_file(path: Path) -> bytes:
    """Reads a regular file.

    Raises:
        OSError: As ``open_file``.
    """
    with open_file(path) as file:
        return file.read()


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file by way of a new one beside it, ``.NAME.RANDOM.new``, forced to the disk before it takes the name.

    So there is either the old content or the new one, whatever happens and however many processes write at once. A
    process that is killed may leave the new one behind.

    Raises:
        OSError: If the disk is full or the folder cannot be written; the old file is untouched then, and nothing left.
    """
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        with new.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)  # the name, too
    finally:
        os.close(folder)


def hint_inside(folder: Path, name: str) -> str:
    """Which folders inside one hold a file of this name, for a message about a folder that does not; or nothing."""
    try:
        found = sorted(path.parent for path in folder.glob(f"*/{name}"))
    except OSError:
        return ""
    return f"; did you mean {' or '.join(map(str, found[:3]))}?" if found else ""
