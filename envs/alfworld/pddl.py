"""Reads and writes the PDDL problem text of an ALFWorld game.

The text is lower-cased first, as the stock translator does, and ``:init`` is read as a set, because nearly
every released game repeats facts.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from ..errors import GameError
from .problem import (
    CLEANABLE,
    COOLABLE,
    HEATABLE,
    IS_COOL,
    IS_RECEPTACLE,
    PICKUPABLE,
    SLICEABLE,
    TOGGLEABLE,
    Goal,
    Problem,
    Receptacle,
    TaskType,
    Thing,
)

_PROPERTIES = {
    "pickupable": PICKUPABLE,
    "cleanable": CLEANABLE,
    "coolable": COOLABLE,
    "heatable": HEATABLE,
    "sliceable": SLICEABLE,
    "toggleable": TOGGLEABLE,
    "isreceptacleobject": IS_RECEPTACLE,
    "iscool": IS_COOL,
}
_ARITY = {
    **dict.fromkeys([*_PROPERTIES, "openable"], 1),
    **dict.fromkeys(
        [
            "atlocation",
            "cancontain",
            "inreceptacle",
            "inreceptacleobject",
            "objectatlocation",
            "objecttype",
            "receptacleatlocation",
            "receptacletype",
        ],
        2,
    ),
}
# The receptacle and object types that the domain itself names: a problem must declare them to be translated.
_DOMAIN_RTYPES = ("fridgetype", "microwavetype", "sinkbasintype")
_DOMAIN_OTYPES = ("butterknifetype", "knifetype", "sinktype")

_ATOM = re.compile(r"\(([^()]*)\)")
_TOKEN = re.compile(r"[()]|[^\s()]+")
_COMMENT = re.compile(r";[^\n]*")

_PLACE_GOAL = """
(:goal (and (exists (?r - receptacle) (exists (?o - object) (and
    (inreceptacle ?o ?r) (objecttype ?o {object}) (receptacletype ?r {target}))))))"""
_TREAT_GOAL = """
(:goal (and (exists (?r - receptacle) (exists (?o - object) (and
    ({able} ?o) (objecttype ?o {{object}}) (receptacletype ?r {{target}})
    ({treated} ?o) (inreceptacle ?o ?r))))))"""
_GOALS = {
    TaskType.PICK_AND_PLACE: _PLACE_GOAL,
    TaskType.CLEAN: _TREAT_GOAL.format(able="cleanable", treated="isclean"),
    TaskType.COOL: _TREAT_GOAL.format(able="coolable", treated="iscool"),
    TaskType.HEAT: _TREAT_GOAL.format(able="heatable", treated="ishot"),
    TaskType.PICK_TWO: """
(:goal (and (exists (?r - receptacle) (exists (?o1 - object) (and
    (objecttype ?o1 {object}) (receptacletype ?r {target}) (inreceptacle ?o1 ?r)
    (exists (?o2 - object) (and
        (not (= ?o1 ?o2)) (objecttype ?o2 {object}) (receptacletype ?r {target})
        (inreceptacle ?o2 ?r))))))))""",
    TaskType.LOOK_AT: """
