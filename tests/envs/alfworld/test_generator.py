import hashlib
import importlib.util
import itertools
import re
from collections import Counter

import numpy as np
import pytest
from holdergym.envs.alfworld.dice import Dice
from holdergym.envs.alfworld.errands import APPLIANCES, LAMP
from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.generator import DIFFICULTIES, TASK_TYPES, generate_game, generate_games
from holdergym.envs.alfworld.household import CAN_CONTAIN
from holdergym.envs.alfworld.native import NativeSimulator
from holdergym.envs.alfworld.pddl import format_problem, parse_problem
from holdergym.envs.alfworld.planner import shortest_plan
from holdergym.envs.alfworld.problem import Problem, TaskType
from holdergym.envs.alfworld.state import NOTHING_HAPPENS
from holdergym.envs.alfworld.stock import StockSimulator
from holdergym.envs.alfworld.world import World
from holdergym.envs.errors import ConfigError, UnknownNameError
from hypothesis import given, settings
from hypothesis import strategies as st

NUMBER = r"_(?:plus|minus)_\d\d_dot_\d\d"
THING_ID = re.compile(rf"[a-z]+_bar_{NUMBER}_bar_{NUMBER}_bar_{NUMBER}(_bar_(sink|bathtub)basin)?")
LOCATION_ID = re.compile(r"loc(_bar_(_minus_)?\d+){4}")

any_game = st.builds(
    generate_game,
    st.integers(),
    difficulty=st.floats(0, 1),
    task_type=st.sampled_from([None, *TASK_TYPES]),
)


def test_games_are_those_of_every_other_machine() -> None:
    games = [
        generate_game(seed, difficulty=difficulty, task_type=task_type)
        for seed, (difficulty, task_type) in enumerate(itertools.product(DIFFICULTIES, TASK_TYPES))
    ]
    digest = hashlib.sha256("".join([game.task.id + game.task.digest for game in games]).encode()).hexdigest()
    assert digest == "e9174cb3b10fcccd6b5f4ffef9e48bfc1b0f6f6fb4c6ea279c10680a6293de0f"


@settings(max_examples=60, deadline=None)
@given(any_game)
def test_a_game_is_won_by_its_walkthrough_and_not_before(game: Game) -> None:
    state = World(game.problem, game.sentence).initial_state()
    assert game.walkthrough == shortest_plan(state)
    assert game.walkthrough
    for command in game.walkthrough:
        assert not state.won
        assert command in state.admissible_commands()
        assert state.step(command) != NOTHING_HAPPENS
    assert state.won


@settings(max_examples=60, deadline=None)
@given(any_game)
def test_a_game_has_the_official_format(game: Game) -> None:
    problem = game.problem
    assert parse_problem(format_problem(problem, "a_game")) == problem
    things = [*problem.objects, *problem.receptacles]
    assert all(THING_ID.fullmatch(thing.id) for thing in things)
    assert all(LOCATION_ID.fullmatch(place) for place in problem.locations)
    assert len({thing.id for thing in things}) == len(things)
    for receptacle in problem.receptacles:
        vessel, basin, _ = receptacle.id.partition(f"_bar_{receptacle.type.removesuffix('type')}")
        assert bool(basin) == (vessel in {thing.id for thing in problem.objects})
    taken = {kind: frozenset(types) for kind, types in problem.can_contain}
    objects = {thing.type for thing in problem.objects}
    for receptacle in problem.receptacles:
        fits = {f"{name}type" for name in CAN_CONTAIN[receptacle.type.removesuffix("type")]}
        assert taken.get(receptacle.type, frozenset()) == fits & objects
    assert re.fullmatch(r"Your task is to: [a-z ]+\.", game.sentence)
    words = game.sentence.rstrip(".").split(" ")
    assert [words.count(kind.removesuffix("type")) for kind in problem.goal[1:]] == [1, 1]


@settings(max_examples=60, deadline=None)
@given(any_game)
def test_the_wanted_objects_do_not_start_where_they_are_wanted(game: Game) -> None:
    problem = game.problem
    goal = problem.goal
    wanted = {index for index, thing in enumerate(problem.objects) if thing.type == goal.object_type}
    starts = {problem.receptacles[place].type for thing, place in problem.in_receptacle if thing in wanted}
    assert len(wanted) >= (2 if goal.task_type is TaskType.PICK_TWO else 1)
    if goal.task_type in (TaskType.PICK_AND_PLACE, TaskType.PICK_TWO):
        assert goal.target_type not in starts
    furniture = {receptacle.type for receptacle in problem.receptacles}
    if goal.task_type is TaskType.LOOK_AT:
        assert goal.target_type == f"{LAMP}type"
        lamps = {index for index, thing in enumerate(problem.objects) if thing.type == goal.target_type}
        assert lamps & {thing for thing, _ in problem.in_receptacle}
    else:
        assert goal.target_type in furniture
    if goal.task_type in APPLIANCES:
        assert f"{APPLIANCES[goal.task_type]}type" in furniture
    assert problem.agent not in {receptacle.location for receptacle in problem.receptacles}


