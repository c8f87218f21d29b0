"""The four kinds of rooms: which furniture and objects are in them, how many, and where the objects lie.

The figures summarise 1,074 released games (506 kitchens, 145 living rooms, 215 bedrooms, 208 bathrooms) and were
rounded; ``benchmarks/generator.py`` compares what comes of them with the games. A line reads

    class PRESENT NUMBERS [door DOORS]          furniture
    class PRESENT NUMBERS PLACE WEIGHT ...      objects

PRESENT is the percentage of rooms that have the class at all; NUMBERS are equally likely numbers of copies; DOORS
is the percentage of such receptacles that open and close. A copy lies in a receptacle of the class PLACE with a
probability proportional to WEIGHT among the classes that the room has, however many of that class there are;
``floor`` is no receptacle, out of reach. Sinks and bathtubs come with their basins and have no line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

FLOOR: Final = "floor"
"""The place of what stands or hangs free, in no receptacle: an agent cannot take it."""

_KITCHEN_FURNITURE = """
cabinet 100 4,6,6,9,10,11,12,13,15,19,20,26 door 80
coffeemachine 100 1
countertop 100 1,2,2,3,3,4
diningtable 49 1,1,1,1,2,3
drawer 97 1,2,3,3,3,3,4,5,6,7,9,13 door 85
fridge 100 1 door 100
garbagecan 100 1
microwave 100 1 door 100
safe 3 1 door 100
shelf 33 3
sidetable 9 1
sinkbasin 100 1
stoveburner 100 4
toaster 100 1
"""
_KITCHEN_OBJECTS = """
apple 100 1,2,3 diningtable 20 sidetable 20 fridge 18 countertop 17 microwave 10 garbagecan 9 sinkbasin 6
    floor 1
blinds 16 1 floor 100
book 8 1,1,1,2,2,3 countertop 54 diningtable 23 cabinet 14 drawer 6 shelf 3
bowl 100 1,2,3 cabinet 28 diningtable 20 fridge 19 countertop 15 sidetable 7 shelf 5 sinkbasin 3
    microwave 2
bread 100 1,1,1,2,2,3 diningtable 53 countertop 33 fridge 8 sidetable 5
butterknife 98 1,1,2,2,2,3 diningtable 40 countertop 36 sidetable 15 drawer 5 sinkbasin 4 floor 1
cellphone 25 1,2,3 diningtable 43 countertop 32 drawer 16 shelf 9
chair 88 1,2 floor 100
creditcard 21 1,2,2,3,3,3 countertop 44 shelf 28 drawer 27 floor 1
cup 100 1,2,3 diningtable 19 cabinet 16 fridge 16 sidetable 15 countertop 14 sinkbasin 8 shelf 7
    microwave 5 floor 1
curtains 7 1 floor 100
dishsponge 100 1,2,3 diningtable 24 countertop 20 cabinet 18 drawer 16 shelf 9 sinkbasin 5 garbagecan 4
    sidetable 3 floor 2
egg 100 1,2,3 fridge 19 diningtable 18 countertop 17 sidetable 15 garbagecan 11 sinkbasin 10 microwave 9
    floor 1
fork 100 1,2,3 diningtable 37 countertop 28 drawer 15 sidetable 11 sinkbasin 5 floor 2
glassbottle 36 1,2,3 diningtable 28 cabinet 25 countertop 25 shelf 7 sinkbasin 7 garbagecan 5 fridge 4
houseplant 45 1 countertop 56 diningtable 44
kettle 42 1,1,2,2,2,3 stoveburner 36 countertop 28 cabinet 21 diningtable 11 shelf 2 sinkbasin 1
knife 100 1,2,3 diningtable 38 countertop 35 drawer 12 sidetable 7 floor 4 sinkbasin 3
ladle 34 1,2,3 countertop 32 diningtable 32 cabinet 18 drawer 14 floor 2 sinkbasin 1
lettuce 100 1,1,2,2,2,3 diningtable 49 countertop 24 fridge 14 sidetable 9 sinkbasin 3 floor 1
    garbagecan 1
