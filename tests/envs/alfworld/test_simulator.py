"""The simulator protocol on the native engine; ``test_stock.py`` has the stock one."""

import pytest
from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.generator import generate_game
from holdergym.envs.alfworld.native import NativeSimulator
from holdergym.envs.alfworld.simulator import SimulatorError, SimulatorTimeout
from holdergym.envs.alfworld.world import World
from holdergym.envs.errors import GameError, HolderGymError


@pytest.fixture
def game() -> Game:
    return generate_game(1, difficulty="small")


def test_a_walkthrough_is_played_to_the_win(game: Game) -> None:
    simulator = NativeSimulator()
    observation = simulator.reset(game)
    assert observation.text.endswith(game.sentence)
    assert not observation.won
    assert observation.goal_condition_success_rate < 1
    assert game.walkthrough
    for command in game.walkthrough:
        assert command in observation.admissible_commands
        observation = simulator.step(command)
    assert observation.won
    assert observation.goal_condition_success_rate == 1


def test_the_list_of_commands_is_the_callers_own(game: Game) -> None:
    simulator = NativeSimulator()
    first = simulator.reset(game)
    before = list(first.admissible_commands)
    first.admissible_commands.clear()
    assert simulator.step("look").admissible_commands == before


def test_simulators_share_the_fixed_tables_but_not_the_state(game: Game) -> None:
    world = World(game.problem, game.sentence)
    asked: list[str] = []

    def world_of(task_id: str) -> World:
        asked.append(task_id)
        return world

    one, two = NativeSimulator(world_of), NativeSimulator(world_of)
    one.reset(game)
    start = two.reset(game)
    assert asked == [game.task.id] * 2
    assert game.walkthrough
    one.step(game.walkthrough[0])
    assert two.step("help").admissible_commands == start.admissible_commands


def test_a_step_needs_a_game(game: Game) -> None:
    simulator = NativeSimulator()
    with pytest.raises(SimulatorError, match="call reset"):
        simulator.step("look")
    simulator.reset(game)
    simulator.close()
    simulator.close()
    with pytest.raises(SimulatorError, match="call reset"):
        simulator.step("look")
    assert simulator.reset(game).admissible_commands


def test_the_old_dialect_is_refused(game: Game) -> None:
    old = Game.make(game.task.id, game.problem, game.sentence, None, dialect="0.3")
    with pytest.raises(GameError, match="engine='textworld'"):
        NativeSimulator().reset(old)


def test_a_timeout_is_an_engine_failure_and_has_one_line() -> None:
    assert issubclass(SimulatorTimeout, SimulatorError)
    assert issubclass(SimulatorError, HolderGymError)
