"""Shortest plans, with full knowledge of where things are, from any state of a game."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from .bounds import NEVER, bound_of
from .reduced import Node, Reduced
from .state import State, bits


class _Move(NamedTuple):
    """One change of the reduced game: go to a receptacle, open it, do something there, each where needed.

    ``command`` has a ``{}`` for the receptacle's name, and is empty for merely going there.
    """

    cost: int
    receptacle: int
    opens: bool
    command: str
    node: Node


class _Step(NamedTuple):
    """How a node was reached."""

    cost: int
    before: Node | None
    move: _Move | None


def shortest_plan(state: State) -> tuple[str, ...] | None:
    """Finds a shortest sequence of commands that wins from here, knowing where everything is.

    A* over the reduced game (``reduced.py``), whose lower bounds (``bounds.py``) never overestimate: no
    sequence of commands wins earlier. Of several shortest plans it always returns the same one.

    Args:
        state: Any state, also in the middle of an episode. It is left as it is.

    Returns:
        The commands; empty if the goal holds already, None if nothing can win any more.
    """
    game = Reduced(state)
    bound = bound_of(game)
    remaining = bound(game.start)
    reached = {game.start: _Step(0, None, None)}
    # Equal estimates: first what is nearer to the goal, then what was found first, so that plans never vary.
    order = count()
    queue = [(remaining, remaining, next(order), game.start)]
    while queue:
        estimate, remaining, _, node = heappop(queue)
        if estimate >= NEVER:
            return None
        cost = reached[node].cost
        if cost + remaining < estimate:
            continue
        if not remaining:
            return _commands(game, reached, node)
        for move in _moves(game, node):
            known = reached.get(move.node)
            if known is None or cost + move.cost < known.cost:
                reached[move.node] = _Step(cost + move.cost, node, move)
                remaining = bound(move.node)
                heappush(queue, (cost + move.cost + remaining, remaining, next(order), move.node))
    return None


def _moves(game: Reduced, node: Node) -> Iterator[_Move]:
    """All moves from a node, in a fixed order."""
    location, held, closed, marked, where = node
    names = game.state.world.object_names

    def handle(spot: int, command: str, held: int, where: tuple[int, ...]) -> _Move:
        """A take or a placement: the receptacle must be open."""
        receptacle, there, _ = game.spots[spot]
        opens = closed >> spot & 1
        after = Node(there, held, closed & ~(1 << spot), marked, where)
        return _Move(1 + (there != location) + opens, receptacle, bool(opens), command, after)

    def touch(receptacle: int, there: int, command: str, marked: int) -> _Move:
        """A treatment, a lamp, or merely going there: doors do not matter."""
        cost = (there != location) + bool(command)
        return _Move(cost, receptacle, False, command, Node(there, held, closed, marked, where))

    if held < 0:
        for thing in bits(game.portable):
            for spot in bits(where[thing]):
                left = _with(where, thing, where[thing] & ~(1 << spot))
                yield handle(spot, f"take {names[game.things[thing]]} from {{}}", thing, left)
    else:
        name = names[game.things[held]]
        for spot, (_, _, takes) in enumerate(game.spots):
            if takes >> held & 1:
                yield handle(spot, f"move {name} to {{}}", -1, _with(where, held, where[held] | 1 << spot))
        if game.wanted & ~marked & 1 << held:
            for there, receptacle in game.appliances.items():
                yield touch(receptacle, there, f"{game.treatment} {name} with {{}}", marked | 1 << held)
    for lamp in bits(game.lamps):
        for spot in bits(where[lamp]):
            receptacle, there, _ = game.spots[spot]
            if not marked >> lamp & 1:
                yield touch(receptacle, there, f"use {names[game.things[lamp]]}", marked | 1 << lamp)
            elif there != location:
                yield touch(receptacle, there, "", marked)


def _with(where: tuple[int, ...], thing: int, spots: int) -> tuple[int, ...]:
    return (*where[:thing], spots, *where[thing + 1 :])


def _commands(game: Reduced, reached: dict[Node, _Step], node: Node) -> tuple[str, ...]:
    names = game.state.world.receptacle_names
    backwards: list[str] = []
    step = reached[node]
    while step.before is not None and step.move is not None:
        receptacle = names[step.move.receptacle]
        if step.move.command:
            backwards.append(step.move.command.format(receptacle))
        if step.move.opens:
            backwards.append(f"open {receptacle}")
        if step.move.node.location != step.before.location:
            backwards.append(f"go to {receptacle}")
        step = reached[step.before]
    return tuple(reversed(backwards))
