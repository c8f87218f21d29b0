"""One published number: what it is, where it stands, and how sure we are that it stands there."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from decimal import Decimal, InvalidOperation

PRIMARY, COPY, SECOND_HAND, FIGURE = "primary", "primary, through a copy", "second hand", "read off a figure"
EVIDENCE = (PRIMARY, COPY, SECOND_HAND, FIGURE)


@dataclass(frozen=True, slots=True)
class Published:
    """A cell of a published table, in the one form that all papers share.

    Attributes:
        paper: Short name of the paper; ``papers.toml`` knows the rest of it.
        table: Short name of the table in that paper; ``paper/table`` names it everywhere.
        row: Name of the row, unique in its table and fit for a folder's name.
        model: The model that was trained or tested; empty where it is not said.
        label: The row's name as the paper prints it.
        method: The same method by one name in all papers.
        setting: What else the row prints of itself, as p or an explorer.
        config: The setting in one spelling for all papers; rows with equal method, model and config are the same thing.
        benchmark: The column: a benchmark, a task type, or another quantity.
        metric: What is measured, as ``pass@1``.
        value: The number with the digits that are printed; empty where it is known to exist and was not found.
        qualifier: ``>``, ``>=`` or ``about`` where the paper gives no exact number.
        sd: Standard deviation over seeds that is printed with it; else empty.
        unit: ``%``, ``points``, ``share``, ``steps``, ``text``, or empty for a bare number.
        n: Number of problems or episodes that the paper or its code states; else empty.
        samples: Samples of each problem that it states; else empty.
        source: Where it was read.
        evidence: One of ``EVIDENCE``; empty where nothing was found.
        note: What a reader should know, in our words; where the value is empty, why.
    """

    paper: str
    table: str
    row: str
    model: str
    label: str
    method: str
    setting: str
    config: str
    benchmark: str
    metric: str
    value: str
    qualifier: str
    sd: str
    unit: str
    n: str
    samples: str
    source: str
    evidence: str
    note: str

    @property
    def table_id(self) -> str:
        """The table's name: ``holderpo/2``."""
        return f"{self.paper}/{self.table}"

    @property
    def found(self) -> bool:
        """Whether there is a value."""
        return self.value != ""

    @property
    def number(self) -> Decimal | None:
        """The value as it is printed, digit for digit; None where there is none or it is a text."""
        if not self.found or self.unit == "text":
            return None
        try:
            return Decimal(self.value)
        except InvalidOperation:
            return None

    @property
    def problems(self) -> int | None:
        """The stated number of problems."""
        return int(self.n) if self.n else None

    @property
    def sampled(self) -> int | None:
        """The stated number of samples of each problem."""
        return int(self.samples) if self.samples else None


COLUMNS = tuple(field.name for field in fields(Published))


def as_csv(records: Iterable[Published]) -> bytes:
    """Records as CSV in UTF-8, a line each."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(astuple(record) for record in records)
    return out.getvalue().encode()


def from_csv(content: bytes) -> list[Published]:
    """Reads what ``as_csv`` wrote.

    Raises:
        ValueError: If the columns are not those of this version, or a line has too few or too many.
    """
    lines: Sequence[list[str]] = list(csv.reader(io.StringIO(content.decode(), newline="")))
    if not lines or tuple(lines[0]) != COLUMNS:
        raise ValueError("the columns are not those of Published")
    return [Published(**dict(zip(COLUMNS, line, strict=True))) for line in lines[1:]]
