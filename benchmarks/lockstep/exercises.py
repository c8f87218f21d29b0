"""Commands that put an engine through its paces, worked out on the native engine and the same for the same seed."""

from collections.abc import Iterator
from random import Random

from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.games import build_world
from holdergym.envs.alfworld.state import NOTHING_HAPPENS, State, bits

from .odd_commands import ODD_COMMANDS

# How often a verb is drawn while it is possible. A uniform draw would mostly walk about.
_WEIGHTS = {"take": 8, "move": 8, "clean": 8, "heat": 8, "cool": 8, "slice": 8, "use": 8, "open": 5, "go": 5}
_APPLIANCES = {"clean": "sinkbasintype", "heat": "microwavetype", "cool": "fridgetype"}
# Together with slicing before, these show every state that an object can be examined in.
_ORDERS = (("clean", "heat", "cool"), ("heat", "cool", "clean"), ("cool", "clean", "heat"))


class Exercises:
    """Makes lists of commands for one game.

    Args:
        game: A game of dialect 0.4.
        seed: Equal seeds give equal lists.
    """

    def __init__(self, game: Game, seed: int) -> None:
        self._game = game
        self._world = build_world(game)
        self._random = Random(f"{seed}\t{game.task.id}")

    def walkthrough(self, further: int) -> list[str]:
        """The walkthrough, and then a random walk: a game goes on after it is won."""
        player = _Player(self._world.initial_state())
        for command in self._game.walkthrough or ():
            player.do(command)
        self._walk(player, further, odd=0.0)
        return player.commands

    def random_walk(self, steps: int, odd: float) -> list[str]:
        """A random walk that likes to handle things. ``odd`` is the share of odd commands."""
        player = _Player(self._world.initial_state())
        self._walk(player, steps, odd)
        return player.commands

    def odd_commands(self) -> list[str]:
        """All odd commands, with something in the agent's hands and in front of it where the game allows it."""
        player = _Player(self._world.initial_state())
        things = [o for o in bits(self._world.pickupable) if player.fetch(o)]
        if things:
            player.do("look")
        for template in ODD_COMMANDS:
            player.do(self._filled(template, player.state))
        return player.commands

    def treatments(self) -> list[str]:
        """Slices, cleans, heats and cools things in different orders, and examines them after each treatment."""
        world = self._world
        player = _Player(world.initial_state())
        abilities = (world.cleanable, world.heatable, world.coolable)
        things = self._shuffled(world.pickupable & (world.cleanable | world.heatable | world.coolable))
        things.sort(key=lambda thing: -sum(able >> thing & 1 for able in abilities))
        food = [thing for thing in things if world.sliceable >> thing & 1]
        knives = self._shuffled(world.knives & world.pickupable)
        for thing, order in zip(food, _ORDERS[:2], strict=False):
            if knives and player.fetch(knives[0]):
                player.visit(thing)
                player.do(f"slice {world.object_names[thing]} with {world.object_names[knives[0]]}")
                player.do("look")
                player.drop()
            self._treat(player, thing, order)
        for thing in [thing for thing in things if thing not in food[:2]][:1]:
            self._treat(player, thing, _ORDERS[2])
        return player.commands

    def vessels(self) -> list[str]:
        """Examines and treats objects that hold others."""
        player = _Player(self._world.initial_state())
        filled = {outer for _, outer in self._world.problem.in_object}
        for thing in [o for o in self._shuffled(self._world.vessels) if o in filled][:2]:
            self._treat(player, thing, self._random.choice(_ORDERS))
        return player.commands

    def shuttles(self) -> list[str]:
        """Moves objects among receptacles at one place and looks, which lists what left them."""
        world = self._world
        player = _Player(world.initial_state())
        places = list(dict.fromkeys(world.location_of))
        self._random.shuffle(places)
        places.sort(key=lambda place: -len(world.place(place).receptacles))
        for location in places[:2]:
            here = world.place(location).receptacles
            inside = [(o, r) for r in here for o in bits(player.state.contents[r] & world.pickupable)]
            self._random.shuffle(inside)
            inside.sort(key=lambda pair: -sum(world.accepts[r] >> pair[0] & 1 for r in here))
            for thing, source in inside[:2]:
                player.take(thing, source)
                for target in here:
                    if player.put(target):
                        player.do("look")
                        player.take(thing, target)
                player.drop()
                player.do("look")
        return player.commands

    def twins(self) -> list[str]:
        """Takes objects that are in two receptacles from one of them, looks at the other, and puts them back."""
        world = self._world
        player = _Player(world.initial_state())
        places: dict[int, list[int]] = {}
        for thing, receptacle in world.problem.in_receptacle:
            places.setdefault(thing, []).append(receptacle)
        doubled = [o for o in places if len(places[o]) > 1 and world.pickupable >> o & 1]
        self._random.shuffle(doubled)
        for thing in doubled[:2]:
            first, second = self._random.sample(places[thing], 2)
            player.take(thing, first)
            player.do("look")
            player.reach(second)
            player.do(f"examine {world.receptacle_names[second]}")
            player.put(second)
            player.do("look")
            player.take(thing, second)
            player.put(first)
            player.do("look")
        return player.commands

    def _treat(self, player: "_Player", thing: int, order: tuple[str, ...]) -> None:
        name = self._world.object_names[thing]
        if not player.fetch(thing):
            return
        player.do(f"examine {name}")
        for verb in order:
            for receptacle, (_, rtype, _, _) in enumerate(self._world.problem.receptacles):
                if rtype == _APPLIANCES[verb]:
                    player.go(receptacle)
                    player.do(f"{verb} {name} with {self._world.receptacle_names[receptacle]}")
                    player.do(f"examine {name}")
                    break
        player.drop()

    def _walk(self, player: "_Player", steps: int, odd: float) -> None:
        for _ in range(steps):
            if self._random.random() < odd:
                player.do(self._filled(self._random.choice(ODD_COMMANDS), player.state))
                continue
            by_verb: dict[str, list[str]] = {}
            for command in player.state.admissible_commands():
                by_verb.setdefault(command.partition(" ")[0], []).append(command)
            verbs = list(by_verb)
            verb = self._random.choices(verbs, [_WEIGHTS.get(verb, 1) for verb in verbs])[0]
            player.do(self._random.choice(by_verb[verb]))

    def _filled(self, template: str, state: State) -> str:
        """Puts names into an odd command, preferably of things that are near."""
        world = self._world
        here = world.place(state.location).receptacles
        near = [o for r in here for o in bits(state.contents[r])]
        if state.held >= 0 and self._random.random() < 0.7:
            near = [state.held]
        receptacle = self._random.choice(here or range(len(world.receptacle_names)))
        return template.format(
            o=world.object_names[self._random.choice(near or range(len(world.object_names)))],
            p=self._random.choice(world.object_names),
            r=world.receptacle_names[receptacle],
            q=self._random.choice(world.receptacle_names),
        )

    def _shuffled(self, things: int) -> list[int]:
        found = list(bits(things))
        self._random.shuffle(found)
        return found


