"""Which columns a table has: those that say something of what was played."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..envs.math.files import NO_TYPE
from ..eval.metrics import Metrics
from .numbers import decimal, percent


class Column(NamedTuple):
    """A column of a measure other than the success rate.

    Attributes:
        header: Its name, in small letters.
        cell: The measure as text.
    """

    header: str
    cell: Callable[[Metrics], str]


_STEPS = Column("steps", lambda metrics: decimal(metrics.mean_steps, 1))
_OF_GAMES = (
    Column("invalid %", lambda metrics: percent(metrics.invalid_command_rate)),
    Column("path eff.", lambda metrics: decimal(metrics.path_efficiency, 2)),
)
_GOALS = Column("goal cond. %", lambda metrics: percent(metrics.goal_condition_success_rate))


def measures(env: str, *, with_goals: bool = False) -> tuple[Column, ...]:
    """The measures that stand behind the success rate.

    Problems of mathematics have no list of valid commands, no shortest path and one condition, which is the success.

    Args:
        env: The environment.
        with_goals: Whether there is room for the share of goal conditions.
    """
    if not is_household(env):
        return (_STEPS,)
    return (_STEPS, *_OF_GAMES, *((_GOALS,) if with_goals else ()))


def is_household(env: str) -> bool:
    """Whether the tasks are household games."""
    return env == "alfworld"


def capitalised(header: str) -> str:
    """A header as it begins a column of a document."""
    return header[:1].upper() + header[1:]


def shown_types(types: Sequence[str]) -> tuple[str, ...]:
    """The task types that have a column each; none where all tasks are of the type that stands for no type."""
    return () if tuple(types) == (NO_TYPE,) else tuple(types)
