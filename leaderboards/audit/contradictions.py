"""One thing with two values in one paper."""

from collections.abc import Iterator

from ..published.record import SECOND_HAND, Published
from .book import Book, cell, name
from .finding import ERROR, WARNING, Finding

RULE = "contradiction"
# A setting is listed once, and a delta is another number for each row that it belongs to.
_LEFT_OUT = ("setting", "printed delta")


def contradictions(book: Book) -> Iterator[Finding]:
    """Cells of the same method, model and setting on the same benchmark that are not equal.

    Cells that two tables contradict each other on, in one column, are one finding.
    """
    groups: dict[tuple[str, ...], list[Published]] = {}
    for each in book.numbers:
        if each.metric not in _LEFT_OUT and (each.method or each.config):
            key = (each.paper, each.model, each.method, each.config, each.benchmark, each.metric)
            groups.setdefault(key, []).append(each)
    pairs: dict[tuple[str, str, str], list[tuple[Published, Published]]] = {}
    for group in groups.values():
        first = group[0]
        for other in group[1:]:
            if other.number != first.number or other.qualifier != first.qualifier:
                pairs.setdefault((first.table_id, other.table_id, first.benchmark), []).append((first, other))
    for (first_table, second_table, benchmark), found in pairs.items():
        # A quantity of a list of statements is no column: each is a finding by itself.
        each_alone = benchmark == "value"
        for part in [[pair] for pair in found] if each_alone else [found]:
            yield Finding(
                RULE,
                _severity(part),
                tuple(cell(each) for pair in part for each in pair),
                _sentence(part, first_table, second_table),
            )


def _severity(pairs: list[tuple[Published, Published]]) -> str:
    """Two versions of a paper may differ; so may notes. What one version says twice may not."""
    first, second = pairs[0]
    versions = {each.table.split("-")[0] for each in (first, second)} & {"icml", "www"}
    second_hand = SECOND_HAND in (first.evidence, second.evidence)
    return WARNING if len(versions) == 2 or second_hand else ERROR


def _sentence(pairs: list[tuple[Published, Published]], first_table: str, second_table: str) -> str:
    parts = []
    for first, second in pairs:
        here, there = (f"{each.qualifier}{each.value}" for each in (first, second))
        if first_table == second_table:
            parts.append(f"{name(first)} is {here}, {name(second)} is {there}")
        else:
            parts.append(f"{name(first)} is {here} in {first_table} and {there} in {second_table}")
    column = "" if pairs[0][0].benchmark == "value" else f"{pairs[0][0].benchmark}: "
    return column + "; ".join(parts)
