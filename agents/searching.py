"""An agent that plays households without knowing them: it searches, as a language model has to."""

import hashlib
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..envs.alfworld.problem import TaskType
from .agent import Agent, AgentError, Conversation, Response
from .composing import TASK_MARK
from .memory import Memory, remember

# The sentences of the generator and of the released games; those that people wrote for the latter are not understood.
_SENTENCES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:put|find) two (?P<object>\w+) (?:and put them )?(?:in|on) (?P<target>\w+)",
        r"(?:clean|heat|cool) some (?P<object>\w+) and put it (?:in|on) (?P<target>\w+)",
        r"put (?:a |some )?(?:clean |hot |cool )?(?P<object>\w+) (?:in|on) (?P<target>\w+)",
        r"(?:look at|examine)(?: the)? (?P<object>\w+) (?:under|with) the (?P<target>\w+)",
    )
)
_TREATMENTS: Final = {
    TaskType.CLEAN: ("clean", "sinkbasin", "clean"),
    TaskType.HEAT: ("heat", "microwave", "hot"),
    TaskType.COOL: ("cool", "fridge", "cool"),
}


class _Wanted(NamedTuple):
    """What the task sentence asks for, by class."""

    object: str
    target: str


class SearchingAgent(Agent):
    """Fulfils tasks with what it has seen so far, and goes to places that it has not seen when that is not enough.

    It makes no use of what is hidden, so what it does can be learned from what it sees. Where several commands are as
    good, one is drawn; the draw derives from seed and turn alone. It goes on from any situation, also one into which
    somebody else has brought it.
    """

    name = "searching"
    fingerprint = "searching"

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order.

        Raises:
            AgentError: If the task sentence is not understood, or no command is admissible.
        """
        return [Response(self.command(conversation)) for conversation in conversations]

    def command(self, conversation: Conversation) -> str:
        """The next command.

        Raises:
            AgentError: As ``act``.
        """
        if not conversation.admissible_commands:
            raise AgentError(f"task {conversation.task.id}: no command is admissible")
        good = _good(conversation)
        return good[_draw(conversation.seed, conversation.turn, "searching") % len(good)]


class DetouringAgent(Agent):
    """Plays as another agent, but now and then gives a command at random, so that the other has to find its way back.

    Args:
        agent: The other agent.
        share: Probability of a random command.
    """

    def __init__(self, agent: SearchingAgent, share: float) -> None:
        self._agent = agent
        self._share = share

    @property
    def name(self) -> str:
        """Short name for tables."""
        return f"detouring {self._agent.name}"

    @property
    def fingerprint(self) -> str:
        """The name with every setting that can change an action."""
        return f"detouring({self._agent.fingerprint}, share={self._share:g})"

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order; see the other agent."""
        return [Response(self._command(conversation)) for conversation in conversations]

    def is_detour(self, seed: int, turn: int) -> bool:
        """Whether the command of a turn is a random one, in the episode with this seed."""
        return _draw(seed, turn, "detour") % 2**32 < self._share * 2**32

    def _command(self, conversation: Conversation) -> str:
        if not self.is_detour(conversation.seed, conversation.turn):
            return self._agent.command(conversation)
        # What changes nothing is no detour.
        idle = ("examine", "help", "inventory", "look")
        moving = [one for one in conversation.admissible_commands if not one.startswith(idle)]
        return (
            moving[_draw(conversation.seed, conversation.turn, "way") % len(moving)]
            if moving
            else self._agent.command(conversation)
        )


def _good(conversation: Conversation) -> list[str]:
    """The commands that bring the task forward, as far as can be known; at least one."""
    observations = [exchange.observation for exchange in conversation.history] + [conversation.observation]
    wanted = _wanted(observations[0], conversation)
    memory = remember(observations)
    kind = TaskType(conversation.task.type)
    commands = conversation.admissible_commands
    if memory.held and _class(memory.held) != wanted.object:
        aims = [f"move {memory.held} to ", f"put {memory.held} "]
    elif memory.held:
        aims = _with_object(memory, wanted, kind)
    else:
        aims = _without_object(memory, wanted, kind)
    # Whatever is looked for, a closed door hides it, and the place behind it takes nothing.
    for aim in (*aims, f"open {memory.here}", *_unseen(memory)):
        choices = _matching(commands, aim)
        if choices:
            return choices
    # All has been seen: something is where it was overlooked, so any place is as good.
    return _matching(commands, "go to ") or list(commands)


