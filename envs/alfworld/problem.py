"""The facts of one game: what the PDDL problem of an ALFWorld game says, and nothing else.

Ids and types are lower case throughout, because the stock translator lower-cases the whole problem.
Receptacles, objects and locations are each sorted by id, because every list that the game shows is in
that order; everything else refers to them by index.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, cast

from ..errors import GameError

# Properties of an object, as bits: the predicates of the official domain, with what is true at the start.
PICKUPABLE, CLEANABLE, COOLABLE, HEATABLE = 1, 2, 4, 8
SLICEABLE, TOGGLEABLE, IS_RECEPTACLE, IS_COOL = 16, 32, 64, 128


class TaskType(StrEnum):
    """The six task types; each has exactly one goal shape."""

    PICK_AND_PLACE = "pick_and_place_simple"
    LOOK_AT = "look_at_obj_in_light"
    CLEAN = "pick_clean_then_place_in_recep"
    COOL = "pick_cool_then_place_in_recep"
    HEAT = "pick_heat_then_place_in_recep"
    PICK_TWO = "pick_two_obj_and_place"


class Receptacle(NamedTuple):
    """A place that holds objects. ``location`` is an index into ``Problem.locations``."""

    id: str
    type: str
    location: int
    openable: bool


class Thing(NamedTuple):
    """An object. ``type`` is empty for an id that only occurs in a stray fact (it still takes a number)."""

    id: str
    type: str
    properties: int


class Goal(NamedTuple):
    """What wins: the task type, the object type, and the receptacle type (the lamp type for ``LOOK_AT``)."""

    task_type: TaskType
    object_type: str
    target_type: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One game's initial facts and goal.

    Attributes:
        locations: Location ids, sorted.
        receptacles: Sorted by id.
        objects: Sorted by id; all ids with ``_bar_`` that occur in an initial fact.
        agent: Index of the agent's first location.
        in_receptacle: Pairs (object, receptacle), sorted. A relation: an object may be in two at once.
        at_location: Pairs (object, location), sorted. May be missing for an object, or name another place
            than its receptacle's.
        in_object: Pairs (inner object, outer object), sorted; never changes in play.
        can_contain: For each receptacle type, sorted, the object types that it takes, sorted.
        goal: The goal.
    """

    locations: tuple[str, ...]
    receptacles: tuple[Receptacle, ...]
    objects: tuple[Thing, ...]
    agent: int
    in_receptacle: tuple[tuple[int, int], ...]
    at_location: tuple[tuple[int, int], ...]
    in_object: tuple[tuple[int, int], ...]
    can_contain: tuple[tuple[str, tuple[str, ...]], ...]
    goal: Goal


# The compact JSON form. Packed files and game digests are made of it, so its layout has a version.
RECORD_VERSION = 1

Record = list[object]
_Fields = tuple[
    int,
    list[str],
    list[tuple[str, str, int, bool]],
    list[tuple[str, str, int]],
    int,
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[str, list[str]]],
    tuple[str, str, str],
]


def problem_to_record(problem: Problem) -> Record:
    """Gives the problem as nested JSON lists; equal problems give equal records."""
    return [
        RECORD_VERSION,
        list(problem.locations),
        [list(receptacle) for receptacle in problem.receptacles],
        [list(thing) for thing in problem.objects],
        problem.agent,
        [list(pair) for pair in problem.in_receptacle],
        [list(pair) for pair in problem.at_location],
        [list(pair) for pair in problem.in_object],
        [[rtype, list(otypes)] for rtype, otypes in problem.can_contain],
        list(problem.goal),
    ]


def problem_from_record(record: Record) -> Problem:
    """Rebuilds the problem from its record.

    Raises:
        GameError: If the record is of another version or not a record.
    """
    if not isinstance(record, list) or len(record) != 10 or record[0] != RECORD_VERSION:
        raise GameError(f"not a game record of version {RECORD_VERSION}: pack the games again with this version")
    try:
        _, locations, receptacles, objects, agent, inside, at, inner, can_contain, goal = cast(_Fields, record)
        problem = Problem(
            locations=tuple(locations),
            receptacles=tuple([Receptacle(*fields) for fields in receptacles]),
            objects=tuple([Thing(*fields) for fields in objects]),
            agent=agent,
            in_receptacle=tuple([(o, r) for o, r in inside]),
            at_location=tuple([(o, place) for o, place in at]),
            in_object=tuple([(o, outer) for o, outer in inner]),
            can_contain=tuple([(rtype, tuple(otypes)) for rtype, otypes in can_contain]),
            goal=Goal(TaskType(goal[0]), goal[1], goal[2]),
        )
    except (TypeError, ValueError, LookupError) as error:
        raise GameError(f"damaged game record ({error}): pack the games again") from None
    return problem
