"""Which counts of won problems a printed percentage can stand for."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Final

_LARGEST_GUESS: Final = 60
# How likely a guess at the size of a set may be by chance: a coarse percentage, or a large set, fits anything.
_CHANCE: Final = 0.01


def ulp(value: Decimal) -> Decimal:
    """One unit of the last printed digit: 0.1 for 43.3."""
    exponent = value.as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)


def counts(percent: Decimal, trials: int) -> range:
    """All k for which k of ``trials`` is printed as this percentage, rounded to the digits that it has.

    Halves may be rounded either way. 40.0 of 30 gives 12; 93.8 of 134 gives none.

    Raises:
        ValueError: If ``trials`` is not positive.
    """
    if trials < 1:
        raise ValueError(f"a rate over {trials} problems")
    half = Fraction(ulp(percent)) / 2
    low = (Fraction(percent) - half) * trials / 100
    high = (Fraction(percent) + half) * trials / 100
    first = max(0, -((-low.numerator) // low.denominator))
    last = min(trials, high.numerator // high.denominator)
    return range(first, max(first, last + 1))


def counts_cut(percent: Decimal, trials: int) -> range:
    """The same for a percentage whose further digits were cut off instead of rounded."""
    low = Fraction(percent) * trials / 100
    high = (Fraction(percent) + Fraction(ulp(percent))) * trials / 100
    first = max(0, -((-low.numerator) // low.denominator))
    last = -((-high.numerator) // high.denominator) - 1
    return range(first, max(first, min(trials, last) + 1))


def is_cut(low: Fraction, high: Fraction, printed: Decimal) -> bool:
    """Whether a number from ``low`` to ``high`` can be printed so with its further digits cut off, towards 0.

    52.76 as 52.7, and -0.16 as -0.1.
    """
    unit, shown = Fraction(ulp(printed)), Fraction(printed)
    if printed.is_signed():
        low, high, shown = -high, -low, -shown
    return low < shown + unit and high >= shown


def always_possible(percent: Decimal, trials: int) -> bool:
    """Whether there are so many trials that every percentage with these digits can occur."""
    return trials * Fraction(ulp(percent)) >= 100


def common_size(percents: set[Decimal]) -> int | None:
    """The smallest number of problems for which all these percentages are possible; None if that says nothing.

    A percentage with one decimal fits n problems by chance in about n of 1,000 cases; what several of them fit together
    is a guess worth saying if it is unlikely by chance for all numbers up to it. 0 and 100 fit every number.
    """
    telling = {percent for percent in percents if 0 < percent < 100}
    for size in range(2, _LARGEST_GUESS + 1):
        if telling and all(counts(percent, size) for percent in telling):
            chance = size * math.prod(min(1.0, size * float(ulp(percent)) / 100) for percent in telling)
            return size if chance < _CHANCE else None
    return None
