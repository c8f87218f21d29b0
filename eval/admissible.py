"""The admissible commands of an episode's turns as JSON: each command once, and for each turn what changes.

A game offers some thirty commands a turn, nearly all of them those of the turn before. Written out they would make
an episode several times as long; as numbers of commands that come or go they add about a third.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise

from .fields import EpisodeFormatError, field_of, values_of


def admissible_to_record(turns: Sequence[Sequence[str]]) -> dict[str, object] | None:
    """The commands of each turn as a JSON object.

    ``commands`` holds every command that occurs. With ``flips`` a list in ``turns`` has the numbers of the commands
    that are in this turn and not in the one before it, or the other way round, and a turn's commands stand in the
    order of ``commands``. Without it, for an environment that does not sort its commands, a list in ``turns`` has the
    numbers of all commands of its turn in their order.

    Args:
        turns: The admissible commands of each turn.

    Returns:
        The object, or None where no turn has a command.
    """
    if not any(turns):
        return None
    flips = all(one < other for turn in turns for one, other in pairwise(turn))
    commands = sorted(set(chain.from_iterable(turns))) if flips else list(dict.fromkeys(chain.from_iterable(turns)))
    numbers = {command: number for number, command in enumerate(commands)}
    rows = [[numbers[command] for command in turn] for turn in turns]
    if flips:
        rows = [sorted(set(before) ^ set(row)) for before, row in pairwise([[], *rows])]
    return {"flips": flips, "commands": commands, "turns": rows}


def admissible_from_record(record: Mapping[str, object], turns: int) -> list[tuple[str, ...]]:
    """Reads what ``admissible_to_record`` gave.

    Args:
        record: The object.
        turns: Number of turns of the episode.

    Raises:
        EpisodeFormatError: If something is missing or wrong.
    """
    flips = field_of(record, "flips", bool)
    commands = values_of(record, "commands", str)
    rows = [values_of({"turns": row}, "turns", int) or () for row in field_of(record, "turns", list)]
    if commands is None:
        raise EpisodeFormatError("the field 'commands' of the admissible commands is missing")
    if not fits(len(commands), rows, turns):
        raise EpisodeFormatError("the admissible commands are not those of so many turns and commands")
    if not flips:
        return [tuple([commands[number] for number in row]) for row in rows]
    found = []
    present: set[int] = set()
    for row in rows:
        present.symmetric_difference_update(row)
        found.append(tuple([commands[number] for number in sorted(present)]))
    return found


def fits(commands: int, rows: Sequence[Sequence[int]], turns: int) -> bool:
    """Whether there is a row for each turn, and a command for each number in it."""
    numbers = list(chain.from_iterable(rows))
    return len(rows) == turns and (not numbers or (min(numbers) >= 0 and max(numbers) < commands))
