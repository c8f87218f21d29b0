"""Lower bounds on how many commands are still needed, for the planner.

A bound counts what every way to the goal contains: for some object that may fulfil the goal a take, a
treatment and a placement, a walk between any two of them that cannot happen at one place, and the doors in
the way. It never overestimates, is 0 exactly where the goal holds, and is nearly exact elsewhere, so that A*
looks at little more than the plan itself.
"""

from __future__ import annotations

from collections.abc import Callable

from .problem import TaskType
from .reduced import Node, Reduced
from .state import bits

NEVER = 1 << 30


def bound_of(game: Reduced) -> Callable[[Node], int]:
    """The bound for a game's task type; ``NEVER`` or more means that the goal is out of reach."""
    if game.task_type is TaskType.LOOK_AT:
        return _LookAt(game)
    if game.task_type is TaskType.PICK_TWO:
        return _PlaceTwo(game)
    return _Place(game)


class _Bound:
    """What the bounds share."""

    def __init__(self, game: Reduced) -> None:
        self.wanted = tuple(bits(game.wanted))
        self.carried = tuple(i for i in self.wanted if game.portable >> i & 1)
        self.locations = tuple(spot.location for spot in game.spots)
        droppable = 0
        for spot in game.spots:
            droppable |= spot.takes
        self.drop_cost = tuple(1 if droppable >> i & 1 else NEVER for i in range(len(game.things)))
        self.targets = game.targets

    def emptying(self, node: Node) -> int:
        """Commands that the hands need to become empty, without walks and doors."""
        return 0 if node.held < 0 else self.drop_cost[node.held]

    def sources(self, node: Node, thing: int) -> list[tuple[int, int, int]]:
        """For each spot that a thing is in: the spot, its location, and the commands to take it."""
        found = []
        for spot in bits(node.where[thing]):
            location = self.locations[spot]
            found.append((spot, location, 1 + (location != node.location) + (node.closed >> spot & 1)))
        return found


class _Place(_Bound):
    """Some object, treated if the task asks for it, in some target."""

    def __init__(self, game: Reduced) -> None:
        super().__init__(game)
        self.appliances = frozenset(game.appliances)
        # All wanted objects have one type, so a target takes all of them or none.
        self.open_to_them = sum(1 << t for t in bits(game.targets) if game.spots[t].takes & game.wanted)
        self.target_locations = frozenset(self.locations[t] for t in bits(self.open_to_them))
        self.apart = self.appliances.isdisjoint(self.target_locations)

    def __call__(self, node: Node) -> int:
        """The bound."""
        best = NEVER
        for thing in self.wanted:
            where = node.where[thing]
            marked = node.marked >> thing & 1
            if marked and where & self.targets:
                return 0
            if thing == node.held:
                best = min(best, self._carrying(node.location, marked, where, node.closed))
            elif thing in self.carried:
                empty = self.emptying(node)
                for spot, location, take in self.sources(node, thing):
                    left = where & ~(1 << spot)
                    closed = node.closed & ~(1 << spot)
                    best = min(best, empty + take + self._carrying(location, marked, left, closed))
        return best

    def _carrying(self, location: int, marked: int, where: int, closed: int) -> int:
        """Commands needed with the object in hand."""
        steps = 0
        walk = location not in self.target_locations
        if not marked:
            if not self.appliances:
                return NEVER
            steps = 1
            if location not in self.appliances:
                steps = 2
                walk = self.apart
        if not where & self.targets:
            if not self.open_to_them:
                return NEVER
            steps += 1 + walk + (not self.open_to_them & ~closed)
        return steps


class _PlaceTwo(_Bound):
    """Two objects in one target."""

    def __init__(self, game: Reduced) -> None:
        super().__init__(game)
        self.takes = tuple(bool(spot.takes & game.wanted) for spot in game.spots)

    def __call__(self, node: Node) -> int:
        """The bound."""
        holding = node.held in self.wanted
        sources = {i: self.sources(node, i) for i in self.carried if i != node.held and node.where[i]}
        best = NEVER
        for target in bits(self.targets):
            inside = {i for i in self.wanted if node.where[i] >> target & 1}
            missing = 2 - len(inside)
            if missing <= 0:
                return 0
            useful = holding and node.held not in inside
            outside = [i for i in sources if i not in inside]
            if not self.takes[target] or len(outside) + useful < missing:
                continue
            home = self.locations[target]
            steps = node.closed >> target & 1
            if useful:
                steps += 1 + (node.location != home)
            else:
                # The first trip begins where the agent is, each further one at the target.
                steps += self.emptying(node) + 1
                steps += min(take + (location != home) for i in outside for _, location, take in sources[i])
            if missing == 2:
                steps += 2 + 2 * min(all(location != home for _, location, _ in sources[i]) for i in outside)
            best = min(best, steps)
        return best


class _LookAt(_Bound):
    """Some object in hand at a lamp that is on."""

    def __init__(self, game: Reduced) -> None:
        super().__init__(game)
        self.lamps = tuple(bits(game.lamps))

    def __call__(self, node: Node) -> int:
        """The bound."""
        lamps = [
            (self.locations[spot], 1 - (node.marked >> lamp & 1))
            for lamp in self.lamps
            for spot in bits(node.where[lamp])
        ]
        if not lamps:
            return NEVER
        if node.held in self.wanted:
            return min(use + (location != node.location) for location, use in lamps)
        empty = self.emptying(node)
        return min(
            (
                empty + take + use + (location != source)
                for i in self.carried
                for _, source, take in self.sources(node, i)
                for location, use in lamps
            ),
            default=NEVER,
        )
