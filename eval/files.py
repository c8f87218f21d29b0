"""Files that are either the old or the new version, never something in between."""

import os
from pathlib import Path

from .errors import RunError


def write_atomically(path: Path, text: str) -> None:
    """Replaces a file by way of a temporary one beside it, forced to the disk before it takes the name.

    Raises:
        RunError: If the disk is full or the folder cannot be written; the old file is then untouched.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from None
