"""The errors that a user can cause and mend: the command line prints their one line and exits with code 2."""

import difflib
from collections.abc import Iterable, Sequence

# Characters that a list of known names may take in a message of one line.
_LISTED = 200
# Fewer characters are part of too many names to say anything.
_SHORTEST_PART = 3


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
    probable = _probable(name, names)
    if probable is not None:
        return f"; did you mean {probable!r}?"
    if not names:
        return "; there are none"
    shown = names[:1]
    while len(shown) < len(names) and len(", ".join(names[: len(shown) + 1])) <= _LISTED:
        shown.append(names[len(shown)])
    more = len(names) - len(shown)
    return f"; known: {', '.join(shown)}" + (f" and {more} more" if more else "")


def _probable(name: str, names: Sequence[str]) -> str | None:
    """The first name of those most alike; else the first that begins with what was typed, or has it inside."""
    wanted = name.casefold()
    folded = [known.casefold() for known in names]
    close = difflib.get_close_matches(wanted, folded, n=1, cutoff=0.5)
    if close:
        return names[folded.index(close[0])]
    if len(wanted) < _SHORTEST_PART:
        return None
    begun = (known for known, text in zip(names, folded, strict=True) if text.startswith(wanted))
    inside = (known for known, text in zip(names, folded, strict=True) if wanted in text)
    return next(begun, None) or next(inside, None)
