"""The rules and texts that this package puts into the game files it writes, for the stock engine to play by.

A game file carries its own PDDL domain and text grammar. These are written after the observed behaviour of the stock
engine with the released games (dialect 0.4); the released texts themselves are not part of this package. The stock
engine says and accepts the same, character by character, with these as with the released ones: ``make parity`` plays
the released problems with both.
"""

import json
from collections.abc import Mapping
from typing import Final

from ..errors import GameError
from .dialect import Dialect, check_sentence
from .game import Game
from .pddl import format_problem

DOMAIN: Final = """\
; Household errands: walk, open, take, treat, put down.
; Released games contradict themselves about where objects are, so an object may be in two receptacles at once, and
; objectAtLocation says something of its own: only slicing and looking around go by it.
(define (domain alfred)
(:requirements :adl :typing)
(:types agent location receptacle object rtype otype)

(:predicates
    ; what never changes
    (receptacleType ?r - receptacle ?t - rtype)
    (receptacleAtLocation ?r - receptacle ?l - location)
    (openable ?r - receptacle)
    (canContain ?rt - rtype ?ot - otype)
    (objectType ?o - object ?t - otype)
    (pickupable ?o - object)
    (cleanable ?o - object)
    (heatable ?o - object)
    (coolable ?o - object)
    (sliceable ?o - object)
    (toggleable ?o - object)
    (isReceptacleObject ?o - object)
    (inReceptacleObject ?inner - object ?outer - object)
    ; what changes
    (atLocation ?a - agent ?l - location)
    (opened ?r - receptacle)
    (inReceptacle ?o - object ?r - receptacle)
    (objectAtLocation ?o - object ?l - location)
    (holds ?a - agent ?o - object)
    (handsFull ?a - agent)
    (isClean ?o - object)
    (isHot ?o - object)
    (isCool ?o - object)
    (isSliced ?o - object)
    (isToggled ?o - object)
    ; an action without an effect would be dropped: this is the effect of those that only tell something
    (told))

; --- telling ---

(:action look
    :parameters (?a - agent ?l - location)
    :precondition (atLocation ?a ?l)
    :effect (told))

(:action inventory
    :parameters (?a - agent)
    :precondition ()
    :effect (told))

(:action help
    :parameters (?a - agent)
    :precondition ()
    :effect (told))

(:action examineReceptacle
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
    :effect (told))

(:action examineObject
    :parameters (?a - agent ?o - object)
    :precondition (holds ?a ?o)
    :effect (told))

; --- places ---

; Going to where one is has no effect, so it is never offered.
(:action GotoLocation
    :parameters (?a - agent ?from - location ?to - location ?r - receptacle)
    :precondition (and (atLocation ?a ?from) (receptacleAtLocation ?r ?to))
    :effect (and (not (atLocation ?a ?from)) (atLocation ?a ?to)))

(:action OpenObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (openable ?r) (not (opened ?r)))
    :effect (opened ?r))

(:action CloseObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (openable ?r) (opened ?r))
    :effect (not (opened ?r)))

; --- hands ---

(:action PickupObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
        (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (or (not (openable ?r)) (opened ?r))
        (inReceptacle ?o ?r) (pickupable ?o) (not (handsFull ?a)))
    :effect (and
        (holds ?a ?o) (handsFull ?a) (not (inReceptacle ?o ?r)) (not (objectAtLocation ?o ?l))))

(:action PutObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle ?ot - otype ?rt - rtype)
    :precondition (and
        (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (or (not (openable ?r)) (opened ?r))
        (holds ?a ?o) (objectType ?o ?ot) (receptacleType ?r ?rt) (canContain ?rt ?ot))
    :effect (and
        (not (holds ?a ?o)) (not (handsFull ?a)) (inReceptacle ?o ?r) (objectAtLocation ?o ?l)))

; --- treatments: a closed door is no obstacle to them ---

(:action CleanObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
        (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (receptacleType ?r SinkBasinType)
        (holds ?a ?o) (cleanable ?o))
    :effect (isClean ?o))

(:action HeatObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
        (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (receptacleType ?r MicrowaveType)
        (holds ?a ?o) (heatable ?o))
    :effect (and (isHot ?o) (not (isCool ?o))))

(:action CoolObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
        (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (receptacleType ?r FridgeType)
        (holds ?a ?o) (coolable ?o))
    :effect (and (isCool ?o) (not (isHot ?o))))

(:action SliceObject
    :parameters (?a - agent ?l - location ?o - object ?k - object)
    :precondition (and
        (atLocation ?a ?l) (objectAtLocation ?o ?l) (sliceable ?o)
        (holds ?a ?k) (or (objectType ?k KnifeType) (objectType ?k ButterKnifeType)))
    :effect (isSliced ?o))

; There is no turning off.
(:action ToggleObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
        (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (inReceptacle ?o ?r) (toggleable ?o))
    :effect (isToggled ?o))
)
"""

