"""The native engine behind the simulator protocol."""

from collections.abc import Callable

from .game import Game
from .games import build_world
from .simulator import Observation, no_game
from .state import State
from .world import World


class NativeSimulator:
    """Plays games of dialect 0.4 in this process.

    Args:
        world_of: Gives the fixed tables of a task, for example ``Games.world``, which shares them among all
            simulators of a panel. None: they are made anew at each reset.
    """

    def __init__(self, world_of: Callable[[str], World] | None = None) -> None:
        self._world_of = world_of
        self._state: State | None = None

    def reset(self, game: Game) -> Observation:
        """Begins a game, whatever was being played.

        Raises:
            GameError: If the game speaks a dialect that this engine does not play.
        """
        world = build_world(game) if self._world_of is None else self._world_of(game.task.id)
        self._state = world.initial_state()
        return _observe(world.introduction, self._state)

    def step(self, command: str) -> Observation:
        """Gives one command.

        Raises:
            SimulatorError: If no game is being played.
        """
        if self._state is None:
            raise no_game()
        return _observe(self._state.step(command), self._state)

    def close(self) -> None:
        """Ends the game."""
        self._state = None


def _observe(text: str, state: State) -> Observation:
    met, total = state.goal_progress()
    return Observation(text, state.admissible_commands(), met == total, met / total)
