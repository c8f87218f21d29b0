"""One game in one file: ``game.tw-pddl``, which holds a PDDL domain, a text grammar and a PDDL problem."""

import json
import os
from pathlib import Path
from typing import NamedTuple

from ..errors import GameError
from ..files import open_file
from .dialect import recognise
from .game import Game
from .pddl import parse_problem

# The largest released game file has 135 kB. A file past this is no game, and reading it might never end.
MAX_FILE_BYTES = 4 * 2**20


class GameFile(NamedTuple):
    """The five entries of a ``game.tw-pddl``, of the right types but not yet understood."""

    domain: str
    grammar: str
    problem: str
    solvable: bool
    walkthrough: tuple[str, ...] | None


def read_file(path: Path) -> GameFile:
    """Reads a game file and checks that it has the five entries.

    Raises:
        GameError: If it cannot be read, is too large, is cut, or lacks an entry.
    """
    again = "get it again with `alfworld-download -f`"
    try:
        with open_file(path) as opened:
            size = os.fstat(opened.fileno()).st_size
            if size > MAX_FILE_BYTES:
                raise GameError(f"{path}: has {size:,} bytes, too many for a game: {again}")
            content = opened.read()
    except OSError as error:
        raise GameError(f"{path}: cannot be read ({error.strerror}): mend or remove it") from None
    try:
        entries = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise GameError(f"{path}: is cut or is not JSON ({error}): {again}") from None
    if not isinstance(entries, dict):
        raise GameError(f"{path}: is not a game but a JSON {type(entries).__name__}: {again}")
    for key in ("pddl_domain", "grammar", "pddl_problem"):
        if not isinstance(entries.get(key), str):
            raise GameError(f"{path}: has no text under {key!r}: {again}")
    domain, grammar, problem = entries["pddl_domain"], entries["grammar"], entries["pddl_problem"]
    solvable, walkthrough = entries.get("solvable"), entries.get("walkthrough")
    if not isinstance(solvable, bool):
        raise GameError(f"{path}: was never marked solvable or not: finish `alfworld-generate`, or remove it")
    if walkthrough is None:
        return GameFile(domain, grammar, problem, solvable, None)
    if not isinstance(walkthrough, list) or not all(isinstance(command, str) for command in walkthrough):
        raise GameError(f"{path}: its walkthrough is not a list of commands: {again}")
    return GameFile(domain, grammar, problem, solvable, tuple(walkthrough))


def make_game(path: Path, file: GameFile) -> Game:
    """Makes the game of a file that was read; its id comes from the last three folders.

    Raises:
        GameError: If the domain, grammar or problem is not one of ALFWorld's.
    """
    try:
        wording = recognise(file.domain, file.grammar)
        problem = parse_problem(file.problem)
    except GameError as error:
        raise GameError(f"{path}: {error}") from None
    return Game.make(
        task_id_of(path),
        problem,
        wording.sentence,
        file.walkthrough,
        dialect=wording.dialect,
        source=str(path),
        rules=wording.rules,
    )


def task_id_of(path: Path) -> str:
    """The task id of a game file: ``alfworld/SPLIT/TASK/TRIAL``, from the last folders of its path."""
    return "/".join(("alfworld", *path.parts[-4:-1]))