def _with_object(memory: Memory, wanted: _Wanted, kind: TaskType) -> list[str]:
    if kind is TaskType.LOOK_AT:
        return [f"use {wanted.target} ", *_known(memory, wanted.target)]
    if kind in _TREATMENTS:
        verb, appliance, made = _TREATMENTS[kind]
        if memory.made.get(memory.held) != made:
            return [f"{verb} {memory.held} ", f"go to {appliance} "]
    places = [name for name in memory.places if _class(name) == wanted.target]
    begun = [name for name in places if _holds(memory, name, wanted.object)] if kind is TaskType.PICK_TWO else []
    aims = []
    for name in begun or [f"{wanted.target} "]:
        aims += [f"move {memory.held} to {name}", f"put {memory.held} in/on {name}"]
    if _class(memory.here) == wanted.target and (not begun or memory.here in begun):
        aims.append(f"open {memory.here}")
    return [*aims, *([f"go to {name}$" for name in begun] or [f"go to {wanted.target} "])]


def _without_object(memory: Memory, wanted: _Wanted, kind: TaskType) -> list[str]:
    # Two objects have to come together, so what is at a target stays there.
    settled = {
        thing
        for name, place in memory.places.items()
        for thing in place.things or ()
        if kind is TaskType.PICK_TWO and _class(name) == wanted.target and _class(thing) == wanted.object
    }
    # If they are at different targets, one of them has to move after all.
    if len(settled) > 1:
        settled = {sorted(settled)[0]}
    loose = [
        (name, thing)
        for name, place in memory.places.items()
        for thing in place.things or ()
        if _class(thing) == wanted.object and thing not in settled
    ]
    aims = [f"take {thing} from {memory.here}" for name, thing in loose if name == memory.here]
    places = sorted({name for name, _ in loose} - {memory.here})
    return [*aims, f"open {memory.here}", *(f"go to {name}$" for name in places)]


def _known(memory: Memory, kind: str) -> list[str]:
    """The ways to places where something of a class was seen."""
    return [f"go to {name}$" for name in memory.places if _holds(memory, name, kind)]


def _holds(memory: Memory, name: str, kind: str) -> bool:
    return any(_class(thing) == kind for thing in memory.places[name].things or ())


def _unseen(memory: Memory) -> list[str]:
    """The ways to places that were never seen, then to those that were found closed; each group is one aim."""
    new = [name for name, place in memory.places.items() if not place.visited]
    closed = [name for name, place in memory.places.items() if place.closed and place.things is None]
    return ["|".join(f"go to {name}" for name in group) for group in (new, closed) if group]


def _matching(commands: Sequence[str], aim: str) -> list[str]:
    """The commands that an aim means: those that begin with it, or with ``|`` or ``$`` exactly those."""
    if "|" in aim or aim.endswith("$"):
        exact = set(aim.removesuffix("$").split("|"))
        return [one for one in commands if one in exact]
    return [one for one in commands if one.startswith(aim)]


def _wanted(introduction: str, conversation: Conversation) -> _Wanted:
    sentence = introduction.partition(TASK_MARK)[2]
    for pattern in _SENTENCES:
        if found := pattern.match(sentence):
            return _Wanted(found["object"], found["target"])
    raise AgentError(f"task {conversation.task.id}: the sentence {sentence!r} is not understood")


def _class(name: str) -> str:
    return name.partition(" ")[0]


def _draw(seed: int, turn: int, purpose: str) -> int:
    digest = hashlib.sha256(f"{purpose}\t{seed}\t{turn}".encode()).digest()
    return int.from_bytes(digest)