lightswitch 100 1 floor 100
mirror 8 1 floor 100
mug 100 1,2,3 diningtable 16 coffeemachine 14 cabinet 13 fridge 13 countertop 11 sidetable 11 microwave 7
    shelf 7 sinkbasin 5 floor 4
pan 100 1,1,2 stoveburner 58 countertop 20 diningtable 9 cabinet 8 fridge 6
papertowelroll 45 1 sidetable 29 diningtable 24 countertop 23 shelf 13 garbagecan 11
pen 7 1,2,3 diningtable 66 countertop 26 drawer 7 garbagecan 1
pencil 6 1,1,1,2,3,3 diningtable 45 drawer 31 countertop 23 garbagecan 1
peppershaker 100 1,2,3 sidetable 21 cabinet 20 diningtable 19 countertop 18 shelf 12 drawer 10
plate 100 1,2,3 cabinet 31 diningtable 26 countertop 19 fridge 8 shelf 6 floor 4 sidetable 2 sinkbasin 2
    microwave 1
pot 100 1,1,2 stoveburner 66 countertop 14 diningtable 10 fridge 4 cabinet 3 shelf 2
potato 100 1,2,3 diningtable 23 fridge 22 countertop 21 sidetable 12 sinkbasin 9 microwave 8 garbagecan 5
    floor 1
saltshaker 100 1,2,3 diningtable 21 cabinet 20 sidetable 19 countertop 17 shelf 12 drawer 11
soapbottle 100 1,2,3 diningtable 27 cabinet 20 countertop 20 sidetable 14 shelf 9 garbagecan 8 floor 1
spatula 100 1,2,3 diningtable 43 countertop 28 drawer 15 sinkbasin 7 sidetable 6 floor 1
spoon 100 1,2,3 diningtable 32 countertop 24 drawer 19 sidetable 16 sinkbasin 8 floor 2
spraybottle 7 1,2,3 diningtable 43 countertop 24 cabinet 23 garbagecan 9
statue 28 1,1,2,2,2,3 countertop 58 shelf 32 diningtable 10
stoveknob 100 4 floor 100
tomato 100 1,2,3 diningtable 26 fridge 23 countertop 22 sidetable 16 garbagecan 7 sinkbasin 5 floor 1
vase 28 2,3 cabinet 31 shelf 31 countertop 29 diningtable 9
window 89 1,2 floor 100
winebottle 35 1,2,3 diningtable 34 countertop 27 cabinet 21 shelf 10 garbagecan 8 fridge 1
"""

_LIVING_ROOM_FURNITURE = """
armchair 94 1,1,2
cabinet 23 1,1,4,4,4,4,4,4,4,8,8,8 door 95
coffeetable 73 1,1,1,1,1,2
desk 2 1
diningtable 50 1,1,1,1,1,2
drawer 78 1,1,2,4,4,4,4,5,6,7,7,21 door 96
dresser 41 1
garbagecan 100 1
ottoman 14 1
safe 10 1 door 100
shelf 44 1,1,2,4,6,8,8,12,12,13,13,14
sidetable 79 1,1,1,1,1,2,2,2,3,3,3,5
sofa 100 1,1,1,1,1,2
tvstand 34 1,1,1,1,1,2
"""
_LIVING_ROOM_OBJECTS = """
book 25 1,1,1,2,2,3 dresser 30 coffeetable 23 sofa 15 diningtable 11 sidetable 8 tvstand 6 armchair 4
    drawer 3
boots 20 1 floor 100
bowl 13 1,1,1,2,2,3 tvstand 37 diningtable 30 coffeetable 20 shelf 9 sidetable 4
box 100 1,1,1,1,2,3 diningtable 27 desk 20 coffeetable 11 sofa 11 cabinet 9 floor 7 dresser 7 shelf 3
    sidetable 3 tvstand 3 armchair 1
candle 11 1,2,3,3,3,3 drawer 33 dresser 33 sidetable 15 coffeetable 6 diningtable 6 tvstand 6
cellphone 29 1,2,3 desk 14 dresser 11 diningtable 10 armchair 9 ottoman 9 coffeetable 8 sidetable 8
    tvstand 8 shelf 7 sofa 7 drawer 5 safe 4
