"""Paths as a user gives them: ones that are empty, cannot be recorded or would cost a run are refused at once."""

import os
from pathlib import Path

import click

from ..envs.folder_lock import LOCK
from ..eval.run import CHAT_TEMPLATE, CONFIG, EPISODES, MANIFEST, PROMPT, SUMMARY
from ..eval.tokens import TOKENS

# As ``training.run`` writes them; that room is loaded only by who trains.
_METRICS, _CHECKPOINTS, _CIRCUMSTANCES = "metrics.jsonl", "checkpoints", "circumstances.toml"
_OF_A_RUN = frozenset({CONFIG, MANIFEST, EPISODES, SUMMARY, TOKENS, PROMPT, CHAT_TEMPLATE, LOCK})
_OF_A_TRAINING = frozenset({CONFIG, _CIRCUMSTANCES, _METRICS, _CHECKPOINTS, LOCK})


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


class OutputPath(UserPath):
    """A file to be written that is none of a run folder's own, wherever links lead."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Checks and converts.

        Raises:
            BadParameter: If the path is empty, not UTF-8 text, or a file that makes up a run folder.
        """
        path = super().convert(value, param, ctx)
        if _is_of_a_run(Path(os.path.realpath(os.fsdecode(path)))):
            self.fail(
                f"{os.fsdecode(path)}: that is a file of a run folder, and would be lost: give another name", param, ctx
            )
        return path


def _is_of_a_run(path: Path) -> bool:
    folder = path.parent
    if path.name in _OF_A_RUN and (folder / MANIFEST).is_file():
        return True
    if any(parent.name == _CHECKPOINTS and _is_training(parent.parent) for parent in path.parents):
        return True
    return path.name in _OF_A_TRAINING and _is_training(folder)


def _is_training(folder: Path) -> bool:
    return (folder / CONFIG).is_file() and ((folder / _METRICS).is_file() or (folder / _CHECKPOINTS).is_dir())


PATH = UserPath(path_type=Path)
OUTPUT = OutputPath(path_type=Path)
PATH_TEXT = UserPath()
