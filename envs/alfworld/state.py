"""A live copy of a game: the few things that change, and the rules by which they do.

Behaviour is the stock engine's (alfworld 0.4.2 over textworld 1.7.0, dialect 0.4), character by character,
surprises included; ``docs/FOOTGUNS.md`` lists those that matter to an agent. Sets of objects are integers
with one bit per object.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from .names import indefinite
from .problem import TaskType

if TYPE_CHECKING:
    from .world import World

NOTHING_HAPPENS = "Nothing happens."
_EMPTY_HANDS = -1

# Begins without the line break that the grammar writes: the stock text parser swallows it.
_HELP = """Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""


class GoalProgress(NamedTuple):
    """How many of the goal's conditions hold; the game is won while all do."""

    met: int
    total: int


def bits(mask: int) -> Iterator[int]:
    """Yields the positions of the set bits, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class State:
    """The changing part of one game. Make it with ``World.initial_state``; ``copy`` forks it.

    Attributes:
        world: The fixed part.
        location: Where the agent is.
        held: The object in the agent's hands, -1 for none.
        contents: For each receptacle, the objects in it. An object may be in two receptacles at once.
        lying: For each location, the objects that the game's facts place there. This is not derived from
            ``contents``: released games contradict it, and slicing and looking go by it.
        removed: For each receptacle, the objects taken from it and not put back; ``look`` goes by it.
        opened: The open receptacles, one bit per receptacle.
        hot, cool, clean, sliced, toggled: Objects so treated.
    """

    __slots__ = (
        "clean",
        "contents",
        "cool",
        "held",
        "hot",
        "location",
        "lying",
        "opened",
        "removed",
        "sliced",
        "toggled",
        "world",
    )

    def __init__(self, world: World, location: int, contents: list[int], lying: list[int], cool: int) -> None:
        self.world = world
        self.location = location
        self.held = _EMPTY_HANDS
        self.contents = contents
        self.lying = lying
        self.removed = [0] * len(contents)
        self.opened = 0
        self.hot = 0
        self.cool = cool
        self.clean = 0
        self.sliced = 0
        self.toggled = 0

    def copy(self) -> State:
        """An independent copy that shares the fixed part."""
        other: State = State.__new__(State)
        other.world = self.world
        other.location = self.location
        other.held = self.held
        other.contents = self.contents.copy()
        other.lying = self.lying.copy()
        other.removed = self.removed.copy()
        other.opened = self.opened
        other.hot = self.hot
        other.cool = self.cool
        other.clean = self.clean
        other.sliced = self.sliced
        other.toggled = self.toggled
        return other

    def step(self, command: str) -> str:
        """Carries out a command and returns what the player reads.

        A command that is not admissible, however near, changes nothing and is answered with
        ``Nothing happens.``; only blanks around it are forgiven, as the stock engine does.
        """
        verb, _, rest = command.strip().partition(" ")
        rule = _RULES.get(verb)
        return (rule(self, rest) if rule else None) or NOTHING_HAPPENS

    @property
    def won(self) -> bool:
        """Whether the goal holds now. It is not latched: undoing the goal makes it False again."""
        progress = self.goal_progress()
        return progress.met == progress.total

    def goal_condition_success_rate(self) -> float:
        """Share of the goal's conditions that hold now, in [0, 1]."""
        progress = self.goal_progress()
        return progress.met / progress.total

    def goal_progress(self) -> GoalProgress:
        """Counts the conditions that hold now.

        The conditions are ALFRED's (Shridhar et al. 2020, goal-condition success): one for placing; two for
        placing two and for looking; three for a treatment, namely an object placed, an object treated, and
        one that is both.
        """
        world = self.world
        task_type = world.problem.goal.task_type
        if task_type is TaskType.LOOK_AT:
            holding = self.held >= 0 and world.goal_objects >> self.held & 1
            lit = self.toggled & world.goal_lamps & self._objects_here()
            return GoalProgress(bool(holding) + bool(lit), 2)
        contents = self.contents
        if task_type is TaskType.PICK_TWO:
            wanted = world.goal_objects
            most = max([(contents[r] & wanted).bit_count() for r in world.goal_receptacles], default=0)
            return GoalProgress(min(2, most), 2)
        placed = 0
        for receptacle in world.goal_receptacles:
            placed |= contents[receptacle]
        placed &= world.goal_objects
        if task_type is TaskType.PICK_AND_PLACE:
            return GoalProgress(int(placed > 0), 1)
        treated = {TaskType.CLEAN: self.clean, TaskType.COOL: self.cool, TaskType.HEAT: self.hot}[task_type]
        treated &= world.goal_objects
        return GoalProgress((placed > 0) + (treated > 0) + (placed & treated > 0), 3)

    def admissible_commands(self) -> list[str]:
        """The commands that would be carried out now, sorted by code point, as a new list."""
        world = self.world
        place = world.place(self.location)
        held = self.held
        opened = self.opened
        names = world.receptacle_names
        commands: list[str] = []
        if held >= 0:
            thing = world.object_names[held]
            if world.cleanable >> held & 1:
                commands += [f"clean {thing} with {names[r]}" for r in place.sinks]
            commands += [f"close {names[r]}" for r in place.doors if opened >> r & 1]
            if world.coolable >> held & 1:
                commands += [f"cool {thing} with {names[r]}" for r in place.fridges]
            examine = [*place.examine]
            insort(examine, f"examine {thing}")
            commands += examine
            commands += place.go_to
            if world.heatable >> held & 1:
                commands += [f"heat {thing} with {names[r]}" for r in place.microwaves]
            commands += ("help", "inventory", "look")
            commands += [
                f"move {thing} to {names[r]}"
                for r in place.by_name
                if world.accepts[r] >> held & 1 and self._accessible(r)
            ]
            commands += [f"open {names[r]}" for r in place.doors if not opened >> r & 1]
            if world.knives >> held & 1 and (near := self.lying[self.location] & world.sliceable):
                commands += sorted([f"slice {world.object_names[o]} with {thing}" for o in bits(near)])
        else:
            commands += [f"close {names[r]}" for r in place.doors if opened >> r & 1]
            commands += place.examine
            commands += place.go_to
            commands += ("help", "inventory", "look")
            commands += [f"open {names[r]}" for r in place.doors if not opened >> r & 1]
            commands += self._takes(place.receptacles)
        if lamps := self._objects_here() & world.toggleable:
            commands += sorted([f"use {world.object_names[o]}" for o in bits(lamps)])
        return commands

    def _takes(self, receptacles: tuple[int, ...]) -> list[str]:
        takes: list[str] = []
        for receptacle in receptacles:
            if self._accessible(receptacle):
                takes += self.world.view(receptacle, self.contents[receptacle]).takes
        if len(receptacles) > 1:
            takes.sort()
        return takes

    def _objects_here(self) -> int:
        """The objects in the receptacles at the agent's location, closed ones included."""
        here = 0
        for receptacle in self.world.place(self.location).receptacles:
            here |= self.contents[receptacle]
        return here

    def _accessible(self, receptacle: int) -> bool:
        """Whether a hand reaches inside: it has no door, or the door is open."""
        return not self.world.openable >> receptacle & 1 or bool(self.opened >> receptacle & 1)

    def _receptacle_here(self, name: str) -> int | None:
        receptacle = self.world.receptacle_index.get(name)
        return receptacle if receptacle is not None and self.world.location_of[receptacle] == self.location else None

    def _contents_text(self, receptacle: int) -> str:
        name = self.world.receptacle_names[receptacle]
        if not self.world.openable >> receptacle & 1:
            return f"On the {name}, you see {self.world.view(receptacle, self.contents[receptacle]).listing}."
        if self.opened >> receptacle & 1:
            listing = self.world.view(receptacle, self.contents[receptacle]).listing
            return f"The {name} is open. In it, you see {listing}."
        return f"The {name} is closed."

    def _thing_text(self, thing: int) -> str:
        """What examining the held object says: the first of the stock grammar's cases that applies."""
        world = self.world
        name = world.object_names[thing]
        if world.vessels >> thing & 1:
            inner = [world.object_names[o] for o, outer in world.problem.in_object if outer == thing]
            return f"This is a normal {name}. In it, you see {indefinite(inner)}."
        clean, sliced = self.clean >> thing & 1, self.sliced >> thing & 1
        warmth = "hot" if self.hot >> thing & 1 else "cool" if self.cool >> thing & 1 else ""
        if not (clean or sliced) and warmth == "cool":
            return f"This is a cold {name}."
        if clean or warmth:
            state = " and ".join([word for word in (warmth, "clean" if clean else "") if word])
            return f"This is a {state}{' sliced' if sliced else ''} {name}."
        if world.toggleable & self.toggled & 1 << thing:
            return f"This {name} is on."
        return f"This is a sliced {name}." if sliced else f"There's nothing special about {name}."

    # The rules. Each takes what follows the verb and returns the answer, or None when it is not admissible.

    def _look(self, rest: str) -> str | None:
        if rest:
            return None
        world = self.world
        place = world.place(self.location)
        if not place.receptacles:
            return "You are in the middle of a room. Looking quickly around you, you see nothing."
        # Pairs (object, receptacle) in id order: an object is named once for each receptacle it left.
        lying = self.lying[self.location]
        left = sorted([(o, r) for r in place.receptacles for o in bits(self.removed[r] & lying)])
        return f"{place.facing} Next to it, you see {indefinite([world.object_names[o] for o, _ in left])}."

    def _inventory(self, rest: str) -> str | None:
        if rest:
            return None
        if self.held < 0:
            return "You are not carrying anything."
        return f"You are carrying: a {self.world.object_names[self.held]}."

    def _help(self, rest: str) -> str | None:
        return None if rest else _HELP

    def _go(self, rest: str) -> str | None:
        receptacle = self.world.receptacle_index.get(rest[3:]) if rest.startswith("to ") else None
        if receptacle is None or self.world.location_of[receptacle] == self.location:
            return None
        self.location = self.world.location_of[receptacle]
        return f"You arrive at {self.world.receptacle_names[receptacle]}. {self._contents_text(receptacle)}"

    def _open(self, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle is None or not (self.world.openable & ~self.opened) >> receptacle & 1:
            return None
        self.opened |= 1 << receptacle
        return f"You open the {rest}. {self._contents_text(receptacle)}"

    def _close(self, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle is None or not self.opened >> receptacle & 1:
            return None
        self.opened ^= 1 << receptacle
        return f"You close the {rest}."

    def _take(self, rest: str) -> str | None:
        name, _, source = rest.partition(" from ")
        thing, receptacle = self.world.object_index.get(name), self._receptacle_here(source)
        if thing is None or receptacle is None or self.held >= 0 or not self._accessible(receptacle):
            return None
        bit = 1 << thing
        if not self.contents[receptacle] & self.world.pickupable & bit:
            return None
        self.held = thing
        self.contents[receptacle] ^= bit
        self.lying[self.location] &= ~bit
        self.removed[receptacle] |= bit
        return f"You pick up the {name} from the {source}."

    def _move(self, rest: str) -> str | None:
        name, _, target = rest.partition(" to ")
        thing, receptacle = self.world.object_index.get(name), self._receptacle_here(target)
        if thing is None or thing != self.held or receptacle is None or not self._accessible(receptacle):
            return None
        bit = 1 << thing
        if not self.world.accepts[receptacle] & bit:
            return None
        self.held = _EMPTY_HANDS
        self.contents[receptacle] |= bit
        self.lying[self.location] |= bit
        self.removed[receptacle] &= ~bit
        return f"You move the {name} to the {target}."

    def _examine(self, rest: str) -> str | None:
        receptacle = self._receptacle_here(rest)
        if receptacle is not None:
            return self._contents_text(receptacle)
        thing = self.world.object_index.get(rest)
        return self._thing_text(thing) if thing is not None and thing == self.held else None

    def _use(self, rest: str) -> str | None:
        thing = self.world.object_index.get(rest)
        if thing is None or not (self.world.toggleable & self._objects_here()) >> thing & 1:
            return None
        self.toggled |= 1 << thing
        # Also at the second use: the domain never takes the mark of a toggled object back.
        return f"You turn on the {rest}."

    def _treated(self, rest: str, able: int, appliances: tuple[int, ...]) -> tuple[int, str, str] | None:
        """The held object as a bit, its name and the appliance's, when the treatment is possible here."""
        name, _, target = rest.partition(" with ")
        thing, receptacle = self.world.object_index.get(name), self.world.receptacle_index.get(target)
        if thing is None or thing != self.held or not able >> thing & 1 or receptacle not in appliances:
            return None
        return 1 << thing, name, target

    def _heat(self, rest: str) -> str | None:
        world = self.world
        treated = self._treated(rest, world.heatable, world.place(self.location).microwaves)
        if treated is None:
            return None
        bit, name, target = treated
        self.hot |= bit
        self.cool &= ~bit
        return f"You heat the {name} using the {target}."

    def _cool(self, rest: str) -> str | None:
        world = self.world
        treated = self._treated(rest, world.coolable, world.place(self.location).fridges)
        if treated is None:
            return None
        bit, name, target = treated
        self.cool |= bit
        self.hot &= ~bit
        return f"You cool the {name} using the {target}."

    def _clean(self, rest: str) -> str | None:
        world = self.world
        treated = self._treated(rest, world.cleanable, world.place(self.location).sinks)
        if treated is None:
            return None
        bit, name, target = treated
        self.clean |= bit
        return f"You clean the {name} using the {target}."

    def _slice(self, rest: str) -> str | None:
        name, _, knife_name = rest.partition(" with ")
        world = self.world
        thing, knife = world.object_index.get(name), world.object_index.get(knife_name)
        if thing is None or knife is None or knife != self.held or not world.knives >> knife & 1:
            return None
        if not self.lying[self.location] & world.sliceable & 1 << thing:
            return None
        self.sliced |= 1 << thing
        return f"You sliced the {name} with the {knife_name}."


_RULES: dict[str, Callable[[State, str], str | None]] = {
    "clean": State._clean,
    "close": State._close,
    "cool": State._cool,
    "examine": State._examine,
    "go": State._go,
    "heat": State._heat,
    "help": State._help,
    "inventory": State._inventory,
    "look": State._look,
    "move": State._move,
    "open": State._open,
    "slice": State._slice,
    "take": State._take,
    "use": State._use,
}
