"""Whether two read answers are the same answer. Symmetric: which of the two is the gold does not matter."""

import re
from collections import Counter
from fractions import Fraction

from .plain import Number, same_number
from .structure import Answer, Formula, Items, Named, Relation, Unit, Words
from .tidy import squash
from .units import units_differ

MIN_DIGITS = 5
"""Significant digits that a decimal must show to stand for an exact value that it rounds."""

_IN_BASE = re.compile(r"(?P<digits>-?[\dA-F.]+)_\{?(?P<base>\d{1,2})\}?")
_RATIO = re.compile(r"(?P<first>[^:]{1,60}):(?P<second>[^:]{1,60})")
_CLOCK = re.compile(r"\d{1,2}:\d\d")
_FUNCTION_OF = re.compile(r"[a-zA-Z]\w*\(.*\)")


class Comparison:
    """Compares answers under one setting.

    Args:
        min_digits: Significant digits that a decimal must show to stand for an exact value.
    """

    def __init__(self, min_digits: int = MIN_DIGITS) -> None:
        self._min_digits = min_digits

    def same(self, first: Answer, second: Answer) -> bool:
        """Whether two answers are the same.

        Raises:
            Unreadable: If a formula has to be parsed and cannot be.
        """
        if isinstance(first, Named) or isinstance(second, Named):
            return self._same_named(first, second)
        if isinstance(first, Relation) or isinstance(second, Relation):
            return self._same_relation(first, second)
        if isinstance(first, Items) or isinstance(second, Items):
            return self._same_items(first, second)
        if isinstance(first, Words) or isinstance(second, Words):
            return self._same_words(first, second)
        return self._same_formula(first, second)

    def _same_named(self, first: Answer, second: Answer) -> bool:
        if isinstance(first, Named) and isinstance(second, Named):
            if _same_name(first.name, second.name):
                return self.same(first.value, second.value)
            sides = _as_equation(first), _as_equation(second)
            return sides[0] is not None and sides[1] is not None and _same_equation(sides[0], sides[1])
        named, other = (first, second) if isinstance(first, Named) else (second, first)
        assert isinstance(named, Named)
        if isinstance(other, Relation):
            sides_of_name = _as_equation(named)
            if other.sides and sides_of_name is not None:
                return _same_equation(sides_of_name, (other.sides[0], other.sides[1]))
            return not other.sides and self.same(named.value, other)
        return self.same(named.value, other)

    def _same_relation(self, first: Answer, second: Answer) -> bool:
        if not (isinstance(first, Relation) and isinstance(second, Relation)):
            return False
        if squash(first.latex) == squash(second.latex):
            return True
        if first.sides and second.sides:
            return _same_equation((first.sides[0], first.sides[1]), (second.sides[0], second.sides[1]))
        return False

    def _same_items(self, first: Answer, second: Answer) -> bool:
        if not (isinstance(first, Items) and isinstance(second, Items)):
            items, other = (first, second) if isinstance(first, Items) else (second, first)
            assert isinstance(items, Items)
            if items.decimal and isinstance(other, Formula) and other.number and other.number.places is not None:
                return same_number(items.decimal, other.number, self._min_digits)
            if items.latex and isinstance(other, Formula):
                return self._same_formula(Formula(items.latex), other)
            return len(items.members) == 1 and not items.ordered and self.same(items.members[0], other)
        if first.decimal and second.decimal and len(first.members) != len(second.members):
            return same_number(first.decimal, second.decimal, self._min_digits)
        if first.vector and second.opening in ("(", r"\langle"):
            first = Items(first.vector, "(", ")")
        elif second.vector and first.opening in ("(", r"\langle"):
            second = Items(second.vector, "(", ")")
        if not first.ordered and not second.ordered:
            return self._same_in_any_order(_without_idle_names(first), _without_idle_names(second))
        if len(first.members) != len(second.members):
            return False
        if first.ordered and second.ordered:
            return _same_brackets(first, second) and self._same_in_order(first, second)
        tuple_, list_ = (first, second) if first.ordered else (second, first)
        written_alike = (tuple_.opening, tuple_.closing) == ("(", ")") and list_.opening == ""
        return written_alike and self._same_in_order(first, second)

    def _same_in_order(self, first: Items, second: Items) -> bool:
        return all(self.same(one, other) for one, other in zip(first.members, second.members, strict=True))

    def _same_in_any_order(self, first: list[Answer], second: list[Answer]) -> bool:
        """Matches one to one. If one side repeats itself and the other does not, the repetitions do not count."""
        if len(first) > len(second):
            first, second = second, first
        if len(first) < len(second):
            second = self._once_each(second)
        if len(first) != len(second):
            return False
        left = list(second)
        for one in first:
            found = next((place for place, other in enumerate(left) if self.same(one, other)), None)
            if found is None:
                return False
            del left[found]
        return True

    def _once_each(self, members: list[Answer]) -> list[Answer]:
        kept: list[Answer] = []
        for member in members:
            if not any(self.same(member, other) for other in kept):
                kept.append(member)
        return kept

    def _same_words(self, first: Answer, second: Answer) -> bool:
        if isinstance(first, Words) and isinstance(second, Words):
            if first.text == second.text or first.text.replace(" ", "") == second.text.replace(" ", ""):
                return True
            products = not first.marked and not second.marked and max(map(len, (first.latex, second.latex))) <= 3
            return products and sorted(first.latex) == sorted(second.latex)
        words, other = (first, second) if isinstance(first, Words) else (second, first)
        assert isinstance(words, Words)
        if not isinstance(other, Formula):
            return False
        if squash(other.latex).lower() == words.text.replace(" ", ""):
            return True
        if words.marked or other.number is not None or len(words.latex) > 3:
            return False
        return self._same_formula(Formula(words.latex), other)

    def _same_formula(self, first: Answer, second: Answer) -> bool:
        assert isinstance(first, Formula)
        assert isinstance(second, Formula)
        if units_differ(first.unit or first.sign.value, second.unit or second.sign.value):
            return False
        if first.number is not None and second.number is not None:
            return self._same_numbers(first, second)
        special = self._same_special(first, second)
        if special is not None:
            return special
        if _without_case_of_e(first.latex) == _without_case_of_e(second.latex):
            return True
        return self._same_by_algebra(first, second)

    def _same_numbers(self, first: Formula, second: Formula) -> bool:
        assert first.number is not None
        assert second.number is not None
        if same_number(first.number, second.number, self._min_digits):
            return True
        if (first.sign is Unit.PERCENT) == (second.sign is Unit.PERCENT):
            return False
        percent, plain = (first, second) if first.sign is Unit.PERCENT else (second, first)
        assert percent.number is not None
        assert plain.number is not None
        return same_number(_hundredth(percent.number), plain.number, self._min_digits)

    def _same_special(self, first: Formula, second: Formula) -> bool | None:
        """Numbers in another base, ratios and times of day; None when neither side is one."""
        bases = _IN_BASE.fullmatch(squash(first.latex)), _IN_BASE.fullmatch(squash(second.latex))
        if any(bases):
            shown = [
                match["digits"] if match else squash(f.latex) for match, f in zip(bases, (first, second), strict=True)
            ]
            named = {match["base"] for match in bases if match}
            return shown[0] == shown[1] and len(named) == 1
        clocks = _CLOCK.fullmatch(first.latex), _CLOCK.fullmatch(second.latex)
        if all(clocks):
            return first.latex.zfill(5) == second.latex.zfill(5)
        return None

    def _same_by_algebra(self, first: Formula, second: Formula) -> bool:
        # Importing a computer algebra system takes a second; plain numbers never need it.
        from .expressions import rounds_to_decimal, same_formula

        one, other = _as_quotient(first.latex), _as_quotient(second.latex)
        for formula, number in ((one, second.number), (other, first.number)):
            shown = number is not None and number.places is not None and number.digits >= self._min_digits
            if number is not None and shown and rounds_to_decimal(formula, number):
                return True
        if same_formula(one, other):
            return True
        if first.sign is second.sign or Unit.NONE not in (first.sign, second.sign):
            return False
        signed, plain = (one, other) if second.sign is Unit.NONE else (other, one)
        factor = r"\frac{1}{100}" if Unit.PERCENT in (first.sign, second.sign) else r"\frac{\pi}{180}"
        return same_formula(rf"{factor} \cdot ({signed})", plain)


