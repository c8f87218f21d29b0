"""Whether two formulas are equal: exactly where that can be decided, else by their values to many digits."""

import random
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import sympy
from math_verify import verify
from mpmath import MPContext
from sympy import Basic, MatrixBase

from .formula import Expression, parse_formula
from .numeric import NoValue, OutsideDomain, Point, Value, context, exact_value, value_at
from .plain import NOISE, Number, close
from .tidy import squash

_PRECISIONS = (50, 600)
"""Decimal digits of the first comparison and of the one that confirms it."""

_POINTS = 40
_ENOUGH = 5
_WHOLE_NUMBER_FUNCTIONS = (sympy.floor, sympy.ceiling, sympy.factorial, sympy.binomial, sympy.Sum, sympy.Product)
_ELLIPSIS = re.compile(r"\\ldots")


def same_formula(first: str, second: str) -> bool:
    """Whether two tidied formulas have the same value wherever both have one.

    Raises:
        Unreadable: If one of them cannot be parsed.
    """
    if squash(first) == squash(second):
        return True
    if _ELLIPSIS.search(first) or _ELLIPSIS.search(second):
        return False
    one, other = parse_formula(first), parse_formula(second)
    if same_expression(one, other):
        return True
    mixed = first.lower() != first or second.lower() != second
    return mixed and _one_case(first) and _one_case(second) and _same_in_lower_case(one, other)


def same_expression(first: Expression, second: Expression) -> bool:
    """Whether two parsed expressions are equal; matrices entry by entry."""
    if isinstance(first, MatrixBase) or isinstance(second, MatrixBase):
        return _same_matrix(first, second)
    if not (isinstance(first, sympy.Expr) and isinstance(second, sympy.Expr)):
        return same_by_math_verify(first, second)
    if first.has(sympy.zoo, sympy.nan) or second.has(sympy.zoo, sympy.nan):
        return False
    exact = exact_value(first), exact_value(second)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1] or (
            (first.has(sympy.Float) or second.has(sympy.Float)) and close(exact[0], exact[1], NOISE)
        )
    if first == second:
        return True
    if first.has(sympy.oo) or second.has(sympy.oo):
        return False
    verdict = _same_values(first, second)
    return same_by_math_verify(first, second) if verdict is None else verdict


def rounds_to_decimal(formula: str, decimal: Number) -> bool:
    """Whether a formula without variables, rounded to the places of a decimal, is that decimal."""
    expression = parse_formula(formula)
    if not isinstance(expression, sympy.Expr) or expression.free_symbols or expression.has(sympy.Float):
        return False
    exact = exact_value(expression)
    if exact is None:
        try:
            value = value_at(expression, {}, _arithmetic(_PRECISIONS[0]))
        except (OutsideDomain, NoValue):
            return False
        if not isinstance(value, _arithmetic(_PRECISIONS[0]).mpf):
            return False
        exact = _as_fraction(value)
    assert decimal.places is not None
    return 2 * abs(exact - decimal.value) <= Fraction(10) ** -decimal.places


def same_by_math_verify(first: Expression, second: Expression) -> bool:
    """Asks math-verify, for what is neither a number nor an expression with values: sets, relations, integrals."""
    return any(
        verify([gold], [answer], timeout_seconds=None, allow_set_relation_comp=True)
        for gold, answer in ((first, second), (second, first))
    )


