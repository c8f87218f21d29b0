"""A finding of the audit: a cell, the rule that it breaks, and how bad that is."""

from dataclasses import dataclass
from typing import Final, NamedTuple

# What cannot be; what is very probably wrong or misleads; what a reader should know and rounding or quoting explains.
ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES: Final = (ERROR, WARNING, NOTE)


class Cell(NamedTuple):
    """A cell of a published table; ``column`` is empty for a whole row."""

    table: str
    row: str
    column: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in the published numbers that does not agree.

    Attributes:
        rule: Name of the rule that found it.
        severity: One of ``SEVERITIES``.
        cells: The cells that it is about, at least one.
        message: What does not agree, in a sentence.
    """

    rule: str
    severity: str
    cells: tuple[Cell, ...]
    message: str

    @property
    def key(self) -> str:
        """Names the finding: the rule, and the first cell without its row where the finding is about a column."""
        first = self.cells[0]
        columns = {(cell.table, cell.column) for cell in self.cells}
        whole_column = len(self.cells) > 1 and len(columns) == 1 and first.column
        return f"{self.rule}: {first.table} {first.column}" if whole_column else f"{self.rule}: {first}"
