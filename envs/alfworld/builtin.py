"""The built-in panels: games that need no download, the same on every machine.

``builtin_valid`` has 60 games, 10 of each task type, and ``builtin_train`` 600, 100 of each. In both, each of the five
difficulties (``tiny``, ``small``, ``medium``, ``large``, ``full``) has a fifth of the games of each type.
``builtin_small_valid`` has 120 games and ``builtin_small_train`` 600, all in rooms of four receptacles (difficulty
``tiny``): what a policy of a million parameters can learn in minutes. ``builtin_pick_train`` (600) and
``builtin_pick_valid`` (100) have such rooms too, and one task type alone, ``pick_and_place_simple``. No seed is in two
panels.

The games are generated when first asked for, which takes a fraction of a second for ``builtin_valid``, and kept as a
pack in the user's cache folder. The cache is only a short cut: a damaged or foreign pack is made again, and where
nothing can be written the games are generated each time.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import platformdirs

from ..errors import HolderGymError, UnknownNameError
from .game import Game
from .games import Games
from .generator import DIFFICULTIES, TASK_TYPES, generate_game
from .pack import PackedPanel, read_pack, write_pack
from .problem import TaskType


class _Recipe(NamedTuple):
    """How a panel is generated, and the panel hash that must come of it."""

    first_seed: int
    size: int
    sha256: str
    difficulties: tuple[float, ...] = tuple(DIFFICULTIES.values())
    types: tuple[TaskType, ...] = TASK_TYPES


_TINY: Final = (DIFFICULTIES["tiny"],)
_RECIPES: Final = {
    "builtin_pick_train": _Recipe(
        5_000_000,
        600,
        "da5cc6c86a0cf46949c00a31ba5bb3ed77b5733a5cad5701003415908b501d05",
        _TINY,
        (TaskType.PICK_AND_PLACE,),
    ),
    "builtin_pick_valid": _Recipe(
        6_000_000,
        100,
        "b4d2590e10dca9ce93a4e0625da2ba6dbd7660bcbdda75fa951ff27f50706942",
        _TINY,
        (TaskType.PICK_AND_PLACE,),
    ),
    "builtin_small_train": _Recipe(
        3_000_000, 600, "324b215145c3e86fff997040c0b5d98560cab59e4338e7a617d21720af968470", _TINY
    ),
    "builtin_small_valid": _Recipe(
        4_000_000, 120, "a148849262a750c94141bd402d008724fecd5a563a867d44bef9c60fff2de9cf", _TINY
    ),
    "builtin_train": _Recipe(1_000_000, 600, "ae7af16b6e059c60f8d4f6a4cd23a697dc14b1df4d2cfa978bf49104a27b7559"),
    "builtin_valid": _Recipe(2_000_000, 60, "0059c23ddb8c0c9d193f402badb08d31141de6843c2eedaa9da442cc9b3634f2"),
}


@lru_cache(maxsize=len(_RECIPES))
def builtin_games(name: str) -> Games:
    """Opens a built-in panel. Asking again gives the same object, so that many environments share the games.

    Raises:
        UnknownNameError: If there is no such panel.
        HolderGymError: If the games come out differently than on other machines.
    """
    if name not in _RECIPES:
        raise UnknownNameError("built-in panel", name, _RECIPES)
    recipe = _RECIPES[name]
    path = _cache_file(name, recipe)
    cached = _read_cache(path, name, recipe)
    if cached is not None:
        return cached
    games = Games.of(name, generate_builtin(name))
    if games.panel.sha256 != recipe.sha256:
        raise HolderGymError(
            f"panel {name!r} came out with sha256 {games.panel.sha256[:12]} instead of {recipe.sha256[:12]}, so its "
            "results could not be compared with others: please report this with what `holdergym doctor` prints"
        )
    with contextlib.suppress(HolderGymError):
        write_pack(path, [PackedPanel(games.panel, games.stored)])
    return games


def generate_builtin(name: str) -> Iterator[Game]:
    """Generates the games of a built-in panel, whatever is in the cache."""
    recipe = _RECIPES[name]
    sizes = recipe.difficulties
    for index in range(recipe.size):
        turn, kind = divmod(index, len(recipe.types))
        yield generate_game(
            recipe.first_seed + index, difficulty=sizes[turn % len(sizes)], task_type=recipe.types[kind], panel=name
        )


def _cache_file(name: str, recipe: _Recipe) -> Path:
    """Where the pack is kept. The hash in its name keeps panels of different versions apart."""
    try:
        folder = platformdirs.user_cache_path("holdergym")
    except RuntimeError:  # a user without a home folder, as in many containers: nothing can be written there
        folder = Path(os.devnull) / "holdergym"
    return folder / "games" / f"{name}-{recipe.sha256[:16]}.gz"


def _read_cache(path: Path, name: str, recipe: _Recipe) -> Games | None:
    """Reads the pack; None if there is none, or not a whole one of this panel."""
    try:
        panel, games = read_pack(path, name)
    except HolderGymError:
        return None
    if panel.sha256 != recipe.sha256:
        return None
    # Where the games came from must not depend on whether they were cached.
    return Games(panel, [replace(game, source="generated") for game in games])
