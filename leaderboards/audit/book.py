"""The published numbers as the rules look at them: by table, by row, by column."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..published.benchmarks import AVERAGE
from ..published.claims import Claim
from ..published.layout import DELTA
from ..published.record import FIGURE, Published
from .finding import Cell

RATES: Final = ("pass@1", "pass@8", "pass@32", "success", "accuracy")


@dataclass(frozen=True)
class Book:
    """All results and claims.

    Attributes:
        results: The numbers, row by row.
        claims: The claims about them.
    """

    results: Sequence[Published]
    claims: Sequence[Claim]

    @cached_property
    def numbers(self) -> tuple[Published, ...]:
        """What can be reckoned with: numbers that were printed, not read off a figure."""
        return tuple(each for each in self.results if each.number is not None and each.evidence != FIGURE)

    @cached_property
    def rows(self) -> dict[tuple[str, str], list[Published]]:
        """The numbers of each row, by table and row."""
        found: dict[tuple[str, str], list[Published]] = {}
        for each in self.numbers:
            found.setdefault((each.table_id, each.row), []).append(each)
        return found

    @cached_property
    def columns(self) -> dict[tuple[str, str, str], list[Published]]:
        """The numbers of each column, by table, benchmark and metric."""
        found: dict[tuple[str, str, str], list[Published]] = {}
        for each in self.numbers:
            found.setdefault((each.table_id, each.benchmark, each.metric), []).append(each)
        return found

    def of_row(self, table: str, row: str) -> list[Published]:
        """The numbers of a row; none if there is no such row."""
        return self.rows.get((table, row), [])

    def number(self, table: str, row: str, benchmark: str, metric: str) -> Published | None:
        """A cell with a number, or None."""
        for each in self.of_row(table, row):
            if (each.benchmark, each.metric) == (benchmark, metric):
                return each
        return None

    def missing(self, table: str, row: str) -> list[Published]:
        """The cells of a row that are known to exist and were not found."""
        return [each for each in self.results if (each.table_id, each.row) == (table, row) and not each.found]


def cell(result: Published) -> Cell:
    """Where a number stands."""
    column = f"{result.benchmark} delta" if result.metric == DELTA else result.benchmark
    return Cell(result.table_id, result.row, "" if result.metric in ("claim", "statement") else column)


def name(result: Published) -> str:
    """A row as a sentence can name it."""
    parts = [result.label, "" if result.setting == "-" or result.setting in result.label else result.setting]
    described = " ".join(part for part in parts if part)
    return f"{described} ({result.model})" if result.model and result.model != result.label else described


def components(row: Iterable[Published]) -> Iterator[Published]:
    """The cells of a row that its average is the mean of."""
    return (each for each in row if each.benchmark != AVERAGE and each.unit == "%" and each.metric in RATES)


def average(row: Iterable[Published]) -> Published | None:
    """The printed average of a row."""
    return next((each for each in row if each.benchmark == AVERAGE), None)