(:goal (and
    (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and
        (objecttype ?ot {target}) (toggleable ?ot) (istoggled ?ot)
        (receptacleatlocation ?r ?l) (atlocation ?a ?l) (inreceptacle ?ot ?r)))
    (exists (?o - object ?a - agent) (and (objecttype ?o {object}) (holds ?a ?o)))))""",
}

# The predicate that tells the goals apart; the first that occurs decides.
_GOAL_MARKS = (
    ("istoggled", TaskType.LOOK_AT),
    ("=", TaskType.PICK_TWO),
    ("isclean", TaskType.CLEAN),
    ("iscool", TaskType.COOL),
    ("ishot", TaskType.HEAT),
    ("inreceptacle", TaskType.PICK_AND_PLACE),
)


def parse_problem(text: str) -> Problem:
    """Reads a PDDL problem.

    Raises:
        GameError: If the text is cut, uses a predicate or a goal that no released game has, or contradicts
            itself.
    """
    init, goal = _sections(_COMMENT.sub("", text.lower()))
    facts: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for atom in set(_ATOM.findall(init)):
        predicate, *arguments = atom.split() or [""]
        if _ARITY.get(predicate) != len(arguments):
            raise GameError(f"the initial fact '({atom})' occurs in no released ALFWorld game")
        facts[predicate].add(tuple(arguments))

    receptacle_type = _function(facts["receptacletype"], "receptacle type")
    receptacle_place = _function(facts["receptacleatlocation"], "location")
    object_type = _function(facts["objecttype"], "object type")
    agents = [place for _, place in facts["atlocation"]]
    if len(agents) != 1:
        raise GameError(f"the problem places {len(agents)} agents; a game has one")
    if receptacle_type.keys() != receptacle_place.keys():
        odd = min(receptacle_type.keys() ^ receptacle_place.keys())
        raise GameError(f"receptacle {odd!r} lacks a type or a location")

    properties: dict[str, int] = defaultdict(int)
    for predicate, bit in _PROPERTIES.items():
        for (thing,) in facts[predicate]:
            properties[thing] |= bit
    mentioned = {
        *object_type,
        *properties,
        *(thing for name in ("inreceptacle", "objectatlocation") for thing, _ in facts[name]),
        *(thing for pair in facts["inreceptacleobject"] for thing in pair),
    }
    object_ids = sorted(thing for thing in mentioned if "_bar_" in thing)
    places = {place for name in ("receptacleatlocation", "objectatlocation") for _, place in facts[name]}
    location_ids = sorted(places | set(agents))
    receptacle_ids = sorted(receptacle_type)

    location = {name: index for index, name in enumerate(location_ids)}
    receptacle = {name: index for index, name in enumerate(receptacle_ids)}
    thing_index = {name: index for index, name in enumerate(object_ids)}
    openable = {name for (name,) in facts["openable"]}
    containers: dict[str, list[str]] = defaultdict(list)
    for rtype, otype in facts["cancontain"]:
        containers[rtype].append(otype)
    try:
        return Problem(
            locations=tuple(location_ids),
            receptacles=tuple(
                Receptacle(name, receptacle_type[name], location[receptacle_place[name]], name in openable)
                for name in receptacle_ids
            ),
            objects=tuple(Thing(name, object_type.get(name, ""), properties[name]) for name in object_ids),
            agent=location[agents[0]],
            in_receptacle=_pairs(facts["inreceptacle"], thing_index, receptacle),
            at_location=_pairs(facts["objectatlocation"], thing_index, location),
            in_object=_pairs(facts["inreceptacleobject"], thing_index, thing_index),
            can_contain=tuple((rtype, tuple(sorted(containers[rtype]))) for rtype in sorted(containers)),
            goal=_parse_goal(goal),
        )
    except KeyError as error:
        raise GameError(f"the id {error.args[0]!r} is used but is neither an object nor a receptacle") from None


def format_problem(problem: Problem, name: str) -> str:
    """Writes the PDDL text that the stock engine reads; ``parse_problem`` of it gives ``problem`` again.

    Args:
        problem: The facts.
        name: The problem's name, for example the trial's.
    """
    places = problem.locations
    receptacles = problem.receptacles
    things = problem.objects
    rtypes = {r.type for r in receptacles} | {rtype for rtype, _ in problem.can_contain} | {*_DOMAIN_RTYPES}
    otypes = {t.type for t in things if t.type} | {o for _, held in problem.can_contain for o in held}
    otypes |= {*_DOMAIN_OTYPES, problem.goal.object_type}
    (otypes if problem.goal.task_type is TaskType.LOOK_AT else rtypes).add(problem.goal.target_type)
    declared = [
        "agent1 - agent",
        *(f"{otype} - otype" for otype in sorted(otypes)),
        *(f"{rtype} - rtype" for rtype in sorted(rtypes)),
        *(f"{thing.id} - object" for thing in things),
        *(f"{receptacle.id} - receptacle" for receptacle in receptacles),
        *(f"{place} - location" for place in places),
    ]
    init = [
        f"atlocation agent1 {places[problem.agent]}",
        *(f"cancontain {rtype} {otype}" for rtype, held in problem.can_contain for otype in held),
        *(f"receptacletype {r.id} {r.type}" for r in receptacles),
        *(f"receptacleatlocation {r.id} {places[r.location]}" for r in receptacles),
        *(f"openable {r.id}" for r in receptacles if r.openable),
        *(f"objecttype {thing.id} {thing.type}" for thing in things if thing.type),
        *(
            f"{predicate} {thing.id}"
            for predicate, bit in _PROPERTIES.items()
            for thing in things
            if thing.properties & bit
        ),
        *(f"inreceptacle {things[o].id} {receptacles[r].id}" for o, r in problem.in_receptacle),
        *(f"objectatlocation {things[o].id} {places[place]}" for o, place in problem.at_location),
        *(f"inreceptacleobject {things[o].id} {things[outer].id}" for o, outer in problem.in_object),
    ]
    return "\n".join(
        [
            f"(define (problem {name})",
            "(:domain alfred)",
            "(:objects",
            *(f"    {line}" for line in declared),
            ")",
            "(:init",
            *(f"    ({line})" for line in init),
            f"){_format_goal(problem.goal)}",
            ")\n",
        ]
    )


def _sections(text: str) -> tuple[str, str]:
    """Cuts out the facts and the goal, and refuses a text whose brackets do not close."""
    start, cut = text.find("(:init"), text.find("(:goal")
    if start < 0 or cut < start:
        raise GameError("the PDDL problem has no ':init' before a ':goal': it is cut short or not a game")
    opening, closing = text.count("("), text.count(")")
    if opening != closing:
        raise GameError(f"the PDDL problem has {opening} '(' but {closing} ')': it is cut short")
    return text[start + len("(:init") : cut], text[cut:]


def _function(pairs: Iterable[tuple[str, ...]], what: str) -> dict[str, str]:
    """Turns a relation that must be a function into a dict."""
    values: dict[str, str] = {}
    for key, value in sorted(pairs):
        if key in values:
            raise GameError(f"{key!r} has more than one {what}")
        values[key] = value
    return values


def _pairs(
    facts: Iterable[tuple[str, ...]], left: dict[str, int], right: dict[str, int]
) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((left[a], right[b]) for a, b in facts))


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _parse_goal(text: str) -> Goal:
    """Recognises one of the six goals; anything else is refused rather than played wrongly."""
    atoms = [atom.split() for atom in _ATOM.findall(text)]
    predicates = {atom[0] for atom in atoms if atom}
    task_type = next((kind for mark, kind in _GOAL_MARKS if mark in predicates), None)
    if task_type is None:
        raise GameError("the goal is none of ALFWorld's six")
    object_types = [atom[2] for atom in atoms if atom[:1] == ["objecttype"] and len(atom) == 3]
    target_types = [atom[2] for atom in atoms if atom[:1] == ["receptacletype"] and len(atom) == 3]
    if task_type is TaskType.LOOK_AT:
        target_types = object_types[:1]  # the lamp is written first
    if not object_types or not target_types:
        raise GameError(f"the goal of a {task_type} game names no types")
    goal = Goal(task_type, object_types[-1], target_types[0])
    expected = _tokens(_format_goal(goal))
    if _tokens(text)[: len(expected)] != expected:
        raise GameError(f"the goal has not the shape of a {task_type} game")
    return goal


def _format_goal(goal: Goal) -> str:
    return _GOALS[goal.task_type].format(object=goal.object_type, target=goal.target_type)
