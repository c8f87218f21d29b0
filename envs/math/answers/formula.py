"""From LaTeX to a computer algebra expression, with math-verify's parser (``latex2sympy2_extended``).

The parser is only ever given what the reading found to be one number, expression, matrix or relation. It is
called with its own defaults changed in two points: letters keep their case, so that ``R^2 - r^2`` is not 0, and
two numbers side by side are not added.
"""

import re
from functools import lru_cache
from typing import TypeAlias

from latex2sympy2_extended import latex2sympy
from latex2sympy2_extended.latex2sympy2 import ConversionConfig
from latex2sympy2_extended.math_normalization import NormalizationConfig, normalize_latex
from math_verify.grader import should_treat_as_complex
from sympy import Basic, MatrixBase

from .brackets import tokens
from .structure import Unreadable

Expression: TypeAlias = Basic | MatrixBase

_NORMALIZATION = NormalizationConfig(
    basic_latex=True, units=False, malformed_operators=True, nits=False, boxed="none", equations=False
)
_CONVERSION = ConversionConfig(interpret_as_mixed_fractions=False, lowercase_symbols=False)

_FUNCTION = re.compile(
    r"(?<![\\a-zA-Z])(?:np\.|math\.)?(?P<name>sqrt|exp|sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|asin|acos|atan|log|ln)"
    r"(?=\s?[({\\\d])"
)
_RENAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_BARE_PI = re.compile(r"(?<![\\a-zA-Z])pi(?![a-zA-Z])")
_ROOT_ARGUMENT = re.compile(r"\\(?:sqrt|exp)\s?\(")
_POWER_ARGUMENT = re.compile(r"\^\s?\(")
_DEGREE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s?\^\\circ")
_MIXED = re.compile(
    r"(?<![\d}.^_\\a-zA-Z])(?P<whole>\d{1,9})\s?\\frac\s?(?:\{\s?(?P<n>\d{1,9})\s?\}|(?P<n1>\d))\s?(?:\{\s?(?P<d>\d{1,9})\s?\}|(?P<d1>\d))"
)
_E_NOTATION = re.compile(r"(?<![a-zA-Z_\d.])(?P<number>\d+(?:\.\d+)?)[eE](?P<exponent>[+-]?\d{1,4})(?![a-zA-Z\d.])")
_E_WITH_INDEX = re.compile(r"(?<![\\a-zA-Z])E(?=\s?_)")
_COMMAND_AS_INDEX = re.compile(r"_\s?(?:\{\s?\\(?P<inside>[a-zA-Z]+)\s?\}|\\(?P<bare>[a-zA-Z]+))")
_H_BAR = re.compile(r"\\(?:hbar|hslash)(?![a-zA-Z])")
_OPERAND = r"(?:\{[^{}]{1,80}\}|\\(?:pi|alpha|beta|theta|lambda|omega)(?![a-zA-Z])|\w)"
_FRACTION_OF_COMMANDS = re.compile(rf"\\frac\s?(?P<n>{_OPERAND})\s?(?P<d>{_OPERAND})")
_ROOT_OF_COMMAND = re.compile(
    r"\\sqrt\s?(?P<inside>\\(?:pi|alpha|beta|theta|lambda|omega)(?![a-zA-Z])|\\frac\s?\{[^{}]{1,80}\}\s?\{[^{}]{1,80}\}|[a-zA-Z\d])"
)
_TEXT = re.compile(r"\\text\s?\{([^{}]*)\}")


@lru_cache(maxsize=512)
def parse_formula(latex: str) -> Expression:
    """Parses a tidied formula.

    Raises:
        Unreadable: If the parser does not take it.
    """
    prepared = prepare(latex)
    try:
        parsed = latex2sympy(
            normalize_latex(prepared, _NORMALIZATION),
            is_real=not should_treat_as_complex(prepared),
            convert_degrees=False,
            normalization_config=None,
            conversion_config=_CONVERSION,
        )
    except MemoryError:
        raise
    # The parser signals a syntax error with a bare Exception, and on odd input fails in its own ways.
    except Exception as error:  # noqa: BLE001
        raise Unreadable(f"cannot parse {latex[:60]!r}: {' '.join(str(error).split())[:80]}") from None
    if not isinstance(parsed, Expression):
        raise Unreadable(f"cannot parse {latex[:60]!r}: the parser made a {type(parsed).__name__} of it")
    return parsed


def prepare(latex: str) -> str:
    """Writes plain-text mathematics (``exp(16)``, ``np.arcsin(x)``, ``8.7e8``, ``2^(n+1)``) as LaTeX."""
    text = _FUNCTION.sub(lambda found: "\\" + _RENAMED.get(found["name"], found["name"]), latex)
    text = _BARE_PI.sub(r"\\pi ", text)
    text = _E_NOTATION.sub(r"(\g<number> \\cdot 10^{\g<exponent>})", text)
    text = _MIXED.sub(_as_sum, text)
    text = _DEGREE.sub(r"(\g<number> \\cdot \\pi/180)", text)
    text = _E_WITH_INDEX.sub(r"\\Upsilon ", text)
    text = _COMMAND_AS_INDEX.sub(lambda found: f"_{{{found['inside'] or found['bare']}}}", text)
    text = _H_BAR.sub("h_{bar}", text)
    text = _FRACTION_OF_COMMANDS.sub(lambda found: f"\\frac{_in_braces(found['n'])}{_in_braces(found['d'])}", text)
    text = _ROOT_OF_COMMAND.sub(r"\\sqrt{\g<inside>}", text)
    for opening, command in ((_ROOT_ARGUMENT, ""), (_POWER_ARGUMENT, "^")):
        text = _braced(text, opening, command)
    return _TEXT.sub(_symbol_of_text, text)


def _in_braces(operand: str) -> str:
    return operand if operand.startswith("{") else f"{{{operand}}}"


def _as_sum(found: re.Match[str]) -> str:
    n, d = found["n"] or found["n1"], found["d"] or found["d1"]
    if int(n) >= int(d):
        return found[0]
    return f"({found['whole']}+\\frac{{{n}}}{{{d}}})"


def _symbol_of_text(found: re.Match[str]) -> str:
    """Inside a formula, a marked word is one symbol; a marked letter is that letter."""
    word = re.sub(r"[^a-zA-Z]", "", found[1])
    return word if len(word) == 1 else found[0]


def _braced(text: str, opening: re.Pattern[str], command: str) -> str:
    """Turns the round brackets behind a root or power sign into braces."""
    while (found := opening.search(text)) is not None:
        start = found.end() - 1
        end = next(
            (start + t.start for t in tokens(text[start:]) if t.depth == 0 and t.text in (")", "]") and t.start), None
        )
        if end is None:
            return text
        head = text[: found.start()] + (command or found[0].rstrip("( "))
        text = f"{head}{{{text[start + 1 : end]}}}{text[end + 1 :]}"
    return text
