"""The native engine against the unmodified stock one, step by step; ``make parity`` is the long form."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.games import open_games
from holdergym.envs.alfworld.generator import generate_game
from holdergym.envs.alfworld.native import NativeSimulator
from holdergym.envs.alfworld.problem import TaskType
from holdergym.envs.alfworld.simulator import Observation
from holdergym.envs.alfworld.stock import StockSimulator, missing_parts
from lockstep.compare import compare
from lockstep.exercises import Exercises
from lockstep.odd_commands import ODD_COMMANDS

REPOSITORY = Path(__file__).resolve().parents[3]
needs_stock = pytest.mark.skipif(
    bool(missing_parts()), reason=f"the extra 'alfworld' is not installed: no {' or '.join(missing_parts())}"
)


@pytest.fixture(scope="module")
def stock() -> Iterator[StockSimulator]:
    simulator = StockSimulator()
    yield simulator
    simulator.close()


def smallest_game(data: Path, panel: str, task_type: TaskType) -> Game:
    """The stock engine's time grows with the square of the room."""
    games = open_games(panel, data)
    of_type = [games[task.id] for task in games.panel.of_type(task_type).tasks]
    return min(of_type, key=lambda game: (len(game.problem.receptacles), game.task.id))


@needs_stock
@pytest.mark.stock
@pytest.mark.shared
@pytest.mark.parametrize("task_type", TaskType)
def test_official_games_are_the_same_in_both_engines(
    task_type: TaskType, official_data: Path, stock: StockSimulator
) -> None:
    panel = "valid_seen" if list(TaskType).index(task_type) % 2 else "valid_unseen"
    game = smallest_game(official_data, panel, task_type)
    exercises = Exercises(game, seed=1)
    for commands in (exercises.walkthrough(further=4), exercises.random_walk(14, odd=0.4)):
        found = compare(game, commands, stock, NativeSimulator())
        assert found.difference is None, str(found.difference)
        assert found.observations == len(commands) + 1


@needs_stock
@pytest.mark.stock
@pytest.mark.parametrize("task_type", TaskType)
def test_generated_games_are_the_same_in_both_engines(task_type: TaskType, stock: StockSimulator) -> None:
    game = generate_game(7, difficulty="tiny", task_type=task_type)
    exercises = Exercises(game, seed=1)
    for commands in (exercises.walkthrough(further=6), exercises.shuttles()[:20]):
        found = compare(game, commands, stock, NativeSimulator())
        assert found.difference is None, str(found.difference)


@needs_stock
@pytest.mark.stock
def test_odd_commands_are_answered_the_same(stock: StockSimulator) -> None:
    game = generate_game(8, difficulty="tiny", task_type=TaskType.HEAT)
    commands = Exercises(game, seed=1).odd_commands()
    assert len(commands) > len(ODD_COMMANDS) >= 60
    found = compare(game, commands, stock, NativeSimulator())
    assert found.difference is None, str(found.difference)


@needs_stock
@pytest.mark.stock
def test_a_game_may_start_at_a_receptacle(stock: StockSimulator) -> None:
    game = generate_game(9, difficulty="tiny")
    problem = replace(game.problem, agent=game.problem.receptacles[-1].location)
    moved = Game.make(game.task.id, problem, game.sentence, None)
    found = compare(moved, ["look", *Exercises(moved, seed=1).random_walk(10, odd=0.0)], stock, NativeSimulator())
    assert found.difference is None, str(found.difference)


@needs_stock
@pytest.mark.stock
def test_facts_about_places_may_be_missing_or_wrong(stock: StockSimulator) -> None:
    """Slicing and looking go by ``objectAtLocation``, which released games contradict."""
    game = generate_game(3, difficulty="small", task_type=TaskType.HEAT)
    here = game.problem.receptacles[0].location
    elsewhere = tuple((thing, here) for thing, _ in game.problem.at_location[::2])
    odd = Game.make(game.task.id, replace(game.problem, at_location=elsewhere), game.sentence, None)
    exercises = Exercises(odd, seed=1)
    commands = [*exercises.treatments()[:25], *exercises.shuttles()[:10]]
    assert any(command.startswith("slice") for command in commands)
    found = compare(odd, commands, stock, NativeSimulator())
    assert found.difference is None, str(found.difference)


