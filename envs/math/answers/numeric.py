"""Values of expressions at a point, to many digits, in the mathematics of real numbers.

mpmath computes with exponents of any size, so ``2^{-20000}`` is not 0 and ``10^{5000}`` not infinite. A root of a
negative number or the logarithm of one is outside the domain: two expressions are compared where both are defined.
"""

import zlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import sympy
from mpmath import MPContext
from mpmath.ctx_mp_python import mpnumeric
from sympy import Basic
from sympy.core.function import AppliedUndef

MAX_BITS = 200_000
"""Exact rational arithmetic stops where a number would need more bits."""

_MAX_TERMS = 2_000
_MAX_MAGNITUDE = 1_000_000


class OutsideDomain(Exception):
    """The expression has no real value at this point."""


class NoValue(Exception):
    """The expression holds something that has no numerical value here, or a value too large to compute."""


Value: TypeAlias = mpnumeric
Point: TypeAlias = Mapping[str, Value]


def context(digits: int) -> MPContext:
    """An arithmetic with that many decimal digits, independent of mpmath's global one."""
    arithmetic = MPContext()
    arithmetic.dps = digits
    return arithmetic


def exact_value(expression: Basic) -> Fraction | None:
    """The exact value of an expression made of rational numbers by arithmetic, factorials and binomials, else None."""
    if isinstance(expression, sympy.Float):
        return Fraction(str(sympy.Rational(str(expression))))
    if isinstance(expression, sympy.Rational):
        return Fraction(int(expression.p), int(expression.q))
    if isinstance(expression, sympy.UnevaluatedExpr):
        return exact_value(expression.args[0])
    if isinstance(expression, sympy.Add | sympy.Mul | sympy.Pow | sympy.factorial | sympy.binomial):
        parts = [exact_value(argument) for argument in expression.args]
        values = [part for part in parts if part is not None]
        if len(values) == len(parts):
            return _exact(expression, values)
    return None


def _exact(expression: Basic, values: list[Fraction]) -> Fraction | None:
    if isinstance(expression, sympy.Pow):
        base, exponent = values
        if exponent.denominator != 1 or (base == 0 and exponent < 0):
            return None
        size = max(abs(base.numerator).bit_length(), base.denominator.bit_length())
        return base ** int(exponent) if size * abs(exponent) <= MAX_BITS else None
    if any(_bits(value) > MAX_BITS for value in values):
        return None
    if isinstance(expression, sympy.Add):
        return sum(values, Fraction(0))
    if isinstance(expression, sympy.Mul):
        return reduce(lambda first, second: first * second, values, Fraction(1))
    if any(value.denominator != 1 or not 0 <= value <= 5_000 for value in values):
        return None
    whole = [int(value) for value in values]
    evaluated = sympy.factorial(whole[0]) if isinstance(expression, sympy.factorial) else sympy.binomial(*whole)
    return Fraction(int(evaluated))


def _bits(value: Fraction) -> int:
    return max(abs(value.numerator).bit_length(), value.denominator.bit_length())


def value_at(expression: Basic, point: Point, mp: MPContext) -> Value:
    """The value of an expression where its variables have the values of ``point``. A free ``i`` is the imaginary unit.

    Raises:
        OutsideDomain: If a part of it has no real value there.
        NoValue: If it cannot be computed.
    """
    try:
        return _value(expression, point, mp)
    except (ZeroDivisionError, ValueError):
        raise OutsideDomain from None
    except (OverflowError, TypeError, AttributeError, NotImplementedError):
        raise NoValue from None


def _value(expression: Basic, point: Point, mp: MPContext) -> Value:
    if isinstance(expression, sympy.Integer):
        return mp.mpf(int(expression))
    if isinstance(expression, sympy.Float):
        return mp.mpf(str(expression))
    if isinstance(expression, sympy.Rational):
        return mp.mpf(int(expression.p)) / int(expression.q)
    if isinstance(expression, sympy.Symbol):
        if expression.name == "i":
            return mp.mpc(0, 1)
        if expression.name not in point:
            raise NoValue
        return point[expression.name]
    constant = _CONSTANTS.get(type(expression))
    if constant is not None:
        return constant(mp)
    if isinstance(expression, sympy.Sum | sympy.Product):
        return _series(expression, point, mp)
    arguments = [_value(argument, point, mp) for argument in expression.args]
    if isinstance(expression, sympy.Add):
        return mp.fsum(arguments)
    if isinstance(expression, sympy.Mul):
        return reduce(lambda first, second: first * second, arguments, mp.mpf(1))
    if isinstance(expression, sympy.Pow):
        base, exponent = arguments
        return _power(base, exponent, mp)
    if isinstance(expression, sympy.log):
        return _logarithm(arguments, mp)
    if isinstance(expression, AppliedUndef):
        return _unknown_function(expression, arguments, mp)
    function = _FUNCTIONS.get(type(expression))
    if function is None:
        raise NoValue
    if any(mp.mag(argument) > 60 for argument in arguments if argument):
        raise NoValue
    return function(mp)(*arguments)


