"""The stock text engine (``alfworld`` over ``textworld``) behind the simulator protocol, in a worker process.

It is the reference for the native engine, thousands of times slower, and delicate: its parser breaks under threads,
its translator overwrites ``sys.argv``, wrappers that are shared make several environments play one game, and its
memory grows with the games. So each simulator has a process of its own with one environment, which is replaced after
some games.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from ..errors import ConfigError, GameError, MissingExtraError
from .domain import game_entries
from .game import Game
from .game_file import make_game, read_file
from .simulator import Observation, no_game
from .stock_process import WorkerProcess
from .tree import GAME_FILE

_MODULE = "holdergym.envs.alfworld.stock_worker"
_PARTS = ("alfworld", "textworld", "fast_downward", "psutil")


@dataclass(frozen=True, slots=True)
class StockLimits:
    """What a worker may take. The defaults are many times what the largest game needs on a busy machine.

    Attributes:
        start_seconds: For the process to start; it imports for some seconds.
        reset_seconds: For beginning a game; it takes 1.5 to 3 seconds.
        step_seconds: For a command; it takes 0.1 to 0.3 seconds.
        games: Games after which the process is replaced.
        megabytes: Resident memory from which on it is replaced at the next reset.
    """

    start_seconds: float = 120.0
    reset_seconds: float = 60.0
    step_seconds: float = 30.0
    games: int = 100
    megabytes: float = 1024.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ConfigError(f"the limit {name!r} of the stock engine must be positive, not {getattr(self, name)}")


class StockSimulator:
    """Plays games of both dialects, each by the rules in its own file.

    A game that was read from a ``game.tw-pddl`` is played from this file, unmodified. A packed or generated game is
    written in the official format with the rules of ``domain.py``.

    After a failure the process is gone, ``step`` says that no game is being played, and the next ``reset`` begins
    with a fresh one. A simulator is for one thread at a time; several run side by side in as many processes.

    Args:
        limits: Time-outs and when to replace the process.

    Raises:
        MissingExtraError: If a part of the stock engine is not installed.
    """

    def __init__(self, limits: StockLimits | None = None) -> None:
        require_stock()
        self._limits = limits or StockLimits()
        self._worker: WorkerProcess | None = None
        self._games = 0
        self._megabytes = 0.0
        self._loaded = ""
        self._playing = False

    @property
    def pid(self) -> int | None:
        """Process id of the worker, None while there is none."""
        return self._worker.pid if self._worker is not None and self._worker.alive else None

    def reset(self, game: Game) -> Observation:
        """Begins a game, whatever was being played. The first time it starts the worker.

        Raises:
            GameError: If the game's file is gone, has changed since it was read, or cannot be written.
            SimulatorError: If the engine fails, also at a file that it cannot play.
            SimulatorTimeout: If it does not answer in time.
        """
        self._playing = False
        worker = self._reusable_worker()
        key = f"{game.task.digest}\t{game.source}"
        request: dict[str, object] = {}
        if worker is None or key != self._loaded:
            # Otherwise the file is in the worker's memory, and translating it once is enough.
            request = {"file": _entries(game), "goal": list(game.problem.goal)}
        if worker is None:
            worker = self._start_worker()
        self._loaded = ""
        observation = self._observe(worker.ask(request, f"begin {game.task.id}", self._limits.reset_seconds))
        self._loaded = key
        self._games += 1
        self._playing = True
        return observation

    def step(self, command: str) -> Observation:
        """Gives one command.

        Raises:
            SimulatorError: If the engine fails, or no game is being played.
            SimulatorTimeout: If it does not answer in time.
        """
        worker = self._worker
        if worker is None or not self._playing or not worker.alive:
            raise no_game()
        self._playing = False
        reply = worker.ask({"command": command}, f"carry out {command[:80]!r}", self._limits.step_seconds)
        self._playing = True
        return self._observe(reply)

    def close(self) -> None:
        """Ends the worker. Closing again does nothing; a reset begins with a new one."""
        self._playing = False
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _reusable_worker(self) -> WorkerProcess | None:
        """The worker; None if there is none, it failed, has played enough games or has grown too large."""
        worn = self._games >= self._limits.games or self._megabytes > self._limits.megabytes
        return None if self._worker is None or not self._worker.alive or worn else self._worker

    def _start_worker(self) -> WorkerProcess:
        self.close()
        self._games = 0
        self._megabytes = 0.0
        self._worker = WorkerProcess(_MODULE, self._limits.start_seconds)
        return self._worker

    def _observe(self, reply: dict[str, object]) -> Observation:
        self._megabytes = cast(float, reply["megabytes"])
        met, conditions = cast(int, reply["met"]), cast(int, reply["conditions"])
        return Observation(
            cast(str, reply["text"]), cast(list[str], reply["commands"]), cast(bool, reply["won"]), met / conditions
        )


def missing_parts() -> tuple[str, ...]:
    """Names the packages of the extra ``alfworld`` that are not installed; none is imported to find out."""
    return tuple(name for name in _PARTS if find_spec(name) is None)


def require_stock() -> None:
    """Makes sure that the stock engine can be started.

    Raises:
        MissingExtraError: If a part of it is not installed.
    """
    missing = missing_parts()
    if missing:
        raise MissingExtraError("engine 'textworld'", "alfworld", " and ".join(missing))


def _entries(game: Game) -> dict[str, object]:
    """The game file's entries: those of the file that the game was read from, or newly written ones."""
    path = Path(game.source)
    if path.name != GAME_FILE:
        return game_entries(game)
    file = read_file(path)
    if make_game(path, file).task.digest != game.task.digest:
        raise GameError(f"{path}: has changed since the games were opened: open them again")
    return {
        "pddl_domain": file.domain,
        "grammar": file.grammar,
        "pddl_problem": file.problem,
        "walkthrough": None if file.walkthrough is None else list(file.walkthrough),
    }
