"""Gives a furnished room its ids and locations, in the shape of the released games, and makes the problem of it.

An id is the class and a position in metres, ``apple_bar__minus_00_dot_82_bar__plus_00_dot_86_bar_...``; a location
is where an agent would stand, ``loc_bar_2_bar__minus_4_bar_0_bar_30``: position in quarters of a metre, direction in
quarter turns, and tilt of the head in degrees. Only their order is ever seen in a game, because it numbers the
things; the coordinates are drawn, not measured.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from .dice import Dice
from .errands import Errand
from .furnish import Household, Piece
from .household import CAN_CONTAIN, PROPERTIES
from .problem import IS_COOL, Goal, Problem, Receptacle, Thing

# Half the width and the depth of a room, and the heights at which receptacles hang or stand, in centimetres.
_HALF_WIDTH, _FRONT, _BACK = 350, -300, 400
_HEIGHTS = {
    "cabinet": (35, 200),
    "coffeemachine": (85, 110),
    "countertop": (85, 105),
    "drawer": (15, 95),
    "handtowelholder": (145, 190),
    "microwave": (90, 170),
    "shelf": (15, 180),
    "sinkbasin": (70, 100),
    "stoveburner": (85, 105),
    "toaster": (85, 110),
    "toiletpaperhanger": (65, 110),
    "towelholder": (90, 180),
}

# In how many of 100 cases the second of two receptacles of a class stands at the location of the first.
_SHARED = {"cabinet": 12, "drawer": 22, "shelf": 14, "stoveburner": 68}
# In how many of 100 cases an appliance stands at the location of a receptacle of another class.
_BESIDE = {"coffeemachine": ("countertop", 25), "toaster": ("countertop", 20)}
# In how many of 100 cases what stands free is at the location of a receptacle.
_FREE_SHARED = 13

# A basin's id is that of its sink or bathtub, which is an object of its own, and a last part.
_BASINS = {"sinkbasin": "sink", "bathtubbasin": "bathtub"}


class _Position(NamedTuple):
    """A point in the room, in centimetres; ``y`` is the height."""

    x: int
    y: int
    z: int


class _Ids:
    """Hands out ids and locations, each once."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._taken: set[str] = set()

    def thing(self, kind: str, near: _Position, reach: int) -> str:
        """An id for something of a class not farther than ``reach`` centimetres from a point."""
        while True:
            x, z = (value + self._dice.between(-reach, reach) for value in (near.x, near.z))
            parts = [kind, *map(_metres, (x, near.y + self._dice.between(0, reach), z))]
            name = "_bar_".join(parts)
            if name not in self._taken:
                self._taken.add(name)
                return name

    def location(self, near: _Position) -> str:
        """A location from which something at a point can be reached."""
        dice = self._dice
        tilts = (60, 45) if near.y < 110 else (30, 15, 0) if near.y < 150 else (-15, -30)
        while True:
            x, z = (value // 25 + dice.between(-3, 3) for value in (near.x, near.z))
            name = "_bar_".join(["loc", *map(_whole, (x, z, dice.below(4), dice.pick(tilts)))])
            if name not in self._taken:
                self._taken.add(name)
                return name


def lay_out(dice: Dice, household: Household, errand: Errand) -> Problem:
    """Makes the problem of a furnished room, with the errand as its goal.

    Args:
        dice: All draws are made with it.
        household: The room.
        errand: What wins.
    """
    ids = _Ids(dice)
    pieces, items = household.pieces, household.items
    positions = [_position(dice, piece) for piece in pieces]
    places = _locations(dice, ids, pieces, positions)
    piece_ids = [
        ids.thing(_BASINS.get(piece.kind, piece.kind), near, 3) for piece, near in zip(pieces, positions, strict=True)
    ]
    facts = {
        name: _Fact(_BASINS[piece.kind], False, place)
        for name, piece, place in zip(piece_ids, pieces, places, strict=True)
        if piece.kind in _BASINS
    }
    piece_ids = [
        f"{name}_bar_{piece.kind}" if piece.kind in _BASINS else name
        for name, piece in zip(piece_ids, pieces, strict=True)
    ]
    item_ids: list[str] = []
    for item in items:
        if item.places:
            near, place = positions[item.places[0]], places[item.places[0]]
        else:
            near = _anywhere(dice, dice.between(0, 220))
            place = dice.pick(places) if dice.chance(_FREE_SHARED) else ids.location(near)
        item_ids.append(ids.thing(item.kind, near, 30))
        facts[item_ids[-1]] = _Fact(item.kind, item.cool, place)
    start = ids.location(_anywhere(dice, 0))

    location = _numbered({start, *places, *(fact.location for fact in facts.values())})
    receptacle = _numbered(piece_ids)
    thing = _numbered(facts)
    standing = dict(zip(piece_ids, zip(pieces, places, strict=True), strict=True))
    return Problem(
        locations=tuple(location),
        receptacles=tuple(
            [
                Receptacle(name, f"{piece.kind}type", location[place], piece.door)
                for name, (piece, place) in sorted(standing.items())
            ]
        ),
        objects=tuple(
            [
                Thing(name, f"{fact.kind}type", PROPERTIES[fact.kind] | (IS_COOL if fact.cool else 0))
                for name, fact in sorted(facts.items())
            ]
        ),
        agent=location[start],
        in_receptacle=_sorted_pairs(
            (thing[name], receptacle[piece_ids[place]])
            for name, item in zip(item_ids, items, strict=True)
            for place in item.places
        ),
        at_location=_sorted_pairs((thing[name], location[fact.location]) for name, fact in facts.items()),
        in_object=_sorted_pairs((thing[item_ids[inner]], thing[item_ids[outer]]) for inner, outer in household.inside),
        can_contain=_can_contain({piece.kind for piece in pieces}, {fact.kind for fact in facts.values()}),
        goal=Goal(errand.task_type, f"{errand.object}type", f"{errand.target}type"),
    )


class _Fact(NamedTuple):
    """What is to be said about an object: its class, whether it is cool, and its location."""

    kind: str
    cool: bool
    location: str


def _position(dice: Dice, piece: Piece) -> _Position:
    return _anywhere(dice, dice.between(*_HEIGHTS.get(piece.kind, (0, 0))))


def _anywhere(dice: Dice, height: int) -> _Position:
    return _Position(dice.between(-_HALF_WIDTH, _HALF_WIDTH), height, dice.between(_FRONT, _BACK))


def _locations(dice: Dice, ids: _Ids, pieces: Sequence[Piece], positions: Sequence[_Position]) -> list[str]:
    """A location for each receptacle; some receptacles share one."""
    places: list[str] = []
    unpaired: dict[str, str] = {}
    first_of: dict[str, int] = {}
    for index, (piece, near) in enumerate(zip(pieces, positions, strict=True)):
        partner = unpaired.pop(piece.kind, None)
        if partner is None or not dice.chance(_SHARED.get(piece.kind, 0)):
            partner = None
            places.append(ids.location(near))
            unpaired[piece.kind] = places[-1]
        else:
            places.append(partner)
        first_of.setdefault(piece.kind, index)
    for kind, (other, percent) in _BESIDE.items():
        if kind in first_of and other in first_of and dice.chance(percent):
            places[first_of[kind]] = places[first_of[other]]
    return places


def _can_contain(furniture: Collection[str], objects: Collection[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What fits into what, for the classes that the room has: so the released games state it."""
    rows = [
        (f"{kind}type", tuple(sorted([f"{name}type" for name in objects if name in CAN_CONTAIN[kind]])))
        for kind in furniture
    ]
    return tuple(sorted([row for row in rows if row[1]]))


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """The names in order, each with its index."""
    return {name: index for index, name in enumerate(sorted(names))}


def _sorted_pairs(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(pairs))


def _metres(centimetres: int) -> str:
    sign = "minus" if centimetres < 0 else "plus"
    return f"_{sign}_{abs(centimetres) // 100:02d}_dot_{abs(centimetres) % 100:02d}"


def _whole(number: int) -> str:
    return f"_minus_{-number}" if number < 0 else str(number)
