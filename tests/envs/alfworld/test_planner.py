"""Plans win, and no shorter ones exist: compared with a plain search over commands, and with walkthroughs.

The plain search tries every command that changes anything, one level of depth after the other, so it proves
length without sharing a single idea with the planner. It needs small games; hypothesis invents them, with
all that released games have and much that they lack: doors, shared places, objects in two receptacles,
receptacles that take nothing, goals out of reach.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.envs.alfworld.games import open_games
from holdergym.envs.alfworld.planner import shortest_plan
from holdergym.envs.alfworld.problem import (
    CLEANABLE,
    COOLABLE,
    HEATABLE,
    IS_COOL,
    PICKUPABLE,
    TOGGLEABLE,
    Goal,
    Problem,
    Receptacle,
    TaskType,
    Thing,
)
from holdergym.envs.alfworld.state import State
from holdergym.envs.alfworld.world import World
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LOOKING = ("examine", "help", "inventory", "look")
# What hypothesis draws from. The first of each is what it shrinks to.
RECEPTACLES = ["shelftype", "drawertype", "fridgetype", "microwavetype", "sinkbasintype"]
APPLIANCE = {
    TaskType.CLEAN: ["sinkbasintype"],
    TaskType.COOL: ["fridgetype"],
    TaskType.HEAT: ["microwavetype"],
}


@st.composite
def small_states(draw: st.DrawFn) -> State:
    """A state some random commands into a random small game, which mostly can be won."""
    task_type = draw(st.sampled_from(TaskType))
    places = draw(st.integers(1, 4))
    kinds = [*APPLIANCE.get(task_type, ()), *draw(st.lists(st.sampled_from(RECEPTACLES), min_size=1, max_size=4))]
    receptacles = [
        Receptacle(f"{kind[:-4]}_bar_{i}", kind, draw(st.integers(1, places)), draw(st.booleans()))
        for i, kind in enumerate(kinds)
    ]
    apples = draw(st.integers(2 if task_type is TaskType.PICK_TWO else 1, 3))
    things = []
    for i, kind in enumerate(["appletype"] * apples + ["mugtype"] * draw(st.integers(0, 3 - apples))):
        able = CLEANABLE | COOLABLE | HEATABLE if draw(st.integers(0, 5)) else 0
        able |= PICKUPABLE if draw(st.integers(0, 9)) else 0
        able |= 0 if draw(st.integers(0, 4)) else IS_COOL
        things.append(Thing(f"{kind[:-4]}_bar_{i}", kind, able))
    if task_type is TaskType.LOOK_AT:
        things.append(Thing("desklamp_bar_0", "desklamptype", TOGGLEABLE))
    receptacles.sort()
    things.sort()
    spots = st.lists(st.integers(0, len(receptacles) - 1), min_size=1, max_size=2)
    refused = st.sampled_from([(), (), ("mugtype",), ("appletype",)])
    target = "desklamptype" if task_type is TaskType.LOOK_AT else draw(st.sampled_from(kinds))
    problem = Problem(
        locations=tuple(f"loc_bar_{i}" for i in range(places + 1)),
        receptacles=tuple(receptacles),
        objects=tuple(things),
        agent=0,
        in_receptacle=tuple(sorted({(i, r) for i in range(len(things)) for r in draw(spots)})),
        at_location=(),
        in_object=(),
        can_contain=tuple(
            (kind, tuple(sorted({"appletype", "mugtype"} - {*draw(refused)}))) for kind in sorted(set(kinds))
        ),
        goal=Goal(task_type, "appletype", target),
    )
    state = World(problem, "Your task is to: x.").initial_state()
    for choice in draw(st.lists(st.integers(0, 1000), max_size=10)):
        if commands := changing(state):
            state.step(commands[choice % len(commands)])
    return state


def changing(state: State) -> list[str]:
    return [command for command in state.admissible_commands() if not command.startswith(LOOKING)]


def key(state: State) -> tuple[object, ...]:
    """All of a state that rules or goal can depend on, but for slicing, which no goal asks for."""
    treated = (state.hot, state.cool, state.clean, state.toggled)
    return (state.location, state.held, state.opened, *treated, *state.contents)


def wins_within(state: State, steps: int | None) -> bool:
    """Whether any sequence of at most this many commands wins; None: of any length."""
    level, seen = [state], {key(state)}
    depth = 0
    while level and (steps is None or depth <= steps):
        if any(reached.won for reached in level):
            return True
        following = []
        for reached in level:
            for command in changing(reached):
                forked = reached.copy()
                forked.step(command)
                if key(forked) not in seen:
                    seen.add(key(forked))
                    following.append(forked)
        level = following
        depth += 1
    return False


def assert_wins(state: State, plan: tuple[str, ...]) -> None:
    """Every command is admissible, and the goal holds at the end and not before."""
    state = state.copy()
    for command in plan:
        assert not state.won
        assert command in state.admissible_commands()
        state.step(command)
    assert state.won


def assert_shortest(state: State) -> None:
    before = key(state)
    plan = shortest_plan(state)
    assert key(state) == before, "planning changed the state"
    if plan is None:
        assert not wins_within(state, None)
        return
    assert_wins(state, plan)
    assert not plan or not wins_within(state, len(plan) - 1)
    assert shortest_plan(state.copy()) == plan


@given(small_states())
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_no_shorter_plan_exists(state: State) -> None:
    assert_shortest(state)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@given(small_states())
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_shorter_plan_exists_in_many_games(state: State) -> None:
    assert_shortest(state)


@pytest.mark.parametrize(
    ("task_type", "target", "steps"),
    [
        (TaskType.PICK_AND_PLACE, "diningtabletype", 4),
        (TaskType.CLEAN, "countertoptype", 6),
        (TaskType.COOL, "diningtabletype", 5),  # one of the cool apples is in the fridge, but is not coolable
        (TaskType.HEAT, "diningtabletype", 6),
        (TaskType.PICK_TWO, "fridgetype", 5),  # an apple is there already
        (TaskType.LOOK_AT, "desklamptype", 4),
    ],
)
def test_each_task_type(kitchen: Problem, task_type: TaskType, target: str, steps: int) -> None:
    problem = replace(kitchen, goal=Goal(task_type, "appletype", target))
    state = World(problem, "Your task is to: x.").initial_state()
    plan = shortest_plan(state)
    assert plan is not None
    assert_wins(state, plan)
    assert not wins_within(state, len(plan) - 1)
    assert len(plan) == steps


def play(state: State, *commands: str) -> None:
    for command in commands:
        assert command in state.admissible_commands()
        state.step(command)


def test_a_game_that_is_won_needs_nothing(state: State) -> None:
    plan = shortest_plan(state)
    assert plan
    play(state, *plan)
    assert shortest_plan(state) == ()


def test_full_hands_are_emptied_on_the_way(state: State) -> None:
    play(state, "go to diningtable 1", "take knife 1 from diningtable 1", "go to countertop 1")
    plan = shortest_plan(state)
    assert plan
    assert plan[:2] == ("move knife 1 to countertop 1", "take apple 3 from countertop 1")
    assert_wins(state, plan)


def test_an_object_that_nothing_takes_makes_the_game_hopeless(kitchen: Problem) -> None:
    """As the paper towel roll and the teddy bear of released games: they can be taken, never put down."""
    problem = replace(
        kitchen,
        can_contain=tuple((kind, tuple(t for t in taken if t != "knifetype")) for kind, taken in kitchen.can_contain),
    )
    state = World(problem, "Your task is to: x.").initial_state()
    assert shortest_plan(state)
    play(state, "go to diningtable 1", "take knife 1 from diningtable 1")
    assert shortest_plan(state) is None
    assert not wins_within(state, None)


def test_a_goal_without_the_object_is_hopeless(kitchen: Problem) -> None:
    problem = replace(kitchen, goal=Goal(TaskType.HEAT, "pillowtype", "fridgetype"))
    assert shortest_plan(World(problem, "Your task is to: x.").initial_state()) is None


def test_a_treated_object_need_not_be_treated_again(state: State) -> None:
    play(state, "go to countertop 1", "take apple 3 from countertop 1", "go to sinkbasin 1")
    play(state, "clean apple 3 with sinkbasin 1", "go to countertop 1", "move apple 3 to countertop 1")
    play(state, "go to fridge 1", "open fridge 1", "go to diningtable 1")
    assert shortest_plan(state) == (
        "go to countertop 1",
        "take apple 3 from countertop 1",
        "go to fridge 1",
        "move apple 3 to fridge 1",
    )


def assert_plans_are_as_long_as_walkthroughs(data: Path, panel: str) -> int:
    games = open_games(panel, data)
    for task_id, game in games.items():
        state = games.world(task_id).initial_state()
        plan = shortest_plan(state)
        assert plan is not None
        assert game.walkthrough is not None
        assert_wins(state, game.walkthrough)
        assert_wins(state, plan)
        assert len(plan) == len(game.walkthrough)
    return len(games)


@pytest.mark.shared
@pytest.mark.parametrize("panel", ["train", "valid_train", "valid_seen", "valid_unseen"])
def test_official_plans_are_as_long_as_the_walkthroughs(official_data: Path, panel: str) -> None:
    assert assert_plans_are_as_long_as_walkthroughs(official_data, panel) > 0


@pytest.mark.shared
@pytest.mark.slow
def test_all_plans_are_as_long_as_the_walkthroughs(shared: Path, tmp_path: Path) -> None:
    script = shared / "alfworld" / "lay_out.py"
    subprocess.run([sys.executable, "-B", str(script), str(tmp_path)], check=True, timeout=120, capture_output=True)
    panels = ["train", "valid_train", "valid_seen", "valid_unseen"]
    assert sum(assert_plans_are_as_long_as_walkthroughs(tmp_path, panel) for panel in panels) == 1074


@pytest.mark.shared
def test_plans_from_the_middle_of_official_games(official_data: Path) -> None:
    """After each command of a walkthrough what is left is one command shorter."""
    games = open_games("valid_seen", official_data)
    for task_id in list(games)[::9]:
        walkthrough = games[task_id].walkthrough
        assert walkthrough is not None
        state = games.world(task_id).initial_state()
        for left in range(len(walkthrough), -1, -1):
            plan = shortest_plan(state)
            assert plan is not None
            assert len(plan) == left
            if left:
                play(state, walkthrough[-left])