def beside_basins(problem: Problem) -> int:
    return sum(thing.type not in ("sinktype", "bathtubtype") for thing in problem.objects)


def test_difficulty_goes_from_four_receptacles_to_the_official_sizes() -> None:
    means = []
    for difficulty in DIFFICULTIES.values():
        problems = [game.problem for game in generate_games(5, 60, difficulty)]
        sizes = [len(problem.receptacles) for problem in problems]
        means.append((sum(sizes), sum(map(beside_basins, problems))))
        if difficulty == 0:
            assert set(sizes) == {4}
            assert max(map(beside_basins, problems)) == 8
            assert min(len(problem.in_receptacle) for problem in problems) >= 2
        if difficulty == 1:
            assert min(sizes) >= 6
            assert max(sizes) <= 60
            assert max(sizes) >= 40
    assert means == sorted(means)
    assert all(low < high for column in zip(*means, strict=True) for low, high in itertools.pairwise(column))


def test_full_games_have_what_official_games_have_now_and_then() -> None:
    games = [game.problem for game in generate_games(0, 120)]
    assert any(len(set(places)) < len(places) for places in ([r.location for r in p.receptacles] for p in games))
    assert any(max(Counter(o for o, _ in problem.in_receptacle).values()) == 2 for problem in games)
    assert any(problem.in_object for problem in games)
    in_receptacle = [{thing for thing, _ in problem.in_receptacle} for problem in games]
    assert any(len(inside) < len(problem.objects) for inside, problem in zip(in_receptacle, games, strict=True))
    assert any("iscool" in format_problem(problem, "x") for problem in games)


def test_many_games_take_all_types_by_turns_and_never_repeat() -> None:
    games = list(generate_games(40, 24, "small", panel="mine"))
    assert [game.problem.goal.task_type for game in games] == [*TASK_TYPES] * 4
    assert all(game.task.type == game.problem.goal.task_type for game in games)
    assert len({game.task.digest for game in games}) == 24
    assert games[3] == generate_game(43, difficulty=0.25, task_type=TASK_TYPES[3], panel="mine")
    expected = r"alfworld/mine/[a-z_]+-[A-Za-z]+-None-[A-Za-z]+-(kitchen|livingroom|bedroom|bathroom)/seed_\d+_size_25"
    assert all(re.fullmatch(expected, game.task.id) for game in games)


def test_a_seed_alone_draws_the_type_too() -> None:
    games = [generate_game(seed, difficulty=0) for seed in range(40)]
    assert {game.problem.goal.task_type for game in games} == set(TASK_TYPES)
    assert games[7] == generate_game(7, difficulty=0, task_type=games[7].problem.goal.task_type)


def test_numpy_numbers_are_numbers() -> None:
    made = generate_game(np.int64(3), difficulty=np.float64(0.5))  # type: ignore[arg-type]
    assert made == generate_game(3, difficulty=0.5)
    assert generate_game(3, difficulty=1) == generate_game(3, difficulty="full")


@pytest.mark.parametrize("difficulty", [-0.1, 1.01, float("nan"), float("inf")])
def test_a_difficulty_outside_the_dial_is_refused(difficulty: float) -> None:
    with pytest.raises(ConfigError, match=r"outside \[0, 1\]"):
        generate_game(0, difficulty=difficulty)


def test_an_unknown_difficulty_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'medium'"):
        generate_game(0, difficulty="meduim")


@pytest.mark.parametrize("count", [0, -3])
def test_a_count_that_is_not_positive_is_refused_at_once(count: int) -> None:
    with pytest.raises(ConfigError, match="positive"):
        generate_games(0, count)


@pytest.mark.stock
@pytest.mark.timeout(280)
def test_the_stock_engine_plays_generated_games_alike() -> None:
    if not all(map(importlib.util.find_spec, ("alfworld", "textworld"))):
        pytest.skip("the stock engine is not installed: pip install 'holdergym[alfworld]'")
    native, stock = NativeSimulator(), StockSimulator()
    dice = Dice("walk")
    try:
        for seed, task_type in enumerate(TASK_TYPES):
            game = generate_game(seed, difficulty=0.1, task_type=task_type)
            shown = native.reset(game)
            assert stock.reset(game) == shown
            assert game.walkthrough is not None
            walk = [*game.walkthrough, *["look"] * 6]
            for index, command in enumerate(walk):
                # After the win, six steps anywhere.
                taken = command if index < len(game.walkthrough) else dice.pick(shown.admissible_commands)
                shown = native.step(taken)
                assert stock.step(taken) == shown
                assert shown.won or index != len(game.walkthrough) - 1
    finally:
        stock.close()
