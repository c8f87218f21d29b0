"""How much of the goal holds in a state of the stock engine, counted from its facts.

The count is that of ``State.goal_progress``, which see for the definition, from other data: ``make parity`` compares
the two after every step.
"""

from collections import Counter
from collections.abc import Mapping, Set

from .problem import Goal, TaskType
from .state import GoalProgress

# Ability and result of each treatment, as the domain calls them.
_TREATMENTS = {
    TaskType.CLEAN: ("cleanable", "isclean"),
    TaskType.COOL: ("coolable", "iscool"),
    TaskType.HEAT: ("heatable", "ishot"),
}
PREDICATES = frozenset(
    {
        "atlocation",
        "holds",
        "inreceptacle",
        "istoggled",
        "objecttype",
        "receptacleatlocation",
        "receptacletype",
        "toggleable",
        *(name for names in _TREATMENTS.values() for name in names),
    }
)
"""The predicates that the count looks at."""

Facts = Mapping[str, Set[tuple[str, ...]]]
"""The arguments of the facts that hold, by predicate; each of ``PREDICATES`` is a key."""


def goal_progress(facts: Facts, goal: Goal) -> GoalProgress:
    """Counts the goal's conditions that hold."""
    wanted = {thing for thing, otype in facts["objecttype"] if otype == goal.object_type}
    if goal.task_type is TaskType.LOOK_AT:
        holding = any(thing in wanted for _, thing in facts["holds"])
        return GoalProgress(holding + _is_lit(facts, goal.target_type), 2)
    targets = {receptacle for receptacle, rtype in facts["receptacletype"] if rtype == goal.target_type}
    placements = [(o, r) for o, r in facts["inreceptacle"] if o in wanted and r in targets]
    if goal.task_type is TaskType.PICK_TWO:
        together = Counter(receptacle for _, receptacle in placements)
        return GoalProgress(min(2, max(together.values(), default=0)), 2)
    if goal.task_type is TaskType.PICK_AND_PLACE:
        return GoalProgress(int(bool(placements)), 1)
    able, result = _TREATMENTS[goal.task_type]
    right = {thing for thing in wanted if (thing,) in facts[able]}
    treated = {thing for thing in right if (thing,) in facts[result]}
    placed = {thing for thing, _ in placements} & right
    return GoalProgress(bool(placed) + bool(treated) + bool(placed & treated), 3)


def _is_lit(facts: Facts, lamp_type: str) -> bool:
    """Whether a lamp of the type is on at the agent's place."""
    here = {location for _, location in facts["atlocation"]}
    near = {receptacle for receptacle, location in facts["receptacleatlocation"] if location in here}
    burning = facts["toggleable"] & facts["istoggled"]
    return any(
        (thing, lamp_type) in facts["objecttype"] and (thing,) in burning and receptacle in near
        for thing, receptacle in facts["inreceptacle"]
    )