def _same_equation(first: tuple[str, str], second: tuple[str, str]) -> bool:
    from .expressions import same_equation

    return same_equation(first, second)


def _as_equation(named: Named) -> tuple[str, str] | None:
    return (named.name, named.value.latex) if isinstance(named.value, Formula | Words) else None


def _same_name(first: str, second: str) -> bool:
    """Whether two names may name one thing: y is what a function of x is often called."""
    if first.lower().replace("{", "").replace("}", "") == second.lower().replace("{", "").replace("}", ""):
        return True
    return any(one == "y" and _FUNCTION_OF.fullmatch(other) for one, other in ((first, second), (second, first)))


def _same_brackets(first: Items, second: Items) -> bool:
    if {"matrix", "&"} & {first.opening, second.opening}:
        return first.opening == second.opening
    if first.interval and second.interval:
        return (first.opening, first.closing) == (second.opening, second.closing)
    return True


def _without_idle_names(items: Items) -> list[Answer]:
    """Drops the names from ``x = 1, x = 2``: one name for all values tells them not apart."""
    names = Counter(member.name for member in items.members if isinstance(member, Named))
    named = sum(names.values())
    if named and len(names) < max(2, named):
        return [member.value if isinstance(member, Named) else member for member in items.members]
    return list(items.members)


def _as_quotient(latex: str) -> str:
    """Writes the ratio ``11:21`` as a quotient."""
    match = _RATIO.fullmatch(latex)
    if match is None or _CLOCK.fullmatch(latex):
        return latex
    return rf"\frac{{{match['first'].strip()}}}{{{match['second'].strip()}}}"


def _without_case_of_e(latex: str) -> str:
    return squash(latex) if squash(latex) not in ("e", "E") else "e"


def _hundredth(number: Number) -> Number:
    places = None if number.places is None else number.places + 2
    return Number(number.value * Fraction(1, 100), places, number.digits)
