r"""Left sides that only name a value: ``x``, ``f(x)``, ``a_{37}``, ``|AB|``, ``(p, q)``, ``\angle ABC``."""

import re

from .tidy import squash

_GREEK = (
    r"\\(?:alpha|beta|gamma|delta|epsilon|varepsilon|theta|lambda|mu|nu|omega|phi|varphi|psi|rho|sigma|tau"
    r"|Delta|Omega|Phi|ell)"
)
_LETTER = rf"(?:[a-zA-Z]|{_GREEK})"
_INDEX = r"(?:_(?:\{[^{}]{1,20}\}|\\?[a-zA-Z]+|\w))?'{0,3}"
_VARIABLE = rf"{_LETTER}{_INDEX}"
_FUNCTION = rf"{_VARIABLE}\([^()=<>]{{1,40}}\)"
_LETTERS = rf"(?:{_VARIABLE}){{1,8}}"
_TEXT = r"\\text\{[^{}]{1,60}\}"
_ACCENTED = rf"\\(?:overline|vec|hat|bar|mathcal|mathbb|mathbf)\{{{_LETTERS}\}}"
_GEOMETRY = rf"\\(?:angle|triangle|measuredangle){_LETTERS}"
_SIZE = rf"\|{_LETTERS}\|"
_SIMPLE = rf"(?:{_FUNCTION}|{_LETTERS}|{_TEXT}|{_ACCENTED}|{_GEOMETRY}|{_SIZE})"
_RATIO = rf"{_SIMPLE}(?:[:/]){_SIMPLE}|\\frac\{{{_SIMPLE}\}}\{{{_SIMPLE}\}}"
_TUPLE = rf"\({_SIMPLE}(?:,{_SIMPLE}){{1,8}}\)"
_NAME = re.compile(rf"{_RATIO}|{_TUPLE}|{_SIMPLE}")
_CONSTANT = re.compile(r"[ei]|\\pi")


def name_of(text: str) -> str | None:
    """The squashed name if a text can only be the name of a value, else None.

    Sums, powers and numbers are not names: ``x^2 + y = 0`` says something about x and y, ``x = 0`` gives x.
    """
    if len(text) > 80:
        return None
    name = squash(text).replace(" ", "")
    return name if _NAME.fullmatch(name) and not _CONSTANT.fullmatch(name) else None
