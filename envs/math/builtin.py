"""The built-in problems: whole-number arithmetic to linear equations, for a policy that has much to learn.

``builtin_valid`` has 200 problems and ``builtin_train`` 1,000: five families, each at ten difficulties in equal parts.
``builtin_small_train`` (320) and ``builtin_small_valid`` (80) have sums and differences of two numbers up to about 30.
``builtin_difference_train`` (4,000) and ``builtin_difference_valid`` (200) have differences of two numbers up to about
100, with negative results: so many that a policy of a million parameters learns to subtract, not the problems by heart.
No statement is in a training and a validation panel: which
of the two a statement belongs to is decided by its hash, and the seeds differ too.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from ..alfworld.dice import Dice
from ..errors import ConfigError, UnknownNameError
from .problem import Problem, make_problem
from .problems import Problems

Split = Literal["train", "valid"]
LEVELS = 10
_ALL_LEVELS: Final = tuple([level / (LEVELS - 1) for level in range(LEVELS)])
_VALID_SHARE = 5
"""One statement in so many belongs to the validation panel."""


class _Recipe(NamedTuple):
    split: Split
    first_seed: int
    size: int
    families: tuple[str, ...] = ("sum", "difference", "product", "brackets", "linear_equation")
    difficulties: tuple[float, ...] = _ALL_LEVELS


_SMALL: Final = (("sum", "difference"), (0.15, 0.18, 0.21, 0.24))
_DIFFERENCES: Final = (("difference",), (0.45, 0.48, 0.51, 0.54))
_RECIPES: Final = MappingProxyType(
    {
        "builtin_difference_train": _Recipe("train", 5_000_000, 4_000, *_DIFFERENCES),
        "builtin_difference_valid": _Recipe("valid", 6_000_000, 200, *_DIFFERENCES),
        "builtin_small_train": _Recipe("train", 3_000_000, 320, *_SMALL),
        "builtin_small_valid": _Recipe("valid", 4_000_000, 80, *_SMALL),
        "builtin_train": _Recipe("train", 1_000_000, 1_000),
        "builtin_valid": _Recipe("valid", 2_000_000, 200),
    }
)


class _Question(NamedTuple):
    statement: str
    answer: int


@lru_cache(maxsize=len(_RECIPES))
def builtin_problems(name: str) -> Problems:
    """Generates a built-in panel; asking again gives the same object.

    Raises:
        UnknownNameError: If there is no such panel.
    """
    if name not in _RECIPES:
        raise UnknownNameError("built-in panel", name, _RECIPES)
    recipe = _RECIPES[name]
    problems: dict[str, Problem] = {}
    seed = recipe.first_seed
    for index in range(recipe.size):
        turn, kind = divmod(index, len(recipe.families))
        difficulty, family = recipe.difficulties[turn % len(recipe.difficulties)], recipe.families[kind]
        while True:
            problem = generate_problem(seed, difficulty, family, recipe.split, panel=name, row=f"{index:04}")
            seed += 1
            if problem.statement not in problems:
                break
        problems[problem.statement] = problem
    return Problems(name, problems.values())


def generate_problem(
    seed: int,
    difficulty: float,
    family: str,
    split: Split = "train",
    *,
    panel: str = "generated",
    row: str | None = None,
) -> Problem:
    """Generates one problem, the same for the same arguments on every machine.

    Args:
        seed: Any whole number.
        difficulty: From 0 (one digit) to 1 (three digits, more terms, negative numbers).
        family: One of ``FAMILIES``.
        split: Problems of ``train`` and ``valid`` are never worded alike.
        panel: First part of the task id after ``math/``.
        row: The rest of the task id; made of family, difficulty and seed if None.

    Raises:
        ConfigError: If the difficulty is not in [0, 1].
        UnknownNameError: If there is no such family.
    """
    if not 0 <= difficulty <= 1:
        raise ConfigError(f"the difficulty of a generated problem is between 0 and 1, not {difficulty}")
    if family not in FAMILIES:
        raise UnknownNameError("family of built-in problems", family, FAMILIES)
    attempt = 0
    while True:
        question = FAMILIES[family](Dice(seed, family, difficulty, attempt), difficulty)
        if split_of(question.statement) == split:
            break
        attempt += 1
    place = row or f"{family}/{difficulty:.3f}/{seed}"
    metadata = MappingProxyType({"difficulty": f"{difficulty:.3f}"})
    return make_problem(panel, place, question.statement, [str(question.answer)], family, metadata)


def split_of(statement: str) -> Split:
    """The split to which a statement belongs, by its hash."""
    return "valid" if hashlib.sha256(statement.encode()).digest()[0] % _VALID_SHARE == 0 else "train"


def _size(difficulty: float, smallest: int, largest: int) -> int:
    """A bound that grows evenly in digits from easy to hard."""
    grown: float = smallest * (largest / smallest) ** difficulty
    return round(grown)


def _sum(dice: Dice, difficulty: float) -> _Question:
    bound = _size(difficulty, 9, 999)
    numbers = [dice.between(1, bound) for _ in range(2 + round(2 * difficulty))]
    return _Question(f"Compute ${' + '.join(map(str, numbers))}$.", sum(numbers))


def _difference(dice: Dice, difficulty: float) -> _Question:
    bound = _size(difficulty, 9, 999)
    first, second = dice.between(1, bound), dice.between(1, bound)
    if difficulty < 0.3:
        first, second = max(first, second), min(first, second)
    return _Question(f"Compute ${first} - {second}$.", first - second)


def _product(dice: Dice, difficulty: float) -> _Question:
    first = dice.between(2, _size(difficulty, 9, 99))
    second = dice.between(2, _size(difficulty, 9, 40))
    return _Question(f"Compute ${first} \\times {second}$.", first * second)


def _brackets(dice: Dice, difficulty: float) -> _Question:
    bound = _size(difficulty, 6, 40)
    a, b, c, d = (dice.between(1, bound) for _ in range(4))
    forms = [
        (f"{a} + {b} \\times {c}", a + b * c),
        (f"({a} + {b}) \\times {c}", (a + b) * c),
        (f"{a} \\times ({b} - {c})", a * (b - c)),
        (f"({a} + {b}) \\times ({c} - {d})", (a + b) * (c - d)),
        (f"{a} \\times {b} - {c} \\times {d}", a * b - c * d),
    ]
    text, value = dice.pick(forms[: 2 + round(3 * difficulty)])
    return _Question(f"Compute ${text}$.", value)


def _linear_equation(dice: Dice, difficulty: float) -> _Question:
    bound = _size(difficulty, 9, 99)
    lowest = 1 if difficulty < 0.4 else -bound
    x = dice.between(lowest, bound)
    a, b = dice.between(2, _size(difficulty, 4, 20)), dice.between(1, bound)
    kind = dice.below(1 + round(3 * difficulty))
    if kind == 0:
        return _Question(f"Solve $x + {b} = {x + b}$ for $x$.", x)
    if kind == 1:
        return _Question(f"Solve ${a}x + {b} = {a * x + b}$ for $x$.", x)
    if kind == 2:
        return _Question(f"Solve ${a}(x - {b}) = {a * (x - b)}$ for $x$.", x)
    c = a + dice.between(1, 9)
    return _Question(f"Solve ${c}x - {b} = {a}x {_signed((c - a) * x - b)}$ for $x$.", x)


def _signed(number: int) -> str:
    return f"+ {number}" if number >= 0 else f"- {-number}"


FAMILIES: Final = MappingProxyType[str, Callable[[Dice, float], _Question]](
    {
        "sum": _sum,
        "difference": _difference,
        "product": _product,
        "brackets": _brackets,
        "linear_equation": _linear_equation,
    }
)