class _Player:
    """Plays on a live copy and keeps the commands."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.commands: list[str] = []

    def do(self, command: str) -> bool:
        """Gives a command; False if nothing happened."""
        self.commands.append(command)
        return self.state.step(command) != NOTHING_HAPPENS

    def go(self, receptacle: int) -> None:
        """Goes to a receptacle."""
        if self.state.location != self.state.world.location_of[receptacle]:
            self.do(f"go to {self.state.world.receptacle_names[receptacle]}")

    def reach(self, receptacle: int) -> None:
        """Goes to a receptacle and opens it."""
        self.go(receptacle)
        if (self.state.world.openable & ~self.state.opened) >> receptacle & 1:
            self.do(f"open {self.state.world.receptacle_names[receptacle]}")

    def visit(self, thing: int) -> None:
        """Goes to where an object is."""
        for receptacle in self._holders(thing):
            self.go(receptacle)
            return

    def fetch(self, thing: int) -> bool:
        """Gets an object into the hands, if they are empty."""
        return any(self.take(thing, receptacle) for receptacle in self._holders(thing))

    def take(self, thing: int, receptacle: int) -> bool:
        """Takes an object from a receptacle, if the hands are empty."""
        if self.state.held >= 0:
            return False
        self.reach(receptacle)
        world = self.state.world
        return self.do(f"take {world.object_names[thing]} from {world.receptacle_names[receptacle]}")

    def put(self, receptacle: int) -> bool:
        """Puts what is held into a receptacle, if it takes it."""
        held, world = self.state.held, self.state.world
        if held < 0 or not world.accepts[receptacle] >> held & 1:
            return False
        self.reach(receptacle)
        return self.do(f"move {world.object_names[held]} to {world.receptacle_names[receptacle]}")

    def drop(self) -> None:
        """Puts what is held anywhere, here if possible."""
        here = self.state.world.place(self.state.location).receptacles
        any(self.put(receptacle) for receptacle in (*here, *range(len(self.state.contents))))

    def _holders(self, thing: int) -> Iterator[int]:
        for receptacle, contents in enumerate(self.state.contents):
            if contents >> thing & 1:
                yield receptacle
