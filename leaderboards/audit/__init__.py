"""Looks for what does not agree in published tables: sums, counts, deltas, contradictions, copied rows."""

from .finding import SEVERITIES, Cell, Finding
from .rules import RULES, audit

__all__ = ["RULES", "SEVERITIES", "Cell", "Finding", "audit"]
