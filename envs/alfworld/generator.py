"""Generates household games in the official format: seeded, solvable and proven so, of any size.

A game is drawn in four steps: the errand (``errands``), the furnished room (``furnish``), ids and locations
(``layout``), and the shortest walkthrough, which the planner finds and which proves that the game can be won.
The same seed, difficulty and task type give the same game on every machine and with every Python version.
"""

from collections.abc import Iterator, Mapping
from operator import index
from types import MappingProxyType
from typing import Final

from ..errors import ConfigError, UnknownNameError
from .dice import Dice
from .errands import Errand, draw_errand, draw_sentence
from .furnish import furnish
from .game import Game
from .household import SPELLING
from .layout import lay_out
from .planner import shortest_plan
from .problem import TaskType
from .world import World

DIFFICULTIES: Final[Mapping[str, float]] = MappingProxyType(
    {"tiny": 0.0, "small": 0.25, "medium": 0.5, "large": 0.75, "full": 1.0}
)
"""Names for points of the difficulty dial."""

TASK_TYPES: Final = tuple(sorted(TaskType))
"""The six types in the order in which ``generate_games`` goes through them."""

# A draw hardly ever fails, and only in the smallest rooms. A seed whose draws all fail would be a fault here.
_ATTEMPTS = 100


def generate_game(
    seed: int,
    *,
    difficulty: float | str = 1.0,
    task_type: TaskType | None = None,
    panel: str = "generated",
) -> Game:
    """Generates one game.

    Args:
        seed: Any integer.
        difficulty: The size of the room. At 0 it has four receptacles and at most eight objects (beside sinks
            and bathtubs), at 1 as many as rooms of the released games (6 to 54 receptacles), and between them
            both numbers go linearly. Or a name: ``tiny`` 0, ``small`` 0.25, ``medium`` 0.5, ``large`` 0.75,
            ``full`` 1. The length of a shortest plan depends on the task type, hardly on the size; how long
            the search for the objects takes depends on the size.
        task_type: None draws one of the six.
        panel: The panel's name in the task id,
            ``alfworld/PANEL/TYPE-OBJECT-None-TARGET-ROOM/seed_SEED_size_PERCENT``.

    Raises:
        ConfigError: If the difficulty is not in [0, 1].
        UnknownNameError: If its name is unknown.
    """
    size = _difficulty(difficulty)
    seed = index(seed)
    asked = TaskType(task_type) if task_type is not None else Dice("task type", seed).pick(TASK_TYPES)
    for attempt in range(_ATTEMPTS):
        dice = Dice("game", seed, size, str(asked), attempt)
        errand = draw_errand(dice, asked)
        sentence = draw_sentence(dice, errand)
        problem = lay_out(dice, furnish(dice, errand, size), errand)
        plan = shortest_plan(World(problem, sentence).initial_state())
        if plan:  # neither unsolvable (None) nor won at the start (empty)
            return Game.make(_task_id(panel, errand, seed, size), problem, sentence, plan)
    raise RuntimeError(f"seed {seed}, difficulty {size}: no solvable {asked} game in {_ATTEMPTS} draws")


def generate_games(seed: int, count: int, difficulty: float | str = 1.0, *, panel: str = "generated") -> Iterator[Game]:
    """Generates games, the six task types by turns, with the seeds ``seed``, ``seed + 1``, ...

    Raises:
        ConfigError: If the count is not positive or the difficulty is not in [0, 1].
        UnknownNameError: If the difficulty's name is unknown.
    """
    if count < 1:
        raise ConfigError(f"{count} games cannot be generated: give a positive number")
    size = _difficulty(difficulty)
    return (
        generate_game(seed + i, difficulty=size, task_type=TASK_TYPES[i % len(TASK_TYPES)], panel=panel)
        for i in range(count)
    )


def _difficulty(difficulty: float | str) -> float:
    if isinstance(difficulty, str):
        if difficulty not in DIFFICULTIES:
            raise UnknownNameError("difficulty", difficulty, DIFFICULTIES)
        return DIFFICULTIES[difficulty]
    if not 0 <= difficulty <= 1:
        raise ConfigError(f"difficulty {difficulty} is outside [0, 1]: 0 is a room of four receptacles, 1 a full one")
    return float(difficulty)


def _task_id(panel: str, errand: Errand, seed: int, size: float) -> str:
    names = f"{SPELLING[errand.object]}-None-{SPELLING[errand.target]}"
    return f"alfworld/{panel}/{errand.task_type}-{names}-{errand.room}/seed_{seed}_size_{size:.0%}".rstrip("%")