# Command and answer of each action.
_ACTIONS: Final = {
    "look": ("look", "#around#"),
    "inventory": ("inventory", "#carried#"),
    "help": ("help", "#commands#"),
    "examineReceptacle": ("examine {r}", "#contents#"),
    "examineObject": ("examine {o}", "#thing#"),
    "GotoLocation": ("go to {r}", "You arrive at {r.name}. #contents#"),
    "OpenObject": ("open {r}", "You open the {r.name}. #contents#"),
    "CloseObject": ("close {r}", "You close the {r.name}."),
    "PickupObject": ("take {o} from {r}", "You pick up the {o.name} from the {r.name}."),
    "PutObject": ("move {o} to {r}", "You move the {o.name} to the {r.name}."),
    "CleanObject": ("clean {o} with {r}", "You clean the {o.name} using the {r.name}."),
    "HeatObject": ("heat {o} with {r}", "You heat the {o.name} using the {r.name}."),
    "CoolObject": ("cool {o} with {r}", "You cool the {o.name} using the {r.name}."),
    "SliceObject": ("slice {o} with {k}", "You sliced the {o.name} with the {k.name}."),
    "ToggleObject": ("use {o}", "You turn on the {o.name}."),
}

_HERE = "atlocation(a:agent, l:location) & receptacleatlocation(r:receptacle, l:location)"
_ADRIFT = (
    "atlocation(a:agent, l:location) & objectatlocation(o:object, l:location) & "
    "receptacleatlocation(r:receptacle, l:location) & not_inreceptacle(o:object, r:receptacle)"
)
_CONTENTS = "[{'a ' + o.name | inreceptacle(o:object, r:receptacle)}]"
_HOT, _COOL, _CLEAN, _SLICED = "ishot(o:object)", "iscool(o:object)", "isclean(o:object)", "issliced(o:object)"

