"""Rows that are equal where they should not be: under two names, or in two papers."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from ..published.record import Published
from ..published.statements import BASELINES, MATCHED
from .book import Book, cell, name
from .finding import NOTE, WARNING, Cell, Finding

TWINS, QUOTED, PARTLY, SHARED = "identical rows", "quoted row", "partly equal row", "one claim, two papers"
_ARXIV = re.compile(r"\b\d{4}\.\d{5}\b")
# So many equal cells are no accident.
_ENOUGH, _SOME = 3, 2

Cells = dict[tuple[str, str], Published]


def identical_rows(book: Book) -> Iterator[Finding]:
    """Rows of one paper with another method or setting and the same numbers."""
    for (table, row), first, (_, other), second in _pairs(book):
        one, two = first[0], second[0]
        if one.paper != two.paper or _same_thing(one, two) or one.model != two.model:
            continue
        shared, equal = _shared(first, second)
        if len(shared) >= _ENOUGH and len(equal) == len(shared):
            yield Finding(
                TWINS,
                WARNING,
                (Cell(table, row), Cell(two.table_id, other)),
                f"{name(one)} and {name(two)} have the same {len(shared)} numbers",
            )


def quoted_rows(book: Book) -> Iterator[Finding]:
    """Rows of two papers that are equal: one is quoted, not measured again."""
    matched = {each.paper for each in book.results if each.metric == BASELINES and each.value == MATCHED}
    for (table, row), first, (_, other), second in _pairs(book):
        one, two = first[0], second[0]
        renamed = bool(one.config) and one.config == two.config
        if one.paper == two.paper or not one.model or one.model != two.model:
            continue
        if not (renamed or (one.method and one.method == two.method and one.config == two.config)):
            continue
        shared, equal = _shared(first, second)
        said = [paper for paper in (one.paper, two.paper) if paper in matched and not renamed]
        cells = (Cell(table, row), Cell(two.table_id, other))
        if shared and len(equal) == len(shared):
            same = f"the same {len(shared)} numbers" if len(shared) > 1 else f"the same {shared[0][0]}"
            message = f"{name(one)} of {table} has {same} as {name(two)} of {two.table_id}"
            if one.method != two.method:
                message += ", the same setting by another name"
            if said:
                message += f", though {said[0]}'s text says that baselines were {MATCHED}"
            yield Finding(QUOTED, WARNING if said else NOTE, cells, message)
        elif len(equal) >= _SOME:
            differing = [key for key in shared if key not in equal]
            unlike = ", ".join(
                f"{key[0]} {_at(first, key).value} against {_at(second, key).value}" for key in differing
            )
            yield Finding(
                PARTLY,
                WARNING,
                (*(cell(_at(first, key)) for key in differing), *cells),
                f"{name(one)} of {table} and {name(two)} of {two.table_id} have "
                f"{', '.join(key[0] for key in equal)} in common, and differ in {unlike}",
            )


def shared_claims(book: Book) -> Iterator[Finding]:
    """Claims that two papers make with the same number."""
    for claim in book.claims:
        papers = sorted(set(_ARXIV.findall(claim.source)))
        if len(papers) > 1 and claim.value:
            yield Finding(
                SHARED,
                NOTE,
                (Cell(f"{claim.paper}/claims", claim.row),),
                f"{claim.text}: arXiv {' and '.join(papers)} both say {claim.value}, so they report the same runs",
            )


def _pairs(
    book: Book,
) -> Iterator[tuple[tuple[str, str], list[Published], tuple[str, str], list[Published]]]:
    for (first, ones), (second, twos) in combinations(book.rows.items(), 2):
        yield first, ones, second, twos


def _same_thing(one: Published, two: Published) -> bool:
    return (one.method, one.config) == (two.method, two.config)


def _key(result: Published) -> tuple[str, str]:
    return result.benchmark, result.metric


def _at(row: Sequence[Published], key: tuple[str, str]) -> Published:
    return next(each for each in row if _key(each) == key)


def _shared(
    first: Sequence[Published], second: Sequence[Published]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The columns that both rows have, and those in which they are equal."""
    theirs: Cells = {_key(each): each for each in second}
    shared = [_key(each) for each in first if _key(each) in theirs]
    return shared, [key for key in shared if _at(first, key).number == theirs[key].number]
