"""Units behind an answer: taken off, and compared only where both answers name one that is known."""

import re
from typing import NamedTuple

from .structure import Unit

_KNOWN = {
    "mm": "millimeter millimetre mm",
    "cm": "centimeter centimetre cm",
    "m": "meter metre m",
    "km": "kilometer kilometre km",
    "in": "inch inche in",
    "ft": "foot feet ft",
    "yd": "yard yd",
    "mi": "mile mi",
    "g": "gram gm g",
    "kg": "kilogram kg",
    "lb": "pound lb",
    "s": "second sec s",
    "min": "minute min",
    "h": "hour hr h",
    "d": "day",
    "week": "week",
    "month": "month",
    "yr": "year yr",
    "dollar": "dollar buck usd",
    "cent": "cent",
    "mph": "mph",
    "km/h": "kmph kph",
    "l": "liter litre",
    "ml": "milliliter millilitre ml",
    "am": "am",
    "pm": "pm",
    "unit": "unit",
}
_CANONICAL = {word: name for name, words in _KNOWN.items() for word in words.split()}
_BARE_WORDS = "|".join(sorted((word for word in _CANONICAL if len(word) > 1), key=len, reverse=True))

_MARKED = re.compile(
    r"(?P<front>.*[^\s\\])\s*\\text\s?\{(?P<unit>[^{}]{1,60})\}\s?(?P<power>\^\s?\{?\s?[23]\s?\}?)?", re.DOTALL
)
_BARE = re.compile(
    r"(?P<front>.*[\d})\]])\s?(?P<unit>(?:sq(?:uare|\.)?\s|cubic\s)?"
    rf"(?:{_BARE_WORDS})s?(?:\s?(?:/|per)\s?(?:{_BARE_WORDS}|[hsm])s?)?)\s?(?P<power>\^\s?\{{?\s?[23]\s?\}}?)?",
    re.DOTALL | re.IGNORECASE,
)
_PERCENT_WORD = r"(?:percent|per cent|pct|percentage)"
_PERCENT = re.compile(
    rf"(?P<front>.*?)\s?(?:\\%|\\text\s?\{{\s?(?:{_PERCENT_WORD}|\\?%)\s?\}}|\b{_PERCENT_WORD}\b)", re.DOTALL
)
_DEGREE = re.compile(r"(?P<front>.*?)\s?(?:\^\\circ|\\text\s?\{\s?degrees?\s?\}|\bdegrees?\b|\bdeg\b)", re.DOTALL)
_WORD = re.compile(r"[a-z]+")
_HALF_OF_DAY = re.compile(r"\b([ap])\.\s?m\b")


class Quantity(NamedTuple):
    """A text without its unit, the sign that stood behind it, and the name of any other unit."""

    text: str
    sign: Unit
    unit: str


def take_unit(text: str) -> Quantity:
    """Takes the unit off the end of a tidied text. A text that is nothing but a unit keeps it."""
    for pattern, sign in ((_PERCENT, Unit.PERCENT), (_DEGREE, Unit.DEGREE)):
        match = pattern.fullmatch(text)
        if match and match["front"]:
            return Quantity(match["front"].strip(), sign, "")
    match = _MARKED.fullmatch(text) or _BARE.fullmatch(text)
    if match is None or not re.search(r"\d|\\(?:frac|sqrt|pi)", match["front"]):
        return Quantity(text, Unit.NONE, "")
    return Quantity(match["front"].strip(), Unit.NONE, unit_name(match["unit"], match["power"] or ""))


def unit_name(text: str, power: str = "") -> str:
    """Writes a unit in one way, ``cm^2`` for ``square centimeters``; empty when any part of it is unknown."""
    words = [word for word in _WORD.findall(_HALF_OF_DAY.sub(r"\1m", text.lower())) if word not in ("per",)]
    exponent = power.strip("^{} ")
    names = []
    for word in words:
        if word in ("square", "sq"):
            exponent = "2"
        elif word == "cubic":
            exponent = "3"
        elif word in _CANONICAL or word.removesuffix("s") in _CANONICAL:
            names.append(_CANONICAL.get(word) or _CANONICAL[word.removesuffix("s")])
        else:
            return ""
    name = "/".join(names)
    return f"{name}^{exponent}" if exponent and name else name


def units_differ(first: str, second: str) -> bool:
    """Whether both units are known and not the same. A plain ``units`` agrees with every unit."""
    if not first or not second or "unit" in first or "unit" in second:
        return False
    return first != second
