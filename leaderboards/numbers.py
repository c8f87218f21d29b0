"""How numbers are written in tables: a rate never stands without its count."""

import math

from ..eval.intervals import Interval
from ..eval.metrics import Metrics
from ..eval.value import Value

UNDEFINED = "-"


def percent(value: Value) -> str:
    """A share as a percentage with one decimal: ``92.5``."""
    return UNDEFINED if math.isnan(value.value) else f"{100 * value.value:.1f}"


def decimal(value: Value, places: int) -> str:
    """A number with so many decimals."""
    return UNDEFINED if math.isnan(value.value) else f"{value.value:.{places}f}"


def count(metrics: Metrics) -> str:
    """Won of total: ``23/24``."""
    return f"{metrics.won}/{metrics.finished}"


def interval(ends: Interval, places: int = 1) -> str:
    """An interval in percent: ``[88.2, 96.8]``."""
    return UNDEFINED if ends.cause else f"[{100 * ends.low:.{places}f}, {100 * ends.high:.{places}f}]"


def plain(text: str) -> str:
    """A name from a run folder for one line of a terminal or a table: control characters become ``?``."""
    return "".join(character if character.isprintable() else "?" for character in text)
