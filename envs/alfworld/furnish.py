"""Furnishes a room for an errand: which receptacles stand in it, which objects there are and where they lie."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from .dice import Dice
from .errands import APPLIANCES, LAMP, Errand
from .household import PROPERTIES, SINGLE
from .problem import COOLABLE, IS_RECEPTACLE, PICKUPABLE, TaskType
from .rooms import FLOOR, ROOMS, Room, Stock

FEWEST_RECEPTACLES: Final = 4
FEWEST_OBJECTS: Final = 8
"""The size of a room at difficulty 0."""

# The smallest room of the released games.
_FEWEST_IN_FULL_ROOM = 6

# None of the released games of these types has a wanted object in a target at the start; of the types with a treatment
# many have, because an untreated object there is not enough.
_TARGET_STARTS_WITHOUT = (TaskType.PICK_AND_PLACE, TaskType.PICK_TWO)
# In nearly all released games of these types a wanted object is found without opening anything.
_FOUND_OPEN = (TaskType.LOOK_AT, TaskType.PICK_TWO)

# In how many of 100 cases there is one more of what is wanted than such a room usually has.
_ONE_MORE = 30
# In how many of 100 cases an object that lies in the first also is in the second, as in the released games.
_IN_BOTH = {
    "coffeemachine": ("countertop", 90),
    "desk": ("shelf", 14),
    "stoveburner": ("stoveburner", 35),
}
# In how many of 100 cases a plate or pan holds something that lies in the same receptacle.
_FILLED = 4
# In how many of 100 cases what lies in the fridge is cool from the start. Never where cooling is the errand.
_COOL = 7


class Piece(NamedTuple):
    """A receptacle: its class, and whether it has a door."""

    kind: str
    door: bool


class Item(NamedTuple):
    """An object.

    Attributes:
        kind: Its class.
        places: The receptacles that it is in, by their index in the household, the one where it lies first;
            empty for what stands free.
        cool: Whether it is cool at the start.
    """

    kind: str
    places: tuple[int, ...]
    cool: bool


@dataclass(frozen=True)
class Household:
    """A furnished room: what there is, before anything has an id.

    Attributes:
        pieces: The receptacles.
        items: The objects.
        inside: Pairs of indices of items: the first is in or on the second.
    """

    pieces: tuple[Piece, ...]
    items: tuple[Item, ...]
    inside: tuple[tuple[int, int], ...]


def furnish(dice: Dice, errand: Errand, difficulty: float) -> Household:
    """Furnishes a room in which the errand can be done.

    The numbers of receptacles and of objects go linearly from the fewest, at difficulty 0, to those of a full
    room, at 1. What the errand needs is always kept: the target, the appliance, the lamp and its stand, and a
    wanted object in a receptacle. Two wanted objects may find too little room in the smallest households.

    Args:
        dice: All draws are made with it.
        errand: What the player will be asked to do.
        difficulty: In [0, 1].
    """
    room = ROOMS[errand.room]
    needs = _needs(dice, room, errand)
    pieces = _choose_pieces(dice, room, needs, difficulty)
    placing = _Placing(dice, pieces)
    kinds = _draw_objects(dice, room, errand)
    count = _between(FEWEST_OBJECTS, len(kinds), difficulty)
    stock = {line.kind: line for line in room.stock}
    for index, kind in enumerate(kinds):
        if len(placing.places) >= count:
            break
        line = stock[kind]
        if index == 0:
            line = line._replace(places={needs.source: 1})
        elif kind == errand.object and errand.task_type in _TARGET_STARTS_WITHOUT:
            line = line._replace(places={p: w for p, w in line.places.items() if p != errand.target})
        elif kind == LAMP and errand.task_type is TaskType.LOOK_AT:
            line = line._replace(places={needs.stand: 1})
        placing.add(line)
    return _finish(dice, errand, pieces, placing)


class _Needs(NamedTuple):
    """Classes of receptacles that the errand needs, with how many of each class there would be in all."""

    source: str
    stand: str
    kinds: tuple[str, ...]
    numbers: dict[str, int]


def _needs(dice: Dice, room: Room, errand: Errand) -> _Needs:
    numbers = _draw_numbers(dice, room)
    usual = {line.kind: line for line in room.furniture}
    places = room.stock_of(errand.object).places
    kinds: list[str] = []
    stand = ""
    if errand.task_type in _FOUND_OPEN:
        places = {place: weight for place, weight in places.items() if place != FLOOR and not usual[place].doors}
    if errand.task_type is TaskType.LOOK_AT:
        stand = _draw_place(dice, room.stock_of(LAMP).places, numbers)
        kinds.append(stand)
    else:
        kinds.append(errand.target)
    if errand.task_type in APPLIANCES:
        kinds.append(APPLIANCES[errand.task_type])
    if errand.task_type in _TARGET_STARTS_WITHOUT:
        places = {place: weight for place, weight in places.items() if place != errand.target}
    source = _draw_place(dice, places, numbers)
    kinds.append(source)
    for kind in kinds:
        numbers[kind] = numbers[kind] or dice.pick(usual[kind].numbers)
    return _Needs(source, stand, tuple(dict.fromkeys(kinds)), numbers)


def _draw_numbers(dice: Dice, room: Room) -> dict[str, int]:
    """Draws how many receptacles of each class a full room has."""
    while True:
        numbers = {line.kind: dice.pick(line.numbers) if dice.chance(line.present) else 0 for line in room.furniture}
        if sum(numbers.values()) >= _FEWEST_IN_FULL_ROOM:
            return numbers


def _draw_place(dice: Dice, places: Mapping[str, int], numbers: Mapping[str, int]) -> str:
    """Draws a class of receptacle, among those that the room has if there are any."""
    usable = {place: weight for place, weight in places.items() if place != FLOOR}
    return dice.weighted({place: weight for place, weight in usable.items() if numbers[place]} or usable)


def _choose_pieces(dice: Dice, room: Room, needs: _Needs, difficulty: float) -> tuple[Piece, ...]:
    spare = [kind for kind, number in needs.numbers.items() for _ in range(number - (kind in needs.kinds))]
    count = _between(FEWEST_RECEPTACLES, len(needs.kinds) + len(spare), difficulty)
    kinds = [*needs.kinds, *dice.shuffled(spare)][:count]
    # Half of the released rooms have doors in all receptacles of a class that can have them, the others in some.
    complete = dice.chance(50)
    doors = {line.kind: 100 if complete and line.doors else max(0, 2 * line.doors - 100) for line in room.furniture}
    return tuple([Piece(kind, dice.chance(doors[kind])) for kind in kinds])


def _draw_objects(dice: Dice, room: Room, errand: Errand) -> list[str]:
    """Draws the objects of a full room, by class: those that the errand needs first, the others mixed."""
    needed = [errand.object] * (2 if errand.task_type is TaskType.PICK_TWO else 1)
    if errand.task_type is TaskType.LOOK_AT:
        needed.append(LAMP)
    spare: list[str] = []
    for line in room.stock:
        already = needed.count(line.kind)
        if already or dice.chance(line.present):
            more = line.kind == errand.object and dice.chance(_ONE_MORE)
            spare += [line.kind] * max(0, dice.pick(line.numbers) + more - already)
    return [*needed, *dice.shuffled(spare)]


class _Placing:
    """Puts objects into receptacles, one after another."""

    def __init__(self, dice: Dice, pieces: tuple[Piece, ...]) -> None:
        self._dice = dice
        self._free: dict[str, list[int]] = {}
        for index, piece in enumerate(pieces):
            self._free.setdefault(piece.kind, []).append(index)
        self.places: list[tuple[str, int | None]] = []

    def add(self, line: Stock) -> None:
        """Places one more object of a class, unless the room has no place for it."""
        usable = {place: w for place, w in line.places.items() if place == FLOOR or self._free.get(place)}
        if not usable:
            return
        place = self._dice.weighted(usable)
        if place == FLOOR:
            self.places.append((line.kind, None))
            return
        piece = self._dice.pick(self._free[place])
        if place in SINGLE:
            self._free[place].remove(piece)
        self.places.append((line.kind, piece))


def _finish(dice: Dice, errand: Errand, pieces: tuple[Piece, ...], placing: _Placing) -> Household:
    """Adds what the released games have in small numbers: things in two receptacles, in dishes, or cool."""
    items: list[Item] = []
    for kind, place in placing.places:
        if place is None:
            items.append(Item(kind, (), False))
            continue
        places: tuple[int, ...] = (place,)
        other, percent = _IN_BOTH.get(pieces[place].kind, ("", 0))
        if percent and not (kind == errand.object and other == errand.target) and dice.chance(percent):
            others = [index for index, piece in enumerate(pieces) if piece.kind == other and index != place]
            if others:
                places = (place, dice.pick(others))
        fresh = pieces[place].kind == "fridge" and PROPERTIES[kind] & COOLABLE
        cool = bool(fresh) and errand.task_type is not TaskType.COOL and dice.chance(_COOL)
        items.append(Item(kind, places, cool))
    return Household(pieces, tuple(items), _fill(dice, items))


def _fill(dice: Dice, items: list[Item]) -> tuple[tuple[int, int], ...]:
    inside: list[tuple[int, int]] = []
    for outer, dish in enumerate(items):
        if not dish.places or not PROPERTIES[dish.kind] & IS_RECEPTACLE or not dice.chance(_FILLED):
            continue
        beside = [
            inner
            for inner, item in enumerate(items)
            if inner != outer and item.places[:1] == dish.places[:1] and PROPERTIES[item.kind] & PICKUPABLE
        ]
        if beside:
            inside.append((dice.pick(beside), outer))
    return tuple(inside)


def _between(fewest: int, most: int, difficulty: float) -> int:
    """The whole number nearest to the point between the two that the difficulty marks."""
    return fewest + int((most - fewest) * difficulty + 0.5) if most > fewest else most
