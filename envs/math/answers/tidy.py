"""One spelling for the many ways in which the same LaTeX is written.

Everything here is linear in the length of the text: no pattern can backtrack over more than a few characters.
"""

import re
import unicodedata

MAX_CHARACTERS = 5_000
"""A longer answer is not read: the longest gold of the published sets has 215 characters."""

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+")
_SUBSCRIPT_RUN = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_VULGAR_FRACTION = re.compile("[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]")
_UNICODE_ROOT = re.compile(r"√\s*(?:\(([^()]{1,80})\)|(\w+))")
_SYMBOLS = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{HYPHEN}": "-",
    "\N{SMALL HYPHEN-MINUS}": "-",
    "\N{FULLWIDTH HYPHEN-MINUS}": "-",
    "\N{MULTIPLICATION SIGN}": r"\times ",
    "\N{MIDDLE DOT}": r"\cdot ",
    "\N{DOT OPERATOR}": r"\cdot ",
    "\N{BULLET OPERATOR}": r"\cdot ",
    "\N{DIVISION SIGN}": "/",
    "\N{DIVISION SLASH}": "/",
    "\N{FRACTION SLASH}": "/",
    "\N{LESS-THAN OR EQUAL TO}": r"\le ",
    "\N{GREATER-THAN OR EQUAL TO}": r"\ge ",
    "\N{NOT EQUAL TO}": r"\ne ",
    "\N{ALMOST EQUAL TO}": r"\approx ",
    "\N{PLUS-MINUS SIGN}": r"\pm ",
    "\N{MINUS-OR-PLUS SIGN}": r"\mp ",
    "\N{INFINITY}": r"\infty ",
    "\N{GREEK SMALL LETTER PI}": r"\pi ",
    "\N{GREEK SMALL LETTER THETA}": r"\theta ",
    "\N{GREEK SMALL LETTER ALPHA}": r"\alpha ",
    "\N{GREEK SMALL LETTER BETA}": r"\beta ",
    "\N{GREEK SMALL LETTER LAMDA}": r"\lambda ",
    "\N{DEGREE SIGN}": r"^\circ ",
    "\N{UNION}": r"\cup ",
    "\N{INTERSECTION}": r"\cap ",
    "\N{ELEMENT OF}": r"\in ",
    "\N{EMPTY SET}": r"\emptyset ",
    "\N{DOUBLE-STRUCK CAPITAL R}": r"\mathbb{R}",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots ",
    "\N{MATHEMATICAL LEFT ANGLE BRACKET}": r"\langle ",
    "\N{MATHEMATICAL RIGHT ANGLE BRACKET}": r"\rangle ",
    "\N{PRIME}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    "\N{EURO SIGN}": "",
    "\N{POUND SIGN}": "",
    "\N{YEN SIGN}": "",
    "\N{INDIAN RUPEE SIGN}": "",
}
_SYMBOL = re.compile("|".join(map(re.escape, _SYMBOLS)))

_ESCAPES = str.maketrans({"\x0c": "\\f", "\x08": "\\b"})
"""What a careless string literal turns ``\\frac`` and ``\\begin`` into; neither character can be meant."""

_REPLACEMENTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Dollar signs: an amount of money, then the delimiters of mathematics.
        (r"\\\$", ""),
        (r"\$|(?<!\\)\\[()\[\]]", " "),
        # Thousands: 10{,}000 and 11,\! 111.
        (r"(?<=\d)\s{0,9}(?:\{\s{0,9},\s{0,9}\}|,\s{0,9}\\!)\s{0,9}(?=\d{3})", ""),
        (r"\\(?:boxed|fbox)(?=\s{0,9}\{)", ""),
        # Commands that change how a thing looks and not what it is.
        (r"\\(?:left|right|m?iddle|[bB]igg?[lrm]?)(?![a-zA-Z])\s{0,9}\.?", ""),
        (r"\\(?:displaystyle|textstyle|scriptstyle|limits|nolimits|boldmath)(?![a-zA-Z])", " "),
        (r"\\q?quad|(?<!\\)\\[,;:! >]|\\(?:thin|med|thick)space(?![a-zA-Z])|~|\\hspace\{[^{}]{0,20}\}", " "),
        (r"\\phantom\s{0,9}(?:\{[^{}]{0,20}\}|.)", ""),
        (r"^\s{0,9}\\(?:approx|sim)(?![a-zA-Z])", ""),
        (r"\\[dtc]frac(?![a-zA-Z])", r"\\frac"),
        (r"\\[dt]binom(?![a-zA-Z])", r"\\binom"),
        (r"\\(?:textbf|textit|textrm|textnormal|textup|textsf|mathrm|mathbf|mathit|mathsf|mbox|hbox"
         r"|boldsymbol|bm|operatorname\*)(?=\s{0,9}\{)", r"\\text"),
        (r"\\(?:lbrace|lcub)(?![a-zA-Z])", r"\\{"),
        (r"\\(?:rbrace|rcub)(?![a-zA-Z])", r"\\}"),
        (r"\\lbrack(?![a-zA-Z])", "["),
        (r"\\rbrack(?![a-zA-Z])", "]"),
        (r"\\[lr]?vert(?![a-zA-Z])|\\mid(?![a-zA-Z])", "|"),
        # Relations and operators with several names.
        (r"\\leqslant(?![a-zA-Z])|\\leqq(?![a-zA-Z])|\\leq(?![a-zA-Z])|<=", r"\\le "),
        (r"\\geqslant(?![a-zA-Z])|\\geqq(?![a-zA-Z])|\\geq(?![a-zA-Z])|>=", r"\\ge "),
        (r"\\neq(?![a-zA-Z])|!=(?!=)", r"\\ne "),
        (r"\\lt(?![a-zA-Z])", "<"),
        (r"\\gt(?![a-zA-Z])", ">"),
        (r"\\(?:varnothing|O)(?![a-zA-Z])", r"\\emptyset "),
        (r"\\(?:dots|dotsc|dotsm|dotsb|cdots|ldots)(?![a-zA-Z])|\.\.\.", r"\\ldots "),
        (r"\^\s{0,9}\{\s{0,9}\\(?:circ|degree)\s{0,9}\}|\^\s{0,9}\\circ(?![a-zA-Z])|\\degree(?![a-zA-Z])",
         r"^\\circ "),
        (r"\\infin(?![a-zA-Z])", r"\\infty "),
        (r"\*\*", "^"),
        (r"(?<=[\w)}\]])\s{0,9}\*\s{0,9}(?=[\w(\\])", r" \\cdot "),
        # A bare percent sign starts a comment in LaTeX; nobody means that in an answer.
        (r"(?<!\\)%", r"\\%"),
    )
)  # fmt: skip
_DOUBLED_BACKSLASH = re.compile(r"\\\\(?=[a-zA-Z])")
_ROW_BREAK = re.compile(r"\\begin\s*\{(?:[pbvBV]?matrix|array|cases|aligned)")
_BLANKS = re.compile(r"\s+")
_BLANK_BETWEEN = re.compile(r"(?<=[a-zA-Z\d])\s+(?=[a-zA-Z\d])")


def tidy(text: str) -> str:
    """Rewrites an answer into one spelling: delimiters, spacing and font commands gone, one name a relation.

    The result means the same to a reader. It is LaTeX without ``$``; blanks are single.
    """
    text = text.translate(_ESCAPES)
    text = "".join(c if c.isprintable() or c.isspace() else "" for c in text)
    text = _plain_characters(text)
    if not _ROW_BREAK.search(text):
        text = _DOUBLED_BACKSLASH.sub(r"\\", text)
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    text = _BLANKS.sub(" ", text).strip()
    return _without_full_stop(text)


def squash(text: str) -> str:
    """Drops the blanks of a tidied text except those that keep two words or numbers apart."""
    return _BLANK_BETWEEN.sub("\0", text).replace(" ", "").replace("\0", " ")


def _plain_characters(text: str) -> str:
    """Writes Unicode mathematics as LaTeX. Look-alike letters of other scripts stay what they are."""
    if text.isascii():
        return text
    text = _SUPERSCRIPT_RUN.sub(lambda run: f"^{{{run[0].translate(_SUPERSCRIPTS)}}}", text)
    text = _SUBSCRIPT_RUN.sub(lambda run: f"_{{{run[0].translate(_SUBSCRIPTS)}}}", text)
    text = _VULGAR_FRACTION.sub(_written_fraction, text)
    text = _UNICODE_ROOT.sub(lambda root: f"\\sqrt{{{root[1] or root[2]}}}", text)
    text = _SYMBOL.sub(lambda symbol: _SYMBOLS[symbol[0]], text)
    return unicodedata.normalize("NFKC", text)


def _written_fraction(match: re.Match[str]) -> str:
    numerator, _, denominator = unicodedata.normalize("NFKC", match[0]).partition("\N{FRACTION SLASH}")
    return f"\\frac{{{numerator}}}{{{denominator}}}"


def _without_full_stop(text: str) -> str:
    """Drops sentence punctuation at the end, but not a decimal point that a digit follows."""
    return text.rstrip(" .,;:") if not text.endswith(r"\ldots") else text
