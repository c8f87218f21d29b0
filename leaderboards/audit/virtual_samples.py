"""AVSPO's number of virtual samples, K = max(1, min(G, ceil(G ACR^alpha))), against the mean K that is printed."""

import math
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from ..published.statements import GROUP_SIZE, GROUPS_PER_STEP
from .book import Book, cell
from .finding import WARNING, Cell, Finding

FORMULA, GRANULARITY = "formula", "granularity"
_K, _ACR = "mean K", "ACR"


def virtual_samples(book: Book) -> Iterator[Finding]:
    """Whether printed means of K can be what the formula gives for the printed collapse rates and exponents."""
    stated = {each.metric: each for each in book.numbers if each.metric in (GROUP_SIZE, GROUPS_PER_STEP)}
    if GROUP_SIZE not in stated:
        return
    size = int(stated[GROUP_SIZE].number or 0)
    for (table, benchmark, _), column in book.columns.items():
        if benchmark != _K:
            continue
        rows = []
        for printed in column:
            rate = book.number(table, printed.row, _ACR, _ACR)
            alpha = _alpha(printed.label)
            if rate is None or rate.number is None or printed.number is None or alpha is None:
                continue
            rows.append((alpha, float(printed.number), number_of(float(rate.number), alpha, size), printed))
        rows.sort(key=lambda row: row[0])
        rising = all(one[1] < two[1] for one, two in pairwise(rows))
        falling = all(one[2] >= two[2] for one, two in pairwise(rows))
        if len(rows) > 1 and rising and falling:
            pairs = ", ".join(f"{alpha:g}: {printed:g} and {formula}" for alpha, printed, formula, _ in rows)
            yield Finding(
                FORMULA,
                WARNING,
                tuple(cell(row[3]) for row in rows),
                "mean K rises with alpha, and by the formula it falls (alpha: printed and formula at the printed rate; "
                f"{pairs})",
            )
        groups = stated.get(GROUPS_PER_STEP)
        if groups is not None and groups.number == 1 and rows:
            fractional = ", ".join(f"{row[1]:g}" for row in rows)
            yield Finding(
                GRANULARITY,
                WARNING,
                (Cell(groups.table_id, groups.row), *(cell(row[3]) for row in rows)),
                f"with one group a step the collapse rate of a step is 0 or 1, so a repaired step has K = {size} "
                f"whatever alpha is; the table has means of {fractional}",
            )


def number_of(rate: float, alpha: float, size: int) -> int:
    """K for a collapse rate, an exponent and a group size."""
    return max(1, min(size, math.ceil(size * math.pow(rate, alpha))))


def _alpha(label: str) -> float | None:
    try:
        return float(Decimal(label))
    except InvalidOperation:
        return None
