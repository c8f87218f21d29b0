"""Families of the reasoning-gym package (extra ``math``) whose one right answer the grader can compare.

``reasoning_gym_valid`` has 20 problems of each family and ``reasoning_gym_train`` 200; a panel of one family is
``reasoning_gym_valid:gcd``. Seeds differ, and a statement whose hash says ``valid`` is never in the training panel.
"""

from collections.abc import Iterator
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from ..errors import MissingExtraError, UnknownNameError
from .builtin import Split, split_of
from .problem import Problem, ProblemError, make_problem
from .problems import Problems

FAMILIES: Final = (
    "basic_arithmetic",
    "chain_sum",
    "complex_arithmetic",
    "count_primes",
    "dice",
    "fraction_simplification",
    "gcd",
    "gsm_symbolic",
    "lcm",
    "leg_counting",
    "number_sequence",
    "products",
    "simple_equations",
    "simple_geometry",
)
"""Left out: families whose answers are rounded, are moves or programs, or allow several right ones; that soon repeat;
or whose problems depend on Python's hash seed."""

_SEEDS: Final = MappingProxyType({"train": 1_000_000_007, "valid": 2_000_000_011})
_SIZES: Final = MappingProxyType({"train": 200, "valid": 20})
_DRAWS_FOR_EACH = 60
PANELS: Final = ("reasoning_gym_train", "reasoning_gym_valid")


@lru_cache(maxsize=8)
def reasoning_problems(name: str) -> Problems:
    """Generates a panel of all families, or of one.

    Raises:
        UnknownNameError: If there is no such panel or family.
        MissingExtraError: If reasoning-gym is not installed.
    """
    panel, _, family = name.partition(":")
    if panel not in PANELS:
        raise UnknownNameError("panel of reasoning-gym", panel, PANELS)
    if family and family not in FAMILIES:
        raise UnknownNameError("family of reasoning-gym", family, FAMILIES)
    split: Split = "train" if panel == "reasoning_gym_train" else "valid"
    return Problems(name, [p for kind in ([family] if family else FAMILIES) for p in _family(name, kind, split)])


def _family(panel: str, family: str, split: Split) -> Iterator[Problem]:
    try:
        import reasoning_gym
    except ImportError:
        raise MissingExtraError(f"panel {panel!r}", "math", "reasoning-gym") from None
    size = _SIZES[split]
    source = reasoning_gym.create_dataset(family, seed=_SEEDS[split], size=size * _DRAWS_FOR_EACH)
    seen: set[str] = set()
    for index in range(size * _DRAWS_FOR_EACH):
        entry = source[index]
        statement = str(entry["question"]).strip()
        if split_of(statement) != split or statement in seen:
            continue
        row = f"{family}/{len(seen):03}"
        seen.add(statement)
        yield make_problem(panel, row, statement, [str(entry["answer"])], family, MappingProxyType({}))
        if len(seen) == size:
            return
    raise ProblemError(f"reasoning-gym has fewer than {size} problems of family {family!r} for {split}")
