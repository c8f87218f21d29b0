"""Untrained models with different numbers in different papers: the papers do not measure alike."""

from collections.abc import Iterator

from ..published.record import Published
from .book import RATES, Book, cell
from .finding import NOTE, Finding

RULE = "protocols differ"
_BASE = "Base"
# Points that decoding and grading alone should not make.
_APART = 5


def base_models(book: Book) -> Iterator[Finding]:
    """Base models whose rates on one benchmark are far apart between papers."""
    groups: dict[tuple[str, str, str], list[Published]] = {}
    for each in book.numbers:
        if each.method == _BASE and each.metric in RATES and each.unit == "%" and "not named" not in each.model:
            groups.setdefault((each.model, each.benchmark, each.metric), []).append(each)
    found: dict[str, list[list[Published]]] = {}
    for (model, _, _), group in groups.items():
        numbers = [each.number for each in group if each.number is not None]
        if len({each.paper for each in group}) > 1 and max(numbers) - min(numbers) > _APART:
            found.setdefault(model, []).append(group)
    for model, groups_of in found.items():
        told = "; ".join(
            f"{group[0].benchmark} " + ", ".join(f"{each.value} ({each.table_id})" for each in group)
            for group in groups_of
        )
        yield Finding(
            RULE,
            NOTE,
            tuple(cell(each) for group in groups_of for each in group),
            f"{model} before any training: {told}; their other rows cannot be compared either",
        )
