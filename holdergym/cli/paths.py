"""Paths as a user gives them: ones that are empty or cannot be recorded are refused before anything happens."""

import os
from pathlib import Path

import click


class UserPath(click.Path):
    """A path that is not empty and is UTF-8 text.

    An empty one, as an unset shell variable gives, would silently be the current folder. One that is not UTF-8 could
    not be written into a run folder's files.
    """

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Checks and converts.

        Raises:
            BadParameter: If the path is empty or not UTF-8 text.
        """
        text = os.fspath(value)
        if not text:
            self.fail("it is empty: give a path", param, ctx)
        if any("\ud800" <= character <= "\udfff" for character in text):
            self.fail(f"{text!r} is not UTF-8 text: rename it, or give another path", param, ctx)
        return super().convert(value, param, ctx)


PATH = UserPath(path_type=Path)
PATH_TEXT = UserPath()
