"""What an episode in a household has shown so far, put in order: places, what is in them, and what is held.

It is made of observations and commands alone, the things that a player has read. Nothing of the game is looked into.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_NAME = r"[a-z]+ \d+"
_LISTED = re.compile(rf"a ({_NAME})")
_ROOM = re.compile(r"Looking quickly around you, you see ([^.]*)\.")
_ARRIVED = re.compile(rf"You arrive at ({_NAME})\.")
_CLOSED = re.compile(rf"The ({_NAME}) is closed\.")
_INSIDE = re.compile(rf"The ({_NAME}) is open\. In it, you see ([^.]*)\.")
_UPON = re.compile(rf"On the ({_NAME}), you see ([^.]*)\.")
_TAKEN = re.compile(rf"You pick up the ({_NAME}) from the ({_NAME})\.")
_PUT = re.compile(rf"You (?:move|put) the ({_NAME}) (?:to|in/on) the ({_NAME})\.")
_TREATED = re.compile(rf"You (clean|heat|cool) the ({_NAME}) using the {_NAME}\.")

# As the task sentences have it: "put a hot mug in shelf".
_MADE = {"clean": "clean", "heat": "hot", "cool": "cool"}


@dataclass(frozen=True, slots=True)
class Place:
    """A receptacle.

    Attributes:
        name: For example ``cabinet 2``.
        visited: Whether the player has been there.
        closed: Whether it was closed when it was last seen.
        things: What was in or on it when it was last seen, and what was put there since; None before anything was seen.
    """

    name: str
    visited: bool = False
    closed: bool = False
    things: tuple[str, ...] | None = None


class Memory(NamedTuple):
    """What the player knows.

    Attributes:
        places: All receptacles by name, in the order of the first observation.
        here: Where the player is; empty at the start.
        held: What the player holds; empty for nothing.
        made: What the player has made of objects: ``clean``, ``hot`` or ``cool``, by object.
    """

    places: dict[str, Place]
    here: str
    held: str
    made: dict[str, str]


def remember(observations: Iterable[str]) -> Memory:
    """Reads the observations of an episode, oldest first.

    Both dialects are understood. Observations that say nothing new, such as that nothing happens, change nothing.
    """
    places: dict[str, Place] = {}
    here = held = ""
    made: dict[str, str] = {}
    for text in observations:
        if found := _ROOM.search(text):
            for name in _LISTED.findall(found[1]):
                places.setdefault(name, Place(name))
        if found := _ARRIVED.search(text):
            here = found[1]
            known = places.get(here, Place(here))
            places[here] = Place(here, True, False, known.things)
        if found := _CLOSED.search(text):
            places[found[1]] = Place(found[1], True, True, places.get(found[1], Place(found[1])).things)
        for found in (*_INSIDE.finditer(text), *_UPON.finditer(text)):
            places[found[1]] = Place(found[1], True, False, tuple(_LISTED.findall(found[2])))
        if found := _TAKEN.search(text):
            held = found[1]
            places[found[2]] = _with(places, found[2], _without(places, found[2], held))
        if found := _PUT.search(text):
            held = ""
            places[found[2]] = _with(places, found[2], (*_without(places, found[2], found[1]), found[1]))
        if found := _TREATED.search(text):
            made[found[2]] = _MADE[found[1]]
    return Memory(places, here, held, made)


def _without(places: dict[str, Place], name: str, thing: str) -> tuple[str, ...]:
    return tuple(one for one in places.get(name, Place(name)).things or () if one != thing)


def _with(places: dict[str, Place], name: str, things: Sequence[str]) -> Place:
    known = places.get(name, Place(name))
    return Place(name, True, known.closed, tuple(things))