chair 71 1,2,4,4,6,7 floor 100
creditcard 100 1,1,2,3,3,3 desk 28 coffeetable 10 diningtable 9 drawer 8 sofa 8 armchair 7 shelf 7
    sidetable 7 dresser 6 tvstand 6 ottoman 5
curtains 26 1,1,1,1,1,3 floor 87 sidetable 13
desklamp 24 1 sidetable 100
floorlamp 100 1 floor 100
houseplant 100 1 floor 31 sidetable 29 coffeetable 13 dresser 11 tvstand 10 diningtable 5
keychain 100 1,2,3 floor 13 dresser 13 drawer 11 sidetable 11 coffeetable 10 tvstand 10 diningtable 7
    sofa 7 shelf 6 armchair 5 safe 5 ottoman 3
laptop 100 1,1,1,1,2,3 diningtable 31 dresser 18 coffeetable 14 sofa 14 tvstand 10 sidetable 6 ottoman 4
    armchair 3
lightswitch 100 1 floor 100
mirror 9 1 floor 100
newspaper 61 1,2,3 diningtable 21 coffeetable 15 shelf 15 sofa 13 dresser 11 sidetable 6 cabinet 5
    tvstand 5 armchair 4 ottoman 3 drawer 1
painting 100 1,1,1,2,2,3 floor 100
pen 15 1,1,1,2,3,3 dresser 33 coffeetable 19 sidetable 18 tvstand 18 diningtable 6 garbagecan 4 drawer 2
pencil 16 1,1,2,3,3,3 shelf 48 coffeetable 19 sidetable 19 drawer 5 garbagecan 4 dresser 3 diningtable 2
    floor 1
pillow 100 1,1,1,1,1,2 sofa 69 armchair 26 ottoman 4
plate 33 1,1,1,2,2,3 diningtable 45 shelf 23 coffeetable 15 dresser 8 sidetable 6 tvstand 4
remotecontrol 100 1,1,2,3,3,3 desk 15 coffeetable 13 dresser 13 tvstand 12 sofa 10 diningtable 9
    sidetable 7 armchair 6 ottoman 4 shelf 4 floor 3 drawer 3
statue 96 1,2,2,2,3,3 diningtable 24 shelf 21 coffeetable 13 sidetable 13 tvstand 12 dresser 10 safe 6
television 100 1 tvstand 74 dresser 18 floor 6 coffeetable 2
tissuebox 41 1,2,3 cabinet 25 coffeetable 17 diningtable 17 tvstand 14 shelf 11 dresser 8 sidetable 8
    garbagecan 1
vase 63 1,2,2,3,3,6 shelf 29 diningtable 14 safe 14 dresser 13 coffeetable 8 tvstand 8 cabinet 6
    sidetable 6 floor 4
watch 51 1,2,3 tvstand 18 diningtable 14 safe 14 drawer 12 coffeetable 11 dresser 11 sidetable 11 shelf 10
    floor 1
wateringcan 43 1 floor 66 shelf 21 coffeetable 13
window 88 1,2,2,3,3,7 floor 100
"""

_BEDROOM_FURNITURE = """
armchair 20 1,1,1,2,2,3
bed 100 1,1,1,1,1,2
cabinet 13 1,2,4 door 100
countertop 4 1
desk 73 1,1,2
diningtable 13 1
drawer 97 2,2,3,3,4,5,6,6,8,10,11,16 door 80
dresser 45 1,1,1,1,1,2
garbagecan 100 1
laundryhamper 40 1
safe 30 1 door 86
shelf 66 1,1,1,2,2,5,5,6,6,6,9,12
sidetable 58 1,1,2
"""
_BEDROOM_OBJECTS = """
alarmclock 100 1,1,1,2,2,3 diningtable 26 desk 17 dresser 15 shelf 15 countertop 14 sidetable 13
baseballbat 43 1 floor 100
basketball 41 1 floor 100
blinds 94 1,1,1,2,2,3 floor 100
book 100 1,1,1,2,2,3 bed 27 cabinet 18 diningtable 15 desk 14 countertop 7 drawer 7 dresser 4 sidetable 4
    armchair 3