def _power(base: Value, exponent: Value, mp: MPContext) -> Value:
    if isinstance(base, mp.mpf) and base < 0 and isinstance(exponent, mp.mpf) and not mp.isint(exponent):
        # An odd root of a negative number is real: x^{1/3}.
        for odd in (3, 5, 7, 9):
            if mp.isint(scaled := exponent * odd) or abs(scaled - mp.nint(scaled)) < mp.eps * 100:
                return (-1) ** int(mp.nint(scaled)) * abs(base) ** exponent
        raise OutsideDomain
    if base == 0:
        if exponent == 0 or mp.re(exponent) < 0:
            raise OutsideDomain
        return mp.mpf(0)
    if exponent and mp.mag(exponent) + mp.mag(mp.log(abs(base)) or 1) > 40:
        raise NoValue
    return mp.power(base, exponent)


def _logarithm(arguments: list[Value], mp: MPContext) -> Value:
    for argument in arguments:
        if isinstance(argument, mp.mpf) and argument <= 0:
            raise OutsideDomain
    return mp.log(arguments[0]) / (mp.log(arguments[1]) if len(arguments) > 1 else 1)


def _series(expression: sympy.Sum | sympy.Product, point: Point, mp: MPContext) -> Value:
    """A finite sum or product, term by term."""
    body, *limits = expression.args
    if len(limits) != 1:
        raise NoValue
    index, lower, upper = limits[0].args
    first, last = (_value(bound, point, mp) for bound in (lower, upper))
    if not (mp.isint(first) and mp.isint(last)) or last - first > _MAX_TERMS:
        raise NoValue
    terms = [_value(body, {**point, index.name: mp.mpf(k)}, mp) for k in range(int(first), int(last) + 1)]
    return mp.fsum(terms) if isinstance(expression, sympy.Sum) else mp.fprod(terms)


def _unknown_function(expression: AppliedUndef, arguments: list[Value], mp: MPContext) -> Value:
    """Gives ``f(x)`` a value that depends on the name and the argument only, so that equal terms stay equal."""
    text = f"{expression.func.__name__}({','.join(mp.nstr(argument, 15) for argument in arguments)})"
    return mp.mpf(zlib.crc32(text.encode()) % 1_000_003) / 1_000_003 + 1


def _gamma_like(mp: MPContext) -> Callable[..., Value]:
    def factorial(argument: Value) -> Value:
        if mp.mag(argument) > 40:
            raise NoValue
        return mp.factorial(argument)

    return factorial


_CONSTANTS: dict[type[Basic], Callable[[MPContext], Value]] = {
    type(sympy.pi): lambda mp: +mp.pi,
    type(sympy.E): lambda mp: +mp.e,
    type(sympy.I): lambda mp: mp.mpc(0, 1),
    type(sympy.EulerGamma): lambda mp: +mp.euler,
    type(sympy.GoldenRatio): lambda mp: +mp.phi,
}
_FUNCTIONS: dict[type[Basic], Callable[[MPContext], Callable[..., Value]]] = {
    sympy.exp: lambda mp: mp.exp,
    sympy.sin: lambda mp: mp.sin,
    sympy.cos: lambda mp: mp.cos,
    sympy.tan: lambda mp: mp.tan,
    sympy.cot: lambda mp: mp.cot,
    sympy.sec: lambda mp: mp.sec,
    sympy.csc: lambda mp: mp.csc,
    sympy.asin: lambda mp: _inside_unit(mp.asin),
    sympy.acos: lambda mp: _inside_unit(mp.acos),
    sympy.atan: lambda mp: mp.atan,
    sympy.acot: lambda mp: mp.acot,
    sympy.asec: lambda mp: mp.asec,
    sympy.acsc: lambda mp: mp.acsc,
    sympy.sinh: lambda mp: mp.sinh,
    sympy.cosh: lambda mp: mp.cosh,
    sympy.tanh: lambda mp: mp.tanh,
    sympy.asinh: lambda mp: mp.asinh,
    sympy.acosh: lambda mp: mp.acosh,
    sympy.atanh: lambda mp: mp.atanh,
    sympy.Abs: lambda mp: abs,
    sympy.floor: lambda mp: mp.floor,
    sympy.ceiling: lambda mp: mp.ceil,
    sympy.factorial: _gamma_like,
    sympy.gamma: lambda mp: mp.gamma,
    sympy.binomial: lambda mp: mp.binomial,
    sympy.Max: lambda mp: max,
    sympy.Min: lambda mp: min,
    sympy.UnevaluatedExpr: lambda mp: lambda value: value,
    sympy.conjugate: lambda mp: mp.conj,
    sympy.re: lambda mp: mp.re,
    sympy.im: lambda mp: mp.im,
    sympy.arg: lambda mp: mp.arg,
}


def _inside_unit(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    def inverse(argument: Value) -> Value:
        if abs(argument) > 1:
            raise OutsideDomain
        return function(argument)

    return inverse
