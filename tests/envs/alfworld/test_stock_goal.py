"""The stock engine's goal count against the native one, on facts that are written out from native states."""

import pytest
from holdergym.envs.alfworld.generator import TASK_TYPES, generate_game
from holdergym.envs.alfworld.problem import CLEANABLE, COOLABLE, HEATABLE, TOGGLEABLE, Goal, TaskType
from holdergym.envs.alfworld.state import State, bits
from holdergym.envs.alfworld.stock_goal import PREDICATES, Facts, goal_progress
from holdergym.envs.alfworld.world import World
from lockstep.exercises import Exercises


def facts_of(state: State) -> Facts:
    problem = state.world.problem
    things, places = problem.objects, problem.locations
    receptacles = problem.receptacles

    def those(mask: int) -> set[tuple[str, ...]]:
        return {(things[o].id,) for o in bits(mask)}

    def able(ability: int) -> set[tuple[str, ...]]:
        return {(thing.id,) for thing in things if thing.properties & ability}

    return {
        "atlocation": {("agent1", places[state.location])},
        "holds": {("agent1", things[state.held].id)} if state.held >= 0 else set(),
        "inreceptacle": {
            (things[o].id, receptacles[r].id) for r, mask in enumerate(state.contents) for o in bits(mask)
        },
        "objecttype": {(thing.id, thing.type) for thing in things},
        "receptacletype": {(r.id, r.type) for r in receptacles},
        "receptacleatlocation": {(r.id, places[r.location]) for r in receptacles},
        "istoggled": those(state.toggled),
        "isclean": those(state.clean),
        "iscool": those(state.cool),
        "ishot": those(state.hot),
        "cleanable": able(CLEANABLE),
        "coolable": able(COOLABLE),
        "heatable": able(HEATABLE),
        "toggleable": able(TOGGLEABLE),
    }


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_count_is_the_native_one_on_the_way_to_the_goal_and_beyond(task_type: TaskType) -> None:
    seen = set()
    for seed in range(3):
        game = generate_game(seed, difficulty="small", task_type=task_type)
        for commands in (Exercises(game, seed).walkthrough(further=20), Exercises(game, seed).random_walk(60, odd=0.0)):
            state = World(game.problem, game.sentence).initial_state()
            for command in commands:
                state.step(command)
                progress = goal_progress(facts_of(state), game.problem.goal)
                assert progress == state.goal_progress(), (game.task.id, command)
                seen.add(progress)
    assert {progress.met for progress in seen} >= {0, progress.total}


def test_facts_cover_the_predicates() -> None:
    game = generate_game(0, difficulty="tiny")
    assert facts_of(World(game.problem, game.sentence).initial_state()).keys() == PREDICATES


def test_treated_and_placed_must_be_one_object() -> None:
    facts: dict[str, set[tuple[str, ...]]] = {name: set() for name in PREDICATES}
    facts["objecttype"] = {("mug1", "mugtype"), ("mug2", "mugtype"), ("cup1", "cuptype")}
    facts["receptacletype"] = {("desk1", "desktype"), ("shelf1", "shelftype")}
    facts["cleanable"] = {("mug1",), ("mug2",), ("cup1",)}
    goal = Goal(TaskType.CLEAN, "mugtype", "desktype")
    assert goal_progress(facts, goal) == (0, 3)
    facts["isclean"] = {("cup1",)}
    facts["inreceptacle"] = {("cup1", "desk1"), ("mug1", "shelf1")}
    assert goal_progress(facts, goal) == (0, 3)
    facts["isclean"] = {("mug1",)}
    assert goal_progress(facts, goal) == (1, 3)
    facts["inreceptacle"] = {("mug2", "desk1")}
    assert goal_progress(facts, goal) == (2, 3)
    facts["inreceptacle"] |= {("mug1", "desk1")}
    assert goal_progress(facts, goal) == (3, 3)
    facts["cleanable"] = {("mug2",)}
    assert goal_progress(facts, goal) == (1, 3)


def test_two_objects_must_be_in_one_receptacle() -> None:
    facts: dict[str, set[tuple[str, ...]]] = {name: set() for name in PREDICATES}
    names = [f"mug{number}" for number in range(3)]
    facts["objecttype"] = {(name, "mugtype") for name in names}
    facts["receptacletype"] = {("desk1", "desktype"), ("desk2", "desktype")}
    goal = Goal(TaskType.PICK_TWO, "mugtype", "desktype")
    assert goal_progress(facts, goal) == (0, 2)
    facts["inreceptacle"] = {("mug0", "desk1"), ("mug1", "desk2")}
    assert goal_progress(facts, goal) == (1, 2)
    facts["inreceptacle"] = {("mug0", "desk1"), ("mug2", "desk1")}
    assert goal_progress(facts, goal) == (2, 2)
    facts["inreceptacle"] = {(name, "desk1") for name in names}
    assert goal_progress(facts, goal) == (2, 2)