boots 9 1 floor 100
bowl 56 1,1,1,2,2,3 desk 45 shelf 25 diningtable 13 countertop 9 dresser 6 sidetable 2
box 40 1 floor 81 desk 10 shelf 10
cd 100 1,2,3 diningtable 28 dresser 13 desk 12 drawer 12 sidetable 10 floor 7 armchair 5 cabinet 4
    garbagecan 4 shelf 4
cellphone 100 1,2,3 countertop 16 bed 12 desk 11 diningtable 11 armchair 10 drawer 9 dresser 9 safe 8
    sidetable 7 shelf 5 cabinet 3
chair 81 1,1,2 floor 100
cloth 14 1,1,2,2,2,3 floor 100
creditcard 100 1,2,3 countertop 21 drawer 14 sidetable 13 diningtable 12 desk 11 shelf 11 dresser 10
    armchair 8
curtains 4 1,2,2 floor 100
desklamp 76 1 sidetable 42 dresser 21 desk 19 shelf 17
footstool 4 1 floor 100
houseplant 23 1 shelf 38 dresser 25 desk 20 cabinet 12 floor 5
keychain 100 1,2,3 diningtable 19 dresser 13 drawer 12 desk 11 armchair 10 safe 10 shelf 10 sidetable 9
    cabinet 5 floor 2
laptop 100 1,1,1,2,2,3 bed 46 countertop 17 desk 15 diningtable 11 armchair 7 dresser 4
laundryhamperlid 40 1 floor 100
lightswitch 100 1 floor 100
mirror 100 1 floor 100
mug 58 1,2,3 countertop 22 desk 18 diningtable 18 shelf 12 sidetable 11 dresser 10 cabinet 8 floor 1
painting 40 1,1,1,1,2,3 floor 100
pen 100 1,2,3 countertop 25 diningtable 25 dresser 13 desk 12 sidetable 9 shelf 8 drawer 7 garbagecan 1
pencil 100 1,2,3 diningtable 32 countertop 16 desk 11 dresser 11 shelf 11 sidetable 11 drawer 7
    garbagecan 2
pillow 100 1,1,2,2,2,3 bed 95 armchair 5
poster 19 1,1,1,1,2,4 floor 100
remotecontrol 13 1,2,3 desk 25 countertop 19 armchair 14 drawer 14 dresser 11 floor 8 sidetable 6
    diningtable 4
statue 12 1,1,1,2,2,3 dresser 32 desk 26 sidetable 20 shelf 19 floor 3
teddybear 31 1 bed 74 floor 26
television 13 1 dresser 80 floor 20
tennisracket 29 1 floor 100
tissuebox 8 1,2,3 diningtable 37 desk 36 shelf 12 sidetable 11 drawer 5
vase 6 2,2,2,3,3,4 shelf 38 dresser 31 desk 24 sidetable 8
watch 3 1,2,3 diningtable 32 sidetable 21 shelf 18 drawer 14 desk 8 dresser 8
window 100 1,1,1,2,2,3 floor 100
"""

_BATHROOM_FURNITURE = """
bathtubbasin 60 1
cabinet 52 2,3,4,4,4,4,4,4,4,4,5,9 door 98
cart 9 1
countertop 86 1,1,1,1,1,2
drawer 45 1,1,2,2,4,4,4,6,6,8,8,8 door 82
dresser 8 1
garbagecan 100 1
handtowelholder 100 1,2
shelf 20 1,1,2,2,3,4
sidetable 7 1
sinkbasin 100 1,2
toiletpaperhanger 100 1
toilet 100 1
towelholder 100 1,1,2
"""
_BATHROOM_OBJECTS = """
candle 100 1,2,3 cabinet 15 countertop 15 dresser 12 shelf 12 sidetable 12 toilet 11 cart 10 drawer 8
    floor 5
cloth 100 1,2,3 cabinet 31 bathtubbasin 22 shelf 10 cart 9 countertop 8 drawer 7 dresser 7 sinkbasin 4
    floor 1 toilet 1
dishsponge 18 1,2,2,2,3,3 cabinet 26 drawer 15 bathtubbasin 14 countertop 14 cart 10 shelf 6 toilet 5
    garbagecan 4 sinkbasin 4 floor 3
