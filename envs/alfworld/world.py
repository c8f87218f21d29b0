"""What is fixed in a game: names, places, abilities and the goal, shared by all live copies of the game.

Sets of objects are integers with one bit per object, in id order, so that the rules are a few machine
operations and a state copies in under a microsecond. Texts and command lists that depend only on a place or
on the contents of one receptacle are made once and kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .names import indefinite, join_names, number_names
from .problem import (
    CLEANABLE,
    COOLABLE,
    HEATABLE,
    IS_COOL,
    IS_RECEPTACLE,
    PICKUPABLE,
    SLICEABLE,
    TOGGLEABLE,
    Problem,
    TaskType,
    Thing,
)
from .state import State, bits

# Contents of receptacles are cached by what is inside. A game meets few different contents, but one that is
# played for millions of episodes must not grow, so the cache is emptied at this size (about 0.1 MB).
_MAX_VIEWS = 128


class View(NamedTuple):
    """A receptacle with certain objects inside: how they are listed, and the commands that take them."""

    listing: str
    takes: tuple[str, ...]


class Place(NamedTuple):
    """What a location offers whatever the state.

    Receptacles are in id order in ``receptacles``, because lists are shown so, and in the order of their
    names elsewhere, because commands are sorted.
    """

    receptacles: tuple[int, ...]
    facing: str
    go_to: tuple[str, ...]
    examine: tuple[str, ...]
    by_name: tuple[int, ...]
    doors: tuple[int, ...]
    sinks: tuple[int, ...]
    fridges: tuple[int, ...]
    microwaves: tuple[int, ...]


class World:
    """One game's fixed tables.

    Masks have one bit per object; receptacles, objects and locations are meant by their index in the problem.

    Args:
        problem: The facts.
        sentence: The task line, ``Your task is to: ...``.

    Attributes:
        introduction: What the player reads at reset.
        object_names, receptacle_names: Names as the player reads them.
        location_of: Location of each receptacle.
        accepts: For each receptacle, the objects that it takes.
        openable: Receptacles that have a door, one bit per receptacle.
        pickupable, cleanable, coolable, heatable, sliceable, toggleable: Objects that can be so treated.
        vessels: Objects that may hold others (plates, pans): their temperature never shows.
        knives: Objects that slice.
        goal_objects: Objects of the type that the goal names and that can be treated as it asks.
        goal_receptacles: Receptacles of the type that the goal names (none for ``LOOK_AT``).
        goal_lamps: Lamps of the type that the goal names (``LOOK_AT`` only).
    """

    __slots__ = (
        "_initial",
        "_places",
        "_view_count",
        "_views",
        "accepts",
        "cleanable",
        "coolable",
        "goal_lamps",
        "goal_objects",
        "goal_receptacles",
        "heatable",
        "introduction",
        "knives",
        "location_of",
        "object_index",
        "object_names",
        "openable",
        "pickupable",
        "problem",
        "receptacle_index",
        "receptacle_names",
        "sliceable",
        "toggleable",
        "vessels",
    )

    def __init__(self, problem: Problem, sentence: str) -> None:
        self.problem = problem
        objects, receptacles = problem.objects, problem.receptacles
        names = number_names([thing.id for thing in objects] + [r.id for r in receptacles])
        self.object_names = tuple([names[thing.id] for thing in objects])
        self.receptacle_names = tuple([names[receptacle.id] for receptacle in receptacles])
        self.object_index = {name: index for index, name in enumerate(self.object_names)}
        self.receptacle_index = {name: index for index, name in enumerate(self.receptacle_names)}
        self.location_of = tuple([receptacle.location for receptacle in receptacles])
        self.openable = sum([1 << index for index, r in enumerate(receptacles) if r.openable])
        self.pickupable = _able(objects, PICKUPABLE)
        self.cleanable = _able(objects, CLEANABLE)
        self.coolable = _able(objects, COOLABLE)
        self.heatable = _able(objects, HEATABLE)
        self.sliceable = _able(objects, SLICEABLE)
        self.toggleable = _able(objects, TOGGLEABLE)
        self.vessels = _able(objects, IS_RECEPTACLE)

        of_type: dict[str, int] = {}
        for index, thing in enumerate(objects):
            of_type[thing.type] = of_type.get(thing.type, 0) | 1 << index
        self.knives = of_type.get("knifetype", 0) | of_type.get("butterknifetype", 0)
        taken = {rtype: _union(of_type, otypes) for rtype, otypes in problem.can_contain}
        self.accepts = tuple([taken.get(receptacle.type, 0) for receptacle in receptacles])

        goal = problem.goal
        able = {
            TaskType.CLEAN: self.cleanable,
            TaskType.COOL: self.coolable,
            TaskType.HEAT: self.heatable,
        }.get(goal.task_type, -1)
        self.goal_objects = of_type.get(goal.object_type, 0) & able
        self.goal_receptacles = tuple([i for i, r in enumerate(receptacles) if r.type == goal.target_type])
        self.goal_lamps = of_type.get(goal.target_type, 0) & self.toggleable

        self._places: list[Place | None] = [None] * len(problem.locations)
        start = self.place(problem.agent)
        if start.receptacles:  # no released game starts so
            around = f"{start.facing} Next to it, you see nothing."
        else:
            listing = indefinite(self.receptacle_names)
            around = f"You are in the middle of a room. Looking quickly around you, you see {listing}."
        self.introduction = f"-= Welcome to TextWorld, ALFRED! =-\n\n{around}\n\n{sentence}"
        self._views: list[dict[int, View]] = [{} for _ in receptacles]
        self._view_count = 0
        self._initial = self._first_state()

    def initial_state(self) -> State:
        """A new live copy of the game at its start."""
        return self._initial.copy()

    def place(self, location: int) -> Place:
        """What a location offers; made at the first visit."""
        place = self._places[location]
        if place is None:
            place = self._places[location] = self._make_place(location)
        return place

    def view(self, receptacle: int, contents: int) -> View:
        """How a receptacle with these contents is listed and what can be taken from it."""
        views = self._views[receptacle]
        view = views.get(contents)
        if view is None:
            if self._view_count >= _MAX_VIEWS:  # several threads may count at once
                for kept in self._views:
                    kept.clear()
                self._view_count = 0
            view = views[contents] = self._make_view(receptacle, contents)
            self._view_count += 1
        return view

    def _make_view(self, receptacle: int, contents: int) -> View:
        inside = list(bits(contents))
        source = self.receptacle_names[receptacle]
        names = self.object_names
        takes = sorted([f"take {names[o]} from {source}" for o in inside if self.pickupable >> o & 1])
        return View(indefinite([names[o] for o in inside]), tuple(takes))

    def _make_place(self, location: int) -> Place:
        names = self.receptacle_names
        by_name = sorted(range(len(names)), key=names.__getitem__)
        here = [r for r in by_name if self.location_of[r] == location]
        receptacles = self.problem.receptacles

        def of_type(rtype: str) -> tuple[int, ...]:
            return tuple([r for r in here if receptacles[r].type == rtype])

        return Place(
            receptacles=tuple(sorted(here)),
            facing=f"You are facing the {join_names([names[r] for r in sorted(here)])}.",
            go_to=tuple([f"go to {names[r]}" for r in by_name if self.location_of[r] != location]),
            examine=tuple([f"examine {names[r]}" for r in here]),
            by_name=tuple(here),
            doors=tuple([r for r in here if receptacles[r].openable]),
            sinks=of_type("sinkbasintype"),
            fridges=of_type("fridgetype"),
            microwaves=of_type("microwavetype"),
        )

    def _first_state(self) -> State:
        problem = self.problem
        contents = [0] * len(problem.receptacles)
        for thing, receptacle in problem.in_receptacle:
            contents[receptacle] |= 1 << thing
        lying = [0] * len(problem.locations)
        for thing, location in problem.at_location:
            lying[location] |= 1 << thing
        return State(self, problem.agent, contents, lying, _able(problem.objects, IS_COOL))


def _able(objects: Sequence[Thing], ability: int) -> int:
    return sum([1 << index for index, thing in enumerate(objects) if thing.properties & ability])


def _union(masks: Mapping[str, int], keys: Iterable[str]) -> int:
    union = 0
    for key in keys:
        union |= masks.get(key, 0)
    return union
