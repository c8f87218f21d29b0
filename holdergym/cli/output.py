"""Files that a verb writes: whole or not at all, so that a full disk leaves what was there before."""

import os
from pathlib import Path

from ..envs.errors import HolderGymError
from ..envs.files import replace_file


def write_output(path: Path, content: bytes) -> None:
    """Writes a file, through links. What is no ordinary file, such as a pipe or a terminal, is written to as it is.

    Raises:
        HolderGymError: If it cannot be written; an old file is untouched then, and no new one is there.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            replace_file(Path(os.path.realpath(path)), content)
    except OSError as error:
        raise HolderGymError(f"cannot write {path}: {error.strerror}") from None
