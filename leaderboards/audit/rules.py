"""The audit: all rules over all published numbers."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ..published.claims import Claim
from ..published.data import read_claims, read_results
from ..published.record import Published
from .averages import averages, stated_averaging
from .book import Book
from .claimed import claimed_gains, claimed_orders, noise, printed_deltas
from .contradictions import contradictions
from .finding import SEVERITIES, Finding
from .parts import task_types
from .protocols import base_models
from .quoted import identical_rows, quoted_rows, shared_claims
from .rates import impossible_rates, one_pass
from .virtual_samples import virtual_samples

RULES: Final[tuple[Callable[[Book], Iterator[Finding]], ...]] = (
    contradictions,
    averages,
    stated_averaging,
    impossible_rates,
    one_pass,
    task_types,
    identical_rows,
    quoted_rows,
    shared_claims,
    printed_deltas,
    claimed_gains,
    claimed_orders,
    noise,
    virtual_samples,
    base_models,
)


def audit(results: Sequence[Published] | None = None, claims: Sequence[Claim] | None = None) -> list[Finding]:
    """Everything that does not agree in the published numbers, the worst first.

    No rule knows a particular number: they reckon with what the tables print, what the papers state of their sets and
    samples, and what is known of the benchmarks.

    Args:
        results: Numbers to look at; None for all that come with the package.
        claims: Claims to look at; None for all that come with the package.
    """
    book = Book(
        read_results() if results is None else results,
        read_claims() if claims is None else claims,
    )
    order = {row: number for number, row in enumerate(dict.fromkeys(each.table_id for each in book.results))}
    found = [finding for rule in RULES for finding in rule(book)]
    return sorted(
        found, key=lambda each: (SEVERITIES.index(each.severity), order.get(each.cells[0].table, len(order)), each.rule)
    )
