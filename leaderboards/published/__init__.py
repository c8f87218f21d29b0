"""Published results as data: every number of the papers' tables that could be found, with its source."""

from .catalogue import TABLES, find_table
from .claims import Claim
from .data import read_claims, read_results, results_of
from .layout import Column, Table
from .record import EVIDENCE, Published

__all__ = [
    "EVIDENCE",
    "TABLES",
    "Claim",
    "Column",
    "Published",
    "Table",
    "find_table",
    "read_claims",
    "read_results",
    "results_of",
]