floorlamp 7 2 floor 100
footstool 4 1 floor 100
handtowel 100 1,1,1,1,1,2 handtowelholder 100
houseplant 5 1 sidetable 100
lightswitch 100 1 floor 100
mirror 100 1 floor 93 countertop 7
painting 5 1 floor 100
papertowelroll 12 1 shelf 31 countertop 22 toilet 17 floor 14 cart 8 garbagecan 8
plunger 100 1 floor 100
scrubbrush 100 1 floor 100
showerdoor 63 1 floor 100
showerglass 43 1 floor 80 shelf 20
soapbar 100 1,1,2,2,3,4 countertop 15 cabinet 13 drawer 10 shelf 10 sidetable 10 toilet 10 bathtubbasin 9
    sinkbasin 8 cart 7 floor 4 garbagecan 3
soapbottle 100 1,2,3 cabinet 25 countertop 18 shelf 16 dresser 15 toilet 10 cart 4 garbagecan 4 floor 3
    sidetable 3 drawer 2
spraybottle 100 1,2,3 cart 29 cabinet 15 countertop 13 dresser 12 sidetable 12 shelf 9 toilet 8
    garbagecan 3
tissuebox 18 1,2,3 sidetable 30 cabinet 24 shelf 17 countertop 15 cart 7 drawer 7 toilet 1
toiletpaper 100 2,2,3 shelf 15 cabinet 11 dresser 11 toilet 11 countertop 10 cart 9 drawer 9 floor 8
    sidetable 6 garbagecan 5 toiletpaperhanger 5
towel 100 1,1,1,1,1,2 towelholder 100
window 64 1,1,2 floor 100
"""


class Furniture(NamedTuple):
    """A class of receptacles in a kind of room; the fields are the columns of the tables above."""

    kind: str
    present: int
    numbers: tuple[int, ...]
    doors: int


class Stock(NamedTuple):
    """A class of objects in a kind of room; the fields are the columns of the tables above."""

    kind: str
    present: int
    numbers: tuple[int, ...]
    places: Mapping[str, int]


@dataclass(frozen=True)
class Room:
    """A kind of room.

    Attributes:
        name: ``kitchen``, ``livingroom``, ``bedroom`` or ``bathroom``.
        furniture: Its receptacles, by class.
        stock: Its objects, by class.
    """

    name: str
    furniture: tuple[Furniture, ...]
    stock: tuple[Stock, ...]

    def stock_of(self, kind: str) -> Stock:
        """The line of a class of objects; raises KeyError if the room never has it."""
        for line in self.stock:
            if line.kind == kind:
                return line
        raise KeyError(kind)


def _rows(table: str) -> list[list[str]]:
    """Splits a table into fields; a line that begins with a blank goes on with the row above."""
    return [row.split() for row in table.strip().replace("\n ", " ").splitlines()]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple([int(number) for number in text.split(",")])


def _pairs(fields: list[str]) -> dict[str, int]:
    return {name: int(weight) for name, weight in zip(fields[::2], fields[1::2], strict=True)}


def _room(name: str, furniture: str, objects: str) -> Room:
    return Room(
        name,
        tuple(
            [
                Furniture(kind, int(present), _numbers(numbers), _pairs(rest).get("door", 0))
                for kind, present, numbers, *rest in _rows(furniture)
            ]
        ),
        tuple(
            [
                Stock(kind, int(present), _numbers(numbers), _pairs(rest))
                for kind, present, numbers, *rest in _rows(objects)
            ]
        ),
    )


ROOMS: Final[Mapping[str, Room]] = {
    room.name: room
    for room in (
        _room("kitchen", _KITCHEN_FURNITURE, _KITCHEN_OBJECTS),
        _room("livingroom", _LIVING_ROOM_FURNITURE, _LIVING_ROOM_OBJECTS),
        _room("bedroom", _BEDROOM_FURNITURE, _BEDROOM_OBJECTS),
        _room("bathroom", _BATHROOM_FURNITURE, _BATHROOM_OBJECTS),
    )
}
"""The kinds of rooms by name."""
