"""Plain numbers: integers, decimals, fractions, mixed numbers, e-notation. Exact, without a computer algebra system.

This is all that the built-in problems and most published sets need.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_DIGITS = 2_000
MAX_EXPONENT = 5_000
NOISE = Fraction(1, 10**9)
"""Relative difference below which two decimals count as one: the noise of double arithmetic, nothing more."""


@dataclass(frozen=True, slots=True)
class Number:
    """A plain number, exactly as written.

    Attributes:
        value: Its value.
        places: Digits after the decimal point, or None when it is no decimal. ``1.50e3`` has -1.
        digits: Significant digits, 0 when it is no decimal.
    """

    value: Fraction
    places: int | None = None
    digits: int = 0


_DIGITS = rf"\d{{1,{MAX_DIGITS}}}"
_GROUPED = r"[1-9]\d{0,2}(?:,\d{3}){1,40}|[1-9]\d{0,2}(?: \d{3}){1,40}"
_SIMPLE = re.compile(
    rf"(?P<sign>[+-]?)\s?(?P<whole>{_GROUPED}|{_DIGITS})?(?:(?P<point>\.)(?P<part>\d{{0,{MAX_DIGITS}}}))?"
    r"(?P<repeat>\\(?:overline|bar|dot)\s?\{(?P<repeated>\d{1,40})\})?"
    r"(?:[eE]\s?\{?(?P<e>[+-]?\d{1,5})\}?|\s?\\(?:times|cdot)\s?10\s?\^\s?(?:\{\s?(?P<brace>[+-]?\s?\d{1,5})\s?\}|(?P<bare>[+-]?\d{1,5})))?"
)
_POWER_OF_TEN = re.compile(r"(?P<sign>[+-]?)\s?10\s?\^\s?(?:\{\s?(?P<brace>[+-]?\s?\d{1,5})\s?\}|(?P<bare>\d{1,5}))")
_FRACTION = re.compile(
    rf"(?P<sign>[+-]?)\s?(?P<whole>{_DIGITS})?\s?"
    rf"(?:\\frac\s?(?:\{{\s?(?P<n1>[+-]?\s?{_DIGITS})\s?\}}|(?P<n2>\d)|\s(?P<n3>\d))\s?(?:\{{\s?(?P<d1>[+-]?\s?{_DIGITS})\s?\}}|(?P<d2>\d))"
    rf"|(?<!\d)(?P<n4>{_DIGITS})\s?\.?/\s?(?P<sign2>[+-]?)(?P<d4>{_DIGITS}))"
)
_MIXED = re.compile(rf"(?P<sign>[+-]?)\s?(?P<whole>{_DIGITS})\s(?P<n>\d{{1,9}})\s?/\s?(?P<d>\d{{1,9}})")


def read_number(text: str) -> Number | None:
    """Reads a tidied text as a plain number.

    Returns:
        The number, or None when the text is something else (also when its denominator is 0).
    """
    if len(text) > 2 * MAX_DIGITS or not any(c.isdigit() for c in text):
        return None
    text = text.replace("{,}", ",")
    return _simple(text) or _power_of_ten(text) or _mixed(text) or _fraction(text)


def same_number(first: Number, second: Number, digits: int) -> bool:
    """Compares two plain numbers.

    Exact numbers are equal or they are not. Two decimals are compared as they stand, up to the noise of double
    arithmetic, which is relative to their size. A decimal equals an exact number when it is that number
    correctly rounded and shows at least ``digits`` significant digits: 2.6667 is 8/3, and 0.33 is not 1/3.
    """
    if first.value == second.value:
        return True
    if first.places is None and second.places is None:
        return False
    if close(first.value, second.value, NOISE):
        return True
    if first.places is not None and second.places is not None:
        return False
    decimal, exact = (first, second) if first.places is not None else (second, first)
    return decimal.digits >= digits and rounds_to(exact.value, decimal)


def rounds_to(exact: Fraction, decimal: Number) -> bool:
    """Whether a value, rounded to the places of a decimal (half away from zero), is that decimal."""
    assert decimal.places is not None
    return 2 * abs(exact - decimal.value) <= Fraction(10) ** -decimal.places


def close(first: Fraction, second: Fraction, relative: Fraction) -> bool:
    """Whether two values differ by at most a share of the larger one. Only 0 is close to 0."""
    return abs(first - second) <= relative * max(abs(first), abs(second))


def _simple(text: str) -> Number | None:
    match = _SIMPLE.fullmatch(text)
    if match is None or not (match["whole"] or match["part"] or match["repeated"]):
        return None
    whole = (match["whole"] or "").replace(",", "").replace(" ", "")
    part = match["part"] or ""
    if match["repeat"] and not match["point"]:
        return None
    exponent = int((match["e"] or match["brace"] or match["bare"] or "0").replace(" ", ""))
    if abs(exponent) > MAX_EXPONENT:
        return None
    value = Fraction(int(whole + part or "0"), 10 ** len(part))
    if match["repeated"]:
        period = match["repeated"]
        value += Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(part))
    value *= Fraction(10) ** exponent
    value = -value if match["sign"] == "-" else value
    if not match["point"] or match["repeated"] or not part:
        return Number(value)
    return Number(value, len(part) - exponent, len((whole + part).lstrip("0")))


def _power_of_ten(text: str) -> Number | None:
    match = _POWER_OF_TEN.fullmatch(text)
    if match is None:
        return None
    exponent = int((match["brace"] or match["bare"]).replace(" ", ""))
    if abs(exponent) > MAX_EXPONENT:
        return None
    return Number((-1 if match["sign"] == "-" else 1) * Fraction(10) ** exponent)


def _mixed(text: str) -> Number | None:
    match = _MIXED.fullmatch(text)
    if match is None or int(match["d"]) == 0:
        return None
    value = int(match["whole"]) + Fraction(int(match["n"]), int(match["d"]))
    return Number(-value if match["sign"] == "-" else value)


def _fraction(text: str) -> Number | None:
    match = _FRACTION.fullmatch(text)
    if match is None:
        return None
    if match["n4"]:
        if match["whole"]:
            return None
        numerator, denominator = match["n4"], match["sign2"] + match["d4"]
    else:
        numerator = match["n1"] or match["n2"] or match["n3"]
        denominator = match["d1"] or match["d2"]
    n, d = int(numerator.replace(" ", "")), int(denominator.replace(" ", ""))
    if d == 0:
        return None
    value = Fraction(n, d)
    if match["whole"]:
        if n < 0 or d < 0:
            return None
        value += int(match["whole"])
    return Number(-value if match["sign"] == "-" else value)