# Texts by name, each with its condition; the first whose condition holds is said.
_TEXTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "intro": (("", "-= Welcome to TextWorld, ALFRED! =-\n\n#around#\n\n#task#"),),
    "around": (
        (_HERE, f"You are facing the [{{r.name | {_HERE}}}]. Next to it, you see [{{'a ' + o.name | {_ADRIFT}}}]."),
        (
            "",
            "You are in the middle of a room. Looking quickly around you, you see "
            "[{'a ' + r.name | receptacleatlocation(r:receptacle, l:location)}].",
        ),
    ),
    "carried": (
        ("holds(a:agent, o:object)", "You are carrying: [{'a ' + o.name | holds(a:agent, o:object)}]."),
        ("", "You are not carrying anything."),
    ),
    "contents": (
        ("openable(r:receptacle) & opened(r:receptacle)", f"The {{r.name}} is open. In it, you see {_CONTENTS}."),
        ("openable(r:receptacle)", "The {r.name} is closed."),
        ("", f"On the {{r.name}}, you see {_CONTENTS}."),
    ),
    "thing": (
        (
            "isreceptacleobject(o:object)",
            "This is a normal {o.name}. In it, you see "
            "[{'a ' + inner.name | inreceptacleobject(inner:object, o:object)}].",
        ),
        (f"{_HOT} & {_CLEAN} & {_SLICED}", "This is a hot and clean sliced {o.name}."),
        (f"{_COOL} & {_CLEAN} & {_SLICED}", "This is a cool and clean sliced {o.name}."),
        (f"{_CLEAN} & {_SLICED}", "This is a clean sliced {o.name}."),
        (f"{_HOT} & {_SLICED}", "This is a hot sliced {o.name}."),
        (f"{_COOL} & {_SLICED}", "This is a cool sliced {o.name}."),
        (f"{_HOT} & {_CLEAN}", "This is a hot and clean {o.name}."),
        (f"{_COOL} & {_CLEAN}", "This is a cool and clean {o.name}."),
        (_HOT, "This is a hot {o.name}."),
        (_COOL, "This is a cold {o.name}."),
        (_CLEAN, "This is a clean {o.name}."),
        ("toggleable(o:object) & istoggled(o:object)", "This {o.name} is on."),
        (_SLICED, "This is a sliced {o.name}."),
        ("", "There's nothing special about {o.name}."),
    ),
    "commands": (
        (
            "",
            "Available commands:\n"
            "  look:                             look around your current location\n"
            "  inventory:                        check your current inventory\n"
            "  go to (receptacle):               move to a receptacle\n"
            "  open (receptacle):                open a receptacle\n"
            "  close (receptacle):               close a receptacle\n"
            "  take (object) from (receptacle):  take an object from a receptacle\n"
            "  move (object) to (receptacle):  place an object in or on a receptacle\n"
            "  examine (something):              examine a receptacle or an object\n"
            "  use (object):                     use an object\n"
            "  heat (object) with (receptacle):  heat an object using a receptacle\n"
            "  clean (object) with (receptacle): clean an object using a receptacle\n"
            "  cool (object) with (receptacle):  cool an object using a receptacle\n"
            "  slice (object) with (object):     slice an object using a sharp object\n",
        ),
    ),
    # How the engine joins a list.
    "list_empty": (("", "nothing"),),
    "list_separator": (("", ", "),),
    "list_last_separator": (("", ", and "),),
}


def grammar(sentence: str) -> str:
    """Writes the text grammar (``.twl2``) of a game.

    Args:
        sentence: The task line, ``Your task is to: ...``.

    Raises:
        GameError: If the sentence does not start so, or has a sign that the grammar would take as a command.
    """
    check_sentence(sentence)
    rules = {
        name: [{"condition": condition, "rhs": text} if condition else {"rhs": text} for condition, text in texts]
        for name, texts in {**_TEXTS, "task": (("", sentence),)}.items()
    }
    actions = [
        f'action {name} {{\n    template :: "{command}";\n    feedback :: "{answer}";\n}}\n'
        for name, (command, answer) in _ACTIONS.items()
    ]
    return "\n".join([f'grammar :: """\n{json.dumps(rules, indent=4, ensure_ascii=False)}\n""";\n', *actions])


def game_entries(game: Game) -> dict[str, object]:
    """Makes the entries of a game file in the official format, which both engines play.

    Raises:
        GameError: If the game speaks dialect 0.3, which these rules are not, or its task sentence cannot be written.
    """
    if game.dialect != Dialect.V04:
        raise GameError(
            f"{game.source}: speaks dialect {game.dialect}, and game files are written in {Dialect.V04}: play it from "
            "its own file"
        )
    name = "-".join(game.task.id.split("/")[-2:])
    return {
        "pddl_domain": DOMAIN,
        "grammar": grammar(game.sentence),
        "pddl_problem": format_problem(game.problem, name),
        "solvable": True,
        "walkthrough": None if game.walkthrough is None else list(game.walkthrough),
    }


def game_file_text(game: Game) -> str:
    """Writes a whole ``game.tw-pddl``.

    Raises:
        GameError: As ``game_entries``.
    """
    return json.dumps(game_entries(game))