def same_equation(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Whether two equations say the same: their sides' differences are proportional, or solve alike for a variable."""
    if tuple(map(squash, first)) == tuple(map(squash, second)):
        return True
    one, other = (_difference(sides) for sides in (first, second))
    if one is None or other is None:
        return False
    names = sorted(_names(one) | _names(other))
    if _names(one) != _names(other):
        return False
    return _proportional(one, other, names) or any(_solve_alike(one, other, name, names) for name in names)


def _difference(sides: tuple[str, str]) -> sympy.Expr | None:
    left, right = map(parse_formula, sides)
    if not (isinstance(left, sympy.Expr) and isinstance(right, sympy.Expr)):
        return None
    return sympy.Add(left, sympy.Mul(-1, right, evaluate=False), evaluate=False)


def _proportional(first: sympy.Expr, second: sympy.Expr, names: list[str]) -> bool:
    mp = _arithmetic(_PRECISIONS[0])
    ratios: list[Value] = []
    for point in _points(names, mp, whole=False):
        try:
            one, other = value_at(first, point, mp), value_at(second, point, mp)
        except OutsideDomain:
            continue
        except NoValue:
            return False
        if one == 0 or other == 0:
            return False
        ratios.append(one / other)
        if not _near(ratios[0], ratios[-1], mp):
            return False
        if len(ratios) >= _ENOUGH:
            return True
    return False


def _solve_alike(first: sympy.Expr, second: sympy.Expr, name: str, names: list[str]) -> bool:
    mp = _arithmetic(_PRECISIONS[0])
    found = 0
    for point in _points(names, mp, whole=False):
        try:
            one, other = (_solution(expression, name, point, mp) for expression in (first, second))
        except OutsideDomain:
            continue
        except NoValue:
            return False
        if one is None or other is None or not _near(one, other, mp):
            return False
        found += 1
        if found >= _ENOUGH:
            return True
    return False


def _solution(expression: sympy.Expr, name: str, point: Point, mp: MPContext) -> Value | None:
    """The value of one variable, the others given, if the expression is linear in it."""
    at = [value_at(expression, {**point, name: mp.mpf(x)}, mp) for x in (1, 2, 3)]
    slope = at[1] - at[0]
    if slope == 0 or not _near(slope, at[2] - at[1], mp):
        return None
    return 1 - at[0] / slope


def _same_matrix(first: Expression, second: Expression) -> bool:
    one, other = (part.doit() if isinstance(part, sympy.MatrixExpr | MatrixBase) else part for part in (first, second))
    if not (isinstance(one, MatrixBase) and isinstance(other, MatrixBase)) or one.shape != other.shape:
        return False
    return all(same_expression(a, b) for a, b in zip(one.flat(), other.flat(), strict=True))


def _same_values(first: sympy.Expr, second: sympy.Expr) -> bool | None:
    """Compares values at points; None if there are none to compare.

    Functions of whole numbers are compared at whole numbers only, if both sides have them.
    """
    names = sorted((_names(first) | _names(second)) - {"i"})
    whole = all(_of_whole_numbers(expression) for expression in (first, second))
    mp = _arithmetic(_PRECISIONS[0])
    found = 0
    for point in _points(names, mp, whole) if names else iter([{}]):
        try:
            if not _same_at(first, second, point, sharply=found == 0):
                return False
        except OutsideDomain:
            continue
        except NoValue:
            return None
        found += 1
        if found >= _ENOUGH:
            break
    return True if found else None


def _of_whole_numbers(expression: sympy.Expr) -> bool:
    if expression.has(*_WHOLE_NUMBER_FUNCTIONS):
        return True
    return any(power.base.is_negative and power.free_symbols for power in expression.atoms(sympy.Pow))


def _same_at(first: sympy.Expr, second: sympy.Expr, point: Point, *, sharply: bool) -> bool:
    """Compares two values relative to their size, to 50 digits, and if that does not decide to 600.

    A value that changes with the precision is rounding noise around 0.
    """
    low, high = (_arithmetic(digits) for digits in _PRECISIONS)
    one, other = value_at(first, point, low), value_at(second, point, low)
    if not sharply and _near(one, other, low):
        return True
    if not _near(one, other, low) and min(abs(one), abs(other)) > low.mpf(10) ** -20:
        return False
    fine = {name: high.convert(value) for name, value in point.items()}
    sharp, sharp_other = value_at(first, fine, high), value_at(second, fine, high)
    if _near(sharp, sharp_other, high):
        return True
    return _is_noise(one, sharp, high) and _is_noise(other, sharp_other, high)


def _is_noise(rough: Value, sharp: Value, mp: MPContext) -> bool:
    if sharp == 0:
        return True
    return bool(abs(sharp) < mp.mpf(10) ** -20 and abs(mp.convert(rough) - sharp) > abs(sharp) * mp.mpf(10) ** -10)


def _near(first: Value, second: Value, mp: MPContext) -> bool:
    """Whether two values agree to six tenths of the digits."""
    return bool(abs(first - second) <= mp.mpf(10) ** (-0.6 * mp.dps) * max(abs(first), abs(second)))


def _points(names: list[str], mp: MPContext, whole: bool) -> Iterator[dict[str, Value]]:
    """Points to compare at, always the same: positive ones and negative ones, or small whole numbers."""
    dice = random.Random(20_240_607)
    for number in range(_POINTS):
        if whole:
            yield {name: mp.mpf(dice.randint(2, 14)) for name in names}
        else:
            sign: Callable[[], int] = (lambda: 1) if number % 2 == 0 else (lambda: dice.choice((1, -1)))
            yield {name: sign() * mp.mpf(dice.randint(300_000, 3_000_000)) / 1_000_003 for name in names}


def _names(expression: Basic) -> set[str]:
    return {symbol.name for symbol in expression.free_symbols if isinstance(symbol, sympy.Symbol)}


def _one_case(latex: str) -> bool:
    """Whether no letter stands both in upper and in lower case."""
    letters = set(re.sub(r"\\[a-zA-Z]+", "", latex))
    return not any(letter.lower() in letters for letter in letters if letter.isupper())


def _same_in_lower_case(first: Expression, second: Expression) -> bool:
    one, other = (
        expression.xreplace(
            {
                symbol: sympy.Symbol(symbol.name.lower())
                for symbol in expression.free_symbols
                if isinstance(symbol, sympy.Symbol)
            }
        )
        for expression in (first, second)
    )
    return same_expression(one, other)


def _as_fraction(value: Value) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    return (-1 if sign else 1) * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@lru_cache(maxsize=4)
def _arithmetic(digits: int) -> MPContext:
    return context(digits)
