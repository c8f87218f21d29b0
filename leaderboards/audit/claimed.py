"""Printed deltas and claimed gains that the rows do not give, and claims that noise could have made."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from ...eval.intervals import Interval, wilson
from ..published.benchmarks import AVERAGE
from ..published.claims import GAIN, ORDER, RELATIVE, VALUE, Claim
from ..published.layout import DELTA
from ..published.record import Published
from ..rate_differences import Part, combined
from .averages import TRUNCATED, averages, mean_of, shown
from .book import Book, cell, components, name
from .counts import counts, is_cut, ulp
from .finding import ERROR, NOTE, WARNING, Cell, Finding

DELTA_RULE, CLAIM_RULE, RESTS, NOISE, ORDER_RULE = (
    "printed delta",
    "claim",
    "claim rests on an average",
    "within noise",
    "claimed order",
)
_BASELINE = "GRPO"


def printed_deltas(book: Book) -> Iterator[Finding]:
    """Deltas beside a number that are not its difference to the baseline's row of the same model."""
    for delta in book.numbers:
        if delta.metric != DELTA or delta.number is None:
            continue
        own = next((each for each in book.of_row(delta.table_id, delta.row) if _same_column(each, delta)), None)
        base = next(
            (
                each
                for each in book.numbers
                if each.table_id == delta.table_id
                and each.model == delta.model
                and each.method == _BASELINE
                and _same_column(each, delta)
            ),
            None,
        )
        if own is None or base is None or own.number is None or base.number is None:
            continue
        difference = own.number - base.number
        if difference != delta.number:
            explained = abs(difference - delta.number) <= ulp(own.number)
            yield Finding(
                DELTA_RULE,
                NOTE if explained else ERROR,
                (cell(delta),),
                f"{name(own)}: prints {delta.value}, and {own.value} - {base.value} is {difference}"
                + ("; rounding of the two can explain it" if explained else ""),
            )


def claimed_gains(book: Book) -> Iterator[Finding]:
    """Values and gains in the text that the cells do not give."""
    wrong = {found.cells[0] for found in averages(book) if found.severity != NOTE}
    for claim in book.claims:
        of, over = _cells(book, claim)
        if not claim.value or claim.qualifier or of is None or of.number is None:
            continue
        where = Cell(f"{claim.paper}/claims", claim.row)
        printed = Fraction(claim.value)
        half = Fraction(ulp(_decimal(claim))) / 2
        if claim.kind == VALUE and abs(Fraction(of.number) - printed) > (half if _coarser(claim, of) else 0):
            cut = _coarser(claim, of) and is_cut(Fraction(of.number), Fraction(of.number), _decimal(claim))
            message = f"{claim.text}: {claim.value}, and the table has {of.value}" + (f"; {TRUNCATED}" if cut else "")
            yield Finding(CLAIM_RULE, WARNING if cut else ERROR, (where, cell(of)), message)
        if over is None or over.number is None or claim.kind not in (GAIN, RELATIVE):
            continue
        difference = Fraction(of.number) - Fraction(over.number)
        relative = 100 * difference / Fraction(over.number) if over.number else Fraction(0)
        truth = relative if claim.kind == RELATIVE else difference
        if abs(truth - printed) > half:
            found = "points" if claim.kind == RELATIVE else "%"
            other = difference if claim.kind == RELATIVE else relative
            message = f"{claim.text}: {claim.value} {claim.unit}, and {of.value} over {over.value} is {shown(truth)}"
            message += " %" if claim.kind == RELATIVE else " points"
            mistaken = abs(other - printed) <= half
            cut = is_cut(truth, truth, _decimal(claim))
            message += f"; it is {shown(other)} {found}" if mistaken else f"; {TRUNCATED}" if cut else ""
            yield Finding(CLAIM_RULE, WARNING if mistaken or cut else ERROR, (where, cell(of), cell(over)), message)
        elif claim.benchmark == AVERAGE and claim.kind == GAIN and {cell(of), cell(over)} & wrong:
            means = [mean_of(list(components(book.of_row(each.table_id, each.row)))) for each in (of, over)]
            yield Finding(
                RESTS,
                WARNING,
                (where, cell(of)),
                f"{claim.text}: {claim.value} holds for the printed averages; with the means of the cells, "
                f"{shown(means[0])} and {shown(means[1])}, it is {shown(means[0] - means[1])}",
            )


