"""Plays the same commands with two engines and reports where they differ."""

from collections.abc import Sequence
from typing import NamedTuple

from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.simulator import Observation, Simulator


class Difference(NamedTuple):
    """A point where two engines show something else.

    Attributes:
        task_id: The game.
        commands: What was played up to there.
        field: The field of ``Observation`` that differs.
        expected: Its value in the reference.
        found: Its value in the engine under test.
    """

    task_id: str
    commands: tuple[str, ...]
    field: str
    expected: object
    found: object

    def __str__(self) -> str:
        last = f"{self.commands[-1]!r} (step {len(self.commands)})" if self.commands else "reset"
        return f"{self.task_id}: {self.field} after {last}: expected {self.expected!r}, found {self.found!r}"


class Comparison(NamedTuple):
    """What a comparison found.

    Attributes:
        observations: Number of observations compared, the reset's included.
        won: How many of them were won.
        undone: How many were not won although the one before was.
        texts: The different texts seen.
        difference: The first difference, None if there is none.
    """

    observations: int
    won: int
    undone: int
    texts: frozenset[str]
    difference: Difference | None


def compare(game: Game, commands: Sequence[str], reference: Simulator, tested: Simulator) -> Comparison:
    """Resets both engines and gives both each command, until they differ.

    Compared are all fields of ``Observation``: the text, the admissible commands as a list, whether the game is won
    and how much of the goal holds.

    Raises:
        GameError: If an engine cannot play the game.
        SimulatorError: If an engine fails.
    """
    won = undone = 0
    was_won = False
    texts = set()
    for count in range(len(commands) + 1):
        played = tuple(commands[:count])
        if count == 0:
            expected, found = reference.reset(game), tested.reset(game)
        else:
            expected, found = reference.step(played[-1]), tested.step(played[-1])
        won += expected.won
        undone += was_won and not expected.won
        was_won = expected.won
        texts.add(expected.text)
        for field, left, right in zip(Observation._fields, expected, found, strict=True):
            if type(left) is not type(right) or left != right:
                difference = Difference(game.task.id, played, field, left, right)
                return Comparison(count + 1, won, undone, frozenset(texts), difference)
    return Comparison(len(commands) + 1, won, undone, frozenset(texts), None)
