"""Averages that are not the mean of their row."""

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from ..published.record import Published
from ..published.statements import AVERAGING, POOLED
from .book import Book, average, cell, components, name
from .counts import counts, is_cut, ulp
from .finding import ERROR, NOTE, WARNING, Finding

AVERAGE_RULE, AVERAGING_RULE = "average", "averaging"
TRUNCATED = "truncated, not rounded"


def averages(book: Book) -> Iterator[Finding]:
    """Rows whose printed average is not the mean of the printed cells, rounded to its digits."""
    for (table, row), results in book.rows.items():
        printed, parts = average(results), list(components(results))
        if printed is None or printed.number is None or len(parts) < 2:
            continue
        mean = mean_of(parts)
        half = Fraction(ulp(printed.number)) / 2
        if abs(mean - Fraction(printed.number)) <= half:
            continue
        missing = [each.benchmark for each in book.missing(table, row)]
        low, high = _bounds(parts)
        explained = low <= Fraction(printed.number) + half and high >= Fraction(printed.number) - half
        twice = _rounded_twice(low, printed.number) or _rounded_twice(high, printed.number)
        exact = "" if low == high else f", {shown(low)} to {shown(high)} before rounding of the cells"
        counted = f"; exact counts give {shown(low)}" if low == high else ""
        message = f"{name(printed)}: prints {printed.value}, the mean of its {len(parts)} cells is {shown(mean)}{exact}"
        if missing:
            severity, message = WARNING, f"{message}; {', '.join(missing)} is counted too and was not found"
        elif explained:
            severity = NOTE
        elif twice:
            severity, counted = NOTE, f"{counted}, rounded twice"
        elif is_cut(low, high, printed.number):
            # A habit of who prints, not a number that the cells do not give.
            severity, counted = WARNING, f"{counted}; {TRUNCATED}"
        else:
            severity = ERROR if all(each.problems for each in parts) else WARNING
        yield Finding(AVERAGE_RULE, severity, (cell(printed),), message + counted)


def stated_averaging(book: Book) -> Iterator[Finding]:
    """Tables whose averages are said to be pooled over problems, and are plain means of the columns."""
    for stated in book.results:
        if stated.metric != AVERAGING or stated.value != POOLED:
            continue
        plain, pooled, total = 0, 0, 0
        cells = []
        for (table, _), results in book.rows.items():
            printed, parts = average(results), list(components(results))
            if table != stated.config or printed is None or printed.number is None:
                continue
            if not parts or not all(each.problems for each in parts):
                continue
            total += 1
            cells.append(cell(printed))
            half = Fraction(ulp(printed.number)) / 2
            plain += abs(mean_of(parts) - Fraction(printed.number)) <= half
            pooled += abs(_pooled(parts) - Fraction(printed.number)) <= half
        if total and pooled < total:
            yield Finding(
                AVERAGING_RULE,
                ERROR if plain == total else WARNING,
                tuple(cells),
                f"the text says that averages are {POOLED}; {pooled} of {total} are, {plain} of {total} are plain "
                "means of the columns",
            )


def mean_of(parts: Sequence[Published]) -> Fraction:
    """The mean of printed cells, exactly."""
    return sum((Fraction(each.number) for each in parts if each.number is not None), Fraction(0)) / len(parts)


def shown(value: Fraction) -> str:
    """With two decimals, halves up."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return str(exact.quantize(Decimal("0.01"), ROUND_HALF_UP))


def _rounded_twice(mean: Fraction, printed: Decimal) -> bool:
    """Whether a mean is printed so after it was rounded to hundredths: 59.24997 as 59.25 and then as 59.3."""
    return Decimal(shown(mean)).quantize(ulp(printed), ROUND_HALF_UP) == printed


def _pooled(parts: Sequence[Published]) -> Fraction:
    weighted = [(Fraction(each.number), each.problems) for each in parts if each.number is not None and each.problems]
    return sum((rate * n for rate, n in weighted), Fraction(0)) / sum(n for _, n in weighted)


def _bounds(parts: Sequence[Published]) -> tuple[Fraction, Fraction]:
    """Smallest and largest mean before the cells were rounded: by counts where they are known, else by half a digit."""
    low, high = Fraction(0), Fraction(0)
    for each in parts:
        assert each.number is not None
        possible = counts(each.number, each.problems) if each.problems and each.sampled == 1 else range(0)
        if possible and each.problems:
            low += Fraction(100 * possible[0], each.problems)
            high += Fraction(100 * possible[-1], each.problems)
        else:
            # A rate that no count gives may also have been cut off: a whole digit then.
            half = Fraction(ulp(each.number)) / (1 if each.problems and each.sampled == 1 else 2)
            low += Fraction(each.number) - half
            high += Fraction(each.number) + half
    return low / len(parts), high / len(parts)
