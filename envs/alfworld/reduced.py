"""A game boiled down to what can matter for its goal, for the planner.

Four facts about the rules make the reduced game exact: a shortest plan of it is a shortest plan of the game.

1. Only three kinds of things can matter: objects that may fulfil the goal, the goal's lamps, and what is in
   the agent's hands. Picking up anything else only fills the hands. Closing, slicing, looking and examining
   never help, nor does any treatment but the one that the goal asks for.
2. Going and opening only help right before something else is done at that receptacle, and can be put off
   until then. So a step here is a *move* that changes a thing, with its ``go to`` and ``open`` where needed.
3. A place is one step away from every other, so where things stand in the room does not matter.
4. Two places that hold none of these things and offer the same are interchangeable: only the first is kept.
   This needs every thing to be in one place only, since taking an object that is in two receptacles leaves
   it in the other; where a thing is in two, all places are kept.

A lamp is taken to stay where it is: no released game has one that can be picked up.
"""

from __future__ import annotations

from typing import NamedTuple

from .problem import TaskType
from .state import State, bits

_TREATMENTS = {TaskType.CLEAN: "clean", TaskType.COOL: "cool", TaskType.HEAT: "heat"}


class Spot(NamedTuple):
    """A receptacle that is kept.

    Attributes:
        receptacle: Its index in the world.
        location: Its location's index in the world.
        takes: The things that it takes, one bit per thing.
    """

    receptacle: int
    location: int
    takes: int


class Node(NamedTuple):
    """A state of the reduced game.

    Attributes:
        location: Where the agent is.
        held: The thing in hand, -1 for none.
        closed: The closed spots, one bit per spot.
        marked: The things that are treated as the goal asks, and the lamps that are on; one bit per thing.
        where: For each thing the spots that it is in, one bit per spot.
    """

    location: int
    held: int
    closed: int
    marked: int
    where: tuple[int, ...]


class Reduced:
    """The fixed part of a reduced game. Things and spots are meant by their own small indices.

    Attributes:
        start: The node that stands for the given state.
        things: The object index in the world of each thing.
        spots: The receptacles that are kept.
        wanted: Things that may fulfil the goal.
        lamps: The goal's lamps, as things.
        portable: Wanted things that can be picked up.
        targets: Spots of the type that the goal names.
        treatment: The verb of the goal's treatment, empty for a goal without one.
        appliances: For each location where the goal's treatment is possible, the receptacle that does it.
    """

    def __init__(self, state: State) -> None:
        world = state.world
        kinds = world.goal_objects | world.goal_lamps | (1 << state.held if state.held >= 0 else 0)
        self.state = state
        self.task_type = world.problem.goal.task_type
        self.things = tuple(bits(kinds))
        self.wanted = self._as_things(world.goal_objects)
        self.lamps = self._as_things(world.goal_lamps)
        self.portable = self._as_things(world.goal_objects & world.pickupable & ~world.goal_lamps)
        self.treatment = _TREATMENTS.get(self.task_type, "")
        self.appliances = self._find_appliances()
        self.spots = self._keep_spots(kinds)

        targets = frozenset(world.goal_receptacles)
        self.targets = sum(1 << s for s, spot in enumerate(self.spots) if spot.receptacle in targets)
        treated = {
            TaskType.CLEAN: state.clean,
            TaskType.COOL: state.cool,
            TaskType.HEAT: state.hot,
            TaskType.LOOK_AT: state.toggled,
        }.get(self.task_type, -1)
        inside = [state.contents[spot.receptacle] for spot in self.spots]
        self.start = Node(
            location=state.location,
            held=self.things.index(state.held) if state.held >= 0 else -1,
            closed=sum(1 << s for s, spot in enumerate(self.spots) if self._closed(spot.receptacle)),
            marked=self._as_things(treated),
            where=tuple(sum(1 << s for s, mask in enumerate(inside) if mask >> thing & 1) for thing in self.things),
        )

    def _as_things(self, objects: int) -> int:
        return sum(1 << i for i, thing in enumerate(self.things) if objects >> thing & 1)

    def _closed(self, receptacle: int) -> bool:
        return bool(self.state.world.openable & ~self.state.opened & 1 << receptacle)

    def _find_appliances(self) -> dict[int, int]:
        world = self.state.world
        found: dict[int, int] = {}
        if not self.treatment:
            return found
        for location in sorted(set(world.location_of)):
            place = world.place(location)
            doing = {"clean": place.sinks, "cool": place.fridges, "heat": place.microwaves}[self.treatment]
            if doing:
                found[location] = doing[0]
        return found

    def _keep_spots(self, kinds: int) -> tuple[Spot, ...]:
        state, world = self.state, self.state.world
        things_of = {objects: self._as_things(objects) for objects in set(world.accepts)}
        by_location: dict[int, list[Spot]] = {}
        for receptacle, location in enumerate(world.location_of):
            takes = things_of[world.accepts[receptacle]]
            if takes or state.contents[receptacle] & kinds:
                by_location.setdefault(location, []).append(Spot(receptacle, location, takes))

        merging = not self._in_two_places() & kinds
        targets = frozenset(world.goal_receptacles)
        kept: list[Spot] = []
        offers: set[tuple[tuple[int, bool, bool], ...]] = set()
        for location, spots in by_location.items():
            special = location == state.location or location in self.appliances
            if merging and not special and not any(state.contents[spot.receptacle] & kinds for spot in spots):
                offer = tuple(sorted([(s.takes, s.receptacle in targets, self._closed(s.receptacle)) for s in spots]))
                if offer in offers:
                    continue
                offers.add(offer)
            kept += spots
        return tuple(kept)

    def _in_two_places(self) -> int:
        """The objects that are in two receptacles, or in one and in hand."""
        once, twice = 1 << self.state.held if self.state.held >= 0 else 0, 0
        for contents in self.state.contents:
            twice |= once & contents
            once |= contents
        return twice
