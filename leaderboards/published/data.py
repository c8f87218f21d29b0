"""Reads the published results that come with the package."""

from functools import cache
from importlib.resources import files

from .catalogue import find_table
from .claims import Claim, claims_from_csv
from .record import Published, from_csv


@cache
def read_results() -> tuple[Published, ...]:
    """All published numbers, table by table and row by row in the order of the papers."""
    return tuple(from_csv(_content("results.csv")))


@cache
def read_claims() -> tuple[Claim, ...]:
    """All claims with the cells that they speak of."""
    return tuple(claims_from_csv(_content("claims.csv")))


def results_of(table_id: str) -> tuple[Published, ...]:
    """The numbers of one table.

    Raises:
        UnknownNameError: If there is no such table.
    """
    return _by_table()[find_table(table_id).id]


@cache
def _by_table() -> dict[str, tuple[Published, ...]]:
    found: dict[str, list[Published]] = {}
    for result in read_results():
        found.setdefault(result.table_id, []).append(result)
    return {table: tuple(results) for table, results in found.items()}


def _content(name: str) -> bytes:
    return files(__package__).joinpath(name).read_bytes()
