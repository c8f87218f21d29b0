"""Proves that games can be played: every file is read, its walkthrough replayed, and a plan found."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import GameError
from .game import Game, StoredGame
from .game_file import make_game, read_file
from .planner import shortest_plan
from .state import NOTHING_HAPPENS
from .tree import type_in_name
from .world import World


class Verdict(NamedTuple):
    """What was found about one game: its task type if it could be read, and one line for each problem."""

    task_type: str | None
    problems: tuple[str, ...]


def verify_files(files: Iterable[Path]) -> Iterator[Verdict]:
    """Verifies the game files of a split, one after the other; a bad one does not stop the others."""
    seen: dict[str, str] = {}
    for path in files:
        try:
            file = read_file(path)
            game = make_game(path, file)
        except GameError as error:
            yield Verdict(None, (str(error),))
            continue
        if file.solvable:
            yield _verify(game, seen)
        else:
            marked = f"{path}: is marked unsolvable, so panels leave it out: remove its folder"
            yield Verdict(game.task.type, (marked,))


def verify_stored(games: Iterable[StoredGame]) -> Iterator[Verdict]:
    """Verifies the games of a pack or of the generator."""
    seen: dict[str, str] = {}
    for stored in games:
        try:
            yield _verify(stored.load(), seen)
        except GameError as error:
            yield Verdict(None, (str(error),))


def _verify(game: Game, seen: dict[str, str]) -> Verdict:
    """Checks one game. ``seen`` maps digests to the games before it in its panel."""
    problems = list(_problems(game))
    first = seen.setdefault(game.task.digest, game.source)
    if first != game.source:
        problems.append(f"is the same game as {first}: remove one of the two")
    return Verdict(game.task.type, tuple(f"{game.source}: {problem}" for problem in problems))


def _problems(game: Game) -> Iterator[str]:
    claimed = type_in_name(game.task.id)
    if claimed is not None and claimed != game.task.type:
        yield f"its goal is that of {game.task.type}, unlike its folder's name: rename the folder"
    world = World(game.problem, game.sentence)
    if world.initial_state().won:
        yield "is won before the first command: remove it"
        return
    if game.walkthrough is not None:
        failure = _failure(world, game.walkthrough)
        if failure:
            yield f"its walkthrough {failure}: get the file again"
    plan = shortest_plan(world.initial_state())
    if plan is None:
        yield "has no plan that wins, so nobody can solve it: remove it"
    else:
        failure = _failure(world, plan)
        if failure:
            yield f"the planner's plan {failure}: please report this with the file"


def _failure(world: World, commands: tuple[str, ...]) -> str | None:
    """Says how a sequence of commands fails to win; None if it wins."""
    state = world.initial_state()
    for number, command in enumerate(commands, start=1):
        if state.step(command) == NOTHING_HAPPENS:
            return f"has command {number}, {command!r}, do nothing"
    return None if state.won else f"does not win in its {len(commands)} commands"
