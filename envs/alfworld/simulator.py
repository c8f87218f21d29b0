"""What plays a game, whichever engine it is: the protocol and its errors."""

from typing import NamedTuple, Protocol

from ..errors import EnvironmentFailure, EnvironmentTimeout
from .game import Game


class Observation(NamedTuple):
    """What a step or a reset shows.

    Attributes:
        text: What the player reads.
        admissible_commands: The commands that would be carried out now, sorted, as a list of the caller's own.
        won: Whether the goal holds now.
        goal_condition_success_rate: Share of the goal's conditions that hold now, in [0, 1]; 1 exactly if won.
    """

    text: str
    admissible_commands: list[str]
    won: bool
    goal_condition_success_rate: float


class SimulatorError(EnvironmentFailure):
    """The engine failed. A new reset may follow."""


class SimulatorTimeout(SimulatorError, EnvironmentTimeout):
    """The engine did not answer in time and was stopped."""


class Simulator(Protocol):
    """One live game at a time."""

    def reset(self, game: Game) -> Observation:
        """Begins a game, whatever was being played.

        Raises:
            GameError: If the game cannot be played by this engine.
            SimulatorError: If the engine fails.
            SimulatorTimeout: If it does not answer in time.
        """

    def step(self, command: str) -> Observation:
        """Gives one command. A command that is not admissible is no error: the text says so.

        Raises:
            SimulatorError: If the engine fails, or no game is being played.
            SimulatorTimeout: If it does not answer in time.
        """

    def close(self) -> None:
        """Ends the game and frees everything. Closing again does nothing; a reset begins anew."""


def no_game() -> SimulatorError:
    """The error of a step without a game: before the first reset, after a failure or after closing."""
    return SimulatorError("no game is being played: call reset first")