def noise(book: Book) -> Iterator[Finding]:
    """Claims that one is better, where the number of problems cannot tell the two apart."""
    seen = set()
    for claim in book.claims:
        of, over = _cells(book, claim)
        if of is None or over is None or of.number is None or over.number is None or (cell(of), cell(over)) in seen:
            continue
        seen.add((cell(of), cell(over)))  # a value and a relative gain may speak of the same two
        parts = [*_parts(book, of, 1.0), *_parts(book, over, -1.0)]
        if not parts:
            continue
        difference, (low, high, cause) = combined(parts)
        if cause or not low <= 0.0 <= high:
            continue
        message = (
            f"{claim.text}: {of.value} against {over.value} ({name(over)}) is {100 * difference:+.1f} points, "
            f"95% interval [{100 * low:+.1f}, {100 * high:+.1f}] if the two are independent: they cannot be told apart"
        )
        if of.problems:
            problems = abs(counts(of.number, of.problems)[0] - counts(over.number, of.problems)[0])
            message += f"; it is {problems} of {of.problems} problems, and one is {100 / of.problems:.2f} points"
        yield Finding(NOISE, NOTE, (Cell(f"{claim.paper}/claims", claim.row), cell(of), cell(over)), message)


def claimed_orders(book: Book) -> Iterator[Finding]:
    """Claims that one kind of setting is better, which most pairs of rows do not show."""
    for claim in book.claims:
        if claim.kind != ORDER:
            continue
        rows = {
            each.setting: each
            for each in book.numbers
            if (each.table_id, each.benchmark, each.metric) == (claim.table, claim.benchmark, claim.metric)
        }
        pairs = [
            (each, rows[setting.replace(claim.of, claim.over)])
            for setting, each in rows.items()
            if claim.of in setting and setting.replace(claim.of, claim.over) in rows
        ]
        against = [pair for pair in pairs if (pair[0].number or 0) <= (pair[1].number or 0)]
        if against:
            listed = ", ".join(f"{better.setting} {better.value} against {worse.value}" for better, worse in against)
            yield Finding(
                ORDER_RULE,
                WARNING,
                (Cell(f"{claim.paper}/claims", claim.row), *(cell(each) for pair in against for each in pair)),
                f"{claim.text}: {len(pairs) - len(against)} of {len(pairs)} pairs of rows show it; not {listed}",
            )


def _decimal(claim: Claim) -> Decimal:
    return Decimal(claim.value)


def _coarser(claim: Claim, result: Published) -> bool:
    """Whether the text gives fewer digits than the table."""
    return result.number is not None and ulp(_decimal(claim)) > ulp(result.number)


def _same_column(result: Published, delta: Published) -> bool:
    return result.benchmark == delta.benchmark and result.metric != DELTA


def _cells(book: Book, claim: Claim) -> tuple[Published | None, Published | None]:
    def at(row: str) -> Published | None:
        return book.number(claim.table, row, claim.benchmark, claim.metric) if row else None

    return (None, None) if claim.kind == ORDER else (at(claim.of), at(claim.over))


def _parts(book: Book, result: Published, sign: float) -> list[Part]:
    """A rate, or the rates that an average is the mean of, each with its interval; none if a count is not known."""
    if result.benchmark != AVERAGE:
        single = _part(result, sign)
        return [single] if single else []
    row = list(components(book.of_row(result.table_id, result.row)))
    found = [part for each in row if (part := _part(each, sign / len(row))) is not None]
    return found if len(found) == len(row) else []


def _part(result: Published, weight: float) -> Part | None:
    if result.number is None or not result.problems or result.sampled != 1:
        return None
    possible = counts(result.number, result.problems)
    won = possible[0] if possible else round(float(result.number) * result.problems / 100)
    interval: Interval = wilson(won, result.problems)
    return Part(weight, won / result.problems, interval)