@needs_stock
@pytest.mark.stock
@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("task_type", TaskType)
def test_official_problems_play_the_same_by_the_packages_own_rules(
    task_type: TaskType, official_data: Path, stock: StockSimulator
) -> None:
    game = smallest_game(official_data, "valid_unseen", task_type)
    commands = Exercises(game, seed=2).random_walk(30, odd=0.1)
    written = replace(game, source="written")
    by_own_rules = [stock.reset(written), *map(stock.step, commands)]
    by_official_rules = [stock.reset(game), *map(stock.step, commands)]
    assert by_own_rules == by_official_rules


class _Wrong(NativeSimulator):
    """An engine with one mistake: after one command it shows something else in one field."""

    def __init__(self, command: str, field: str, value: object) -> None:
        super().__init__()
        self.command, self.mistake = command, {field: value}

    def step(self, command: str) -> Observation:
        right = super().step(command)
        return right._replace(**self.mistake) if command == self.command else right


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "You are carrying nothing."),
        ("admissible_commands", ["look"]),
        ("admissible_commands", ("look",)),
        ("won", True),
        ("goal_condition_success_rate", 0.75),
    ],
)
def test_a_difference_in_any_field_is_found(field: str, value: object) -> None:
    game = generate_game(7, difficulty="tiny")
    wrong = _Wrong("inventory", field, value)
    found = compare(game, ["look", "inventory", "help"], NativeSimulator(), wrong)
    assert found.difference is not None
    assert (found.difference.field, found.difference.found) == (field, value)
    assert found.difference.commands == ("look", "inventory")
    assert found.observations == 3
    assert f"{field} after 'inventory' (step 2)" in str(found.difference)


def test_an_order_of_commands_is_a_difference() -> None:
    game = generate_game(7, difficulty="tiny")
    commands = NativeSimulator().reset(game).admissible_commands
    wrong = _Wrong("help", "admissible_commands", commands[::-1])
    assert compare(game, ["help"], NativeSimulator(), NativeSimulator()).difference is None
    assert compare(game, ["help"], NativeSimulator(), wrong).difference is not None


def test_wins_and_undone_wins_are_counted() -> None:
    game = generate_game(7, difficulty="tiny", task_type=TaskType.PICK_AND_PLACE)
    assert game.walkthrough
    placed = game.walkthrough[-1]
    thing, target = placed.removeprefix("move ").split(" to ")
    commands = [*game.walkthrough, f"take {thing} from {target}", "look", placed]
    found = compare(game, commands, NativeSimulator(), NativeSimulator())
    assert (found.won, found.undone) == (2, 1)


def test_exercises_are_the_same_for_the_same_seed() -> None:
    game = generate_game(7, difficulty="small", task_type=TaskType.CLEAN)

    def all_of(seed: int) -> list[list[str]]:
        made = Exercises(game, seed)
        walks = [made.walkthrough(9), made.random_walk(30, 0.3)]
        return [*walks, made.treatments(), made.shuttles(), made.twins(), made.vessels(), made.odd_commands()]

    assert all_of(1) == all_of(1)
    assert all_of(1) != all_of(2)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        pytest.param(["--generated", "0"], 1, "0 differences", id="nothing compared"),
        pytest.param(["--generated", "2"], 0, "Only generated games are played", id="generated only"),
        pytest.param(["--data", "no_such_folder"], 1, "there is no", id="no data"),
    ],
)
@needs_stock
@pytest.mark.stock
@pytest.mark.slow
def test_the_script_ends_with_the_right_status(arguments: list[str], status: int, said: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "ALFWORLD_DATA"}
    script = [sys.executable, str(REPOSITORY / "benchmarks" / "parity.py"), *arguments]
    done = subprocess.run(script, capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr


def test_the_stock_engine_is_looked_for_without_importing_it() -> None:
    code = (
        "import sys; from holdergym.envs.alfworld.stock import missing_parts; missing_parts(); "
        "print([name for name in ('alfworld', 'textworld', 'fast_downward') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
