"""Splitting a text at the outermost level of its brackets."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .structure import Unreadable

MAX_DEPTH = 60
"""Deeper nesting is not an answer that somebody wrote."""


class Token(NamedTuple):
    """A piece of LaTeX: a command, a brace, or one character; and how deep in brackets it stands."""

    text: str
    start: int
    depth: int


_TOKEN = re.compile(r"\\(?:begin|end)\s?\{[a-zA-Z*]{1,20}\}|\\[a-zA-Z]+|\\.|.", re.DOTALL)
_OPENING = {
    "{": "}",
    "(": ")]",
    "[": ")]",
    r"\{": r"\}",
    r"\langle": r"\rangle",
    r"\lfloor": r"\rfloor",
    r"\lceil": r"\rceil",
}
_CLOSING = frozenset({"}", ")", "]", r"\}", r"\rangle", r"\rfloor", r"\rceil"})


def tokens(text: str) -> Iterator[Token]:
    """Yields the pieces of a text. A bracket has the depth of what is outside it.

    ``(`` may be closed by ``]`` and ``[`` by ``)``: half-open intervals.

    Raises:
        Unreadable: If the brackets do not match or are nested too deeply.
    """
    open_brackets: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if _opens(token):
            yield Token(token, match.start(), len(open_brackets))
            open_brackets.append(token)
            if len(open_brackets) > MAX_DEPTH:
                raise Unreadable("brackets are nested too deeply")
        elif _shuts(token):
            if not open_brackets or not _closes(open_brackets.pop(), token):
                raise Unreadable(f"{token!r} closes nothing")
            yield Token(token, match.start(), len(open_brackets))
        else:
            yield Token(token, match.start(), len(open_brackets))
    if open_brackets:
        raise Unreadable(f"{open_brackets[-1]!r} is never closed")


def split(text: str, separators: frozenset[str]) -> list[str]:
    """Splits at the separators that stand outside all brackets; the parts are stripped of blanks."""
    parts, start = [], 0
    for token in tokens(text):
        if token.depth == 0 and token.text in separators:
            parts.append(text[start : token.start].strip())
            start = token.start + len(token.text)
    parts.append(text[start:].strip())
    return parts


def enclosed(text: str) -> tuple[str, str, str] | None:
    """Takes off a pair of brackets that encloses the whole text.

    Returns:
        Opening bracket, what is inside, closing bracket; None if no pair encloses the text.
    """
    last: Token | None = None
    first: Token | None = None
    for token in tokens(text):
        if first is None:
            if not _opens(token.text):
                return None
            first = token
        elif token.depth == 0 and _shuts(token.text):
            if token.start + len(token.text) != len(text):
                return None
            last = token
    if first is None or last is None:
        return None
    return first.text, text[len(first.text) : last.start].strip(), last.text


def _opens(token: str) -> bool:
    return token in _OPENING or token.startswith(r"\begin")


def _shuts(token: str) -> bool:
    return token in _CLOSING or token.startswith(r"\end")


def _closes(opening: str, closing: str) -> bool:
    if opening.startswith(r"\begin"):
        return closing == opening.replace(r"\begin", r"\end", 1)
    return closing in ((")", "]") if opening in "([" else (_OPENING[opening],))
