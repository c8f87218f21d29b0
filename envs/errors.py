"""The errors that a user can cause and mend: the command line prints their one line and exits with code 2."""

import difflib
from collections.abc import Iterable

# Characters that a list of known names may take in a message of one line.
_LISTED = 200


class HolderGymError(Exception):
    """Bad input or a missing part. The message is one line that says what is wrong and what to do."""


class GameError(HolderGymError):
    """A game file or game folder that cannot be played as it is."""


class UnknownNameError(HolderGymError):
    """A name that is not among the known ones; the message names the nearest."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.name = name
        super().__init__(f"unknown {what} {name!r}{nearest(name, known)}")


class ConfigError(HolderGymError):
    """A setting that is unknown, of the wrong type or out of range."""


class MissingExtraError(HolderGymError):
    """A part of the package that needs an extra which is not installed."""

    def __init__(self, what: str, extra: str, missing: str) -> None:
        super().__init__(f"{what} needs {missing}, which is not installed: pip install 'holdergym[{extra}]'")


class EnvironmentFailure(HolderGymError):
    """The machinery behind an environment failed: the episode ends as ``error``, which is not a loss."""


class EnvironmentTimeout(EnvironmentFailure):
    """It did not answer in time and was stopped: the episode ends as ``timeout``, which is not a loss."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Says which known name was probably meant, or lists them all when none is near."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    if not names:
        return "; there are none"
    shown = names[:1]
    while len(shown) < len(names) and len(", ".join(names[: len(shown) + 1])) <= _LISTED:
        shown.append(names[len(shown)])
    more = len(names) - len(shown)
    return f"; known: {', '.join(shown)}" + (f" and {more} more" if more else "")
