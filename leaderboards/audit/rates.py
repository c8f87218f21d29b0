"""Rates that cannot be, for the number of problems that there are, and columns that mix sets of two sizes."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from ..published.benchmarks import BENCHMARKS, OVERALL, PANEL_SIZES
from ..published.record import Published
from .book import RATES, Book, cell, name
from .counts import always_possible, common_size, counts, counts_cut
from .finding import ERROR, NOTE, WARNING, Finding

IMPOSSIBLE, MIXED, NO_PANEL = "impossible rate", "mixed sets", "no panel"
# Where any rate fits a set by chance, that it fits says nothing of the others.
_TELLING = 100
_LISTED = 8


def impossible_rates(book: Book) -> Iterator[Finding]:
    """A column at a time: the rates that no count of won problems gives, and whether other sizes fit them."""
    for (_, benchmark, metric), column in book.columns.items():
        if metric not in RATES or benchmark not in BENCHMARKS or column[0].unit != "%":
            continue
        sizes = BENCHMARKS[benchmark].sizes
        size = column[0].problems or (sizes[0] if sizes else None)
        if size is None:
            continue
        trials = size * _samples(column[0])
        wrong = [each for each in column if not _fits(each, trials)]
        if not wrong:
            continue
        stated = column[0].problems is not None and column[0].sampled is not None
        right = [each for each in column if each not in wrong]
        cut = all(counts_cut(_number(each), trials) for each in wrong)
        other = _other_size(column[0], wrong, size)
        # Where most rates of a column fit and some do not, those were measured otherwise.
        odd = right and trials <= _TELLING and (other is not None or len(wrong) <= len(right))
        severity = NOTE if cut else ERROR if stated else WARNING if odd or column[0].sampled else NOTE
        yield Finding(
            IMPOSSIBLE,
            severity,
            tuple(cell(each) for each in wrong),
            _sentence(column[0], wrong, right, trials, size, other),
        )
        mixed = right and other is not None and not all(_fits(each, other * _samples(each)) for each in right)
        if mixed and other is not None:
            yield Finding(
                MIXED,
                WARNING,
                tuple(cell(each) for each in column),
                f"{_named(wrong)} fit {other} problems and {_named(right)} fit {size}: the rows of one column were "
                "measured on different sets",
            )


def one_pass(book: Book) -> Iterator[Finding]:
    """Rates over all household games that fit the stated number of episodes, and one pass over no panel."""
    for (_, benchmark, _), column in book.columns.items():
        if benchmark != OVERALL or column[0].problems is None:
            continue
        stated = column[0].problems
        found = [
            each for each in column if _fits(each, stated) and not any(_fits(each, n) for n in PANEL_SIZES.values())
        ]
        if found and stated not in PANEL_SIZES.values():
            panels = " nor ".join(f"{size} ({panel})" for panel, size in PANEL_SIZES.items())
            fits = ", ".join(f"{each.value} = {counts(_number(each), stated)[0]}/{stated}" for each in found)
            yield Finding(
                NO_PANEL,
                NOTE,
                tuple(cell(each) for each in found),
                f"{fits}: possible for {stated} draws, for one pass over neither {panels} games",
            )


def _samples(result: Published) -> int:
    """Attempts at a problem that make up one rate: pass@k over k samples counts a problem once."""
    return (result.sampled or 1) if result.metric in ("pass@1", "accuracy", "success") else 1


def _number(result: Published) -> Decimal:
    assert result.number is not None
    return result.number


def _fits(result: Published, trials: int) -> bool:
    number = _number(result)
    return always_possible(number, trials) or bool(counts(number, trials))


def _other_size(first: Published, wrong: Sequence[Published], size: int) -> int | None:
    """Another size of the set that fits all the rates: a known one, or the smallest that several of them share."""
    for known in BENCHMARKS[first.benchmark].sizes:
        if known != size and all(_fits(each, known * _samples(each)) for each in wrong):
            return known
    return common_size({_number(each) for each in wrong}) if size <= _TELLING else None


def _named(results: Sequence[Published]) -> str:
    """Values with their rows; only values where they are many."""
    if len(results) > 4:
        return ", ".join(each.value for each in results)
    return ", ".join(f"{each.value} ({name(each)})" for each in results)


def _sentence(
    first: Published,
    wrong: Sequence[Published],
    right: Sequence[Published],
    trials: int,
    size: int,
    other: int | None,
) -> str:
    noun = "episodes" if first.metric == "success" else "problems"
    many = f"{size} {noun}" if trials == size else f"{size} {noun} x {trials // size} samples"
    how = "stated" if first.problems is not None else "the usual size"
    parts = [f"{_named(wrong)}: not k of {many} ({how})"]
    cut = [each for each in wrong if counts_cut(_number(each), trials)]
    if cut:
        fits = ", ".join(f"{each.value} = {counts_cut(_number(each), trials)[0]}/{trials}" for each in cut)
        parts.append(f"{'all' if len(cut) == len(wrong) else 'only'} {fits} with digits cut off")
    if other is not None:
        parts.append(f"possible on {other} problems")
    elif first.sampled and first.sampled > 1 and all(_fits(each, 2 * trials) for each in wrong):
        parts.append(f"possible with {2 * first.sampled} samples")
    if right and trials <= _TELLING:
        others = ", ".join(each.value for each in right) if len(right) <= _LISTED else f"the {len(right)} others"
        parts.append(f"while {others} {'are' if len(right) > 1 else 'is'} possible")
    elif not first.sampled:
        parts.append("so more than one sample a problem, or another set")
    return "; ".join(parts)
