"""What papers claim of their numbers, with the cells that a claim speaks of, so that it can be checked."""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from typing import Final

# A claim is about one number, a difference in points, a gain in per cent, or an order of many rows.
VALUE, GAIN, RELATIVE, ORDER = "value", "gain", "relative gain", "order"
KINDS: Final = (VALUE, GAIN, RELATIVE, ORDER)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence with a number.

    Attributes:
        paper: Short name of the paper.
        row: Name of the claim's row in the table ``paper/claims``.
        text: What is claimed, in our words.
        kind: One of ``KINDS``; empty for one that no cell can tell.
        value: The number as printed; empty for an order.
        qualifier: ``>`` or ``about``; else empty.
        unit: ``%`` or ``points``.
        table: The table that the cells are in.
        of: Its row; for an order what the better rows have in their setting and the worse ones have not.
        over: The row that it is compared with; for an order what the worse rows have in that place.
        benchmark: The column.
        metric: Its metric.
        source: Where it was read.
        evidence: As for a published number.
        note: What a reader should know.
    """

    paper: str
    row: str
    text: str
    kind: str
    value: str
    qualifier: str = ""
    unit: str = ""
    table: str = ""
    of: str = ""
    over: str = ""
    benchmark: str = ""
    metric: str = ""
    source: str = ""
    evidence: str = ""
    note: str = ""


_COLUMNS = tuple(field.name for field in fields(Claim))


def claims_as_csv(claims: Iterable[Claim]) -> bytes:
    """Claims as CSV in UTF-8, a line each."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(astuple(claim) for claim in claims)
    return out.getvalue().encode()


def claims_from_csv(content: bytes) -> list[Claim]:
    """Reads what ``claims_as_csv`` wrote.

    Raises:
        ValueError: If the columns are not those of this version.
    """
    lines = list(csv.reader(io.StringIO(content.decode(), newline="")))
    if not lines or tuple(lines[0]) != _COLUMNS:
        raise ValueError("the columns are not those of Claim")
    return [Claim(**dict(zip(_COLUMNS, line, strict=True))) for line in lines[1:]]
