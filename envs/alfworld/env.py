"""ALFWorld as a Gymnasium environment."""

import os
from collections.abc import Mapping
from typing import Any, SupportsFloat

import gymnasium
from gymnasium.error import ResetNeeded

from ..errors import ConfigError, UnknownNameError
from ..panel import Panel
from ..settings import Layer, resolve
from ..task import Task
from ..text_space import SharedText
from .games import Games, open_games
from .simulator import Observation, Simulator
from .stock import StockLimits, StockSimulator

ENGINES = ("native", "textworld")
RENDER_MODES = ("ansi",)

# Printable ASCII and the line break: all that the games say. The longest observation of a released game has
# 1,500 characters; the longest command 50.
CHARSET = frozenset(map(chr, range(0x20, 0x7F))) | {"\n"}
MAX_OBSERVATION = 8192
MAX_COMMAND = 256

_OPTIONS = ("task",)
_SHOWN = 200


class ALFWorldEnv(gymnasium.Env[str, str]):
    """A household task, played in text.

    Observations and actions are strings. ``terminated`` means won and nothing else; ``truncated`` means that
    the step limit was reached without a win. The reward is 1.0 for the step that wins, else 0.0. Each reset and
    step gives an ``info`` with these keys:

    - ``won``: whether the goal holds now.
    - ``admissible_commands``: the commands that the game would carry out now, sorted; a new list each time.
    - ``task_id`` and ``task_type``.
    - ``goal_condition_success_rate``: share of the goal's conditions that hold now, in [0, 1].
    - ``steps``: commands so far, also those to which nothing happened.

    Any string may be sent as an action. One that is not an admissible command, also one outside
    ``action_space``, is answered with ``Nothing happens.`` and counts as a step.

    ``reset(options={"task": ID})`` plays a task of the panel. Without it one is drawn from the whole panel by
    ``np_random``, each with the same chance at each reset, so the same seed gives the same games. To play every
    task once, name them: ``for task in env.unwrapped.panel.tasks``.

    An environment can be pickled and copied in the middle of an episode. The copy replays the commands in an
    engine of its own, so copies never share state.

    Args:
        panel: Name of the panel, as ``open_games`` takes it.
        data: Folder or packed file with the games, as ``open_games`` takes it.
        engine: ``native``, or ``textworld`` for the stock engine (needs the extra ``alfworld``).
        task_type: Keeps the tasks of one type.
        max_steps: Step limit of an episode.
        render_mode: ``ansi`` makes ``render`` return the episode's transcript so far.
        engine_limits: Time-outs and memory of the stock engine: fields of ``StockLimits`` by name, for example
            ``{"step_seconds": 90}``.

    Attributes:
        panel: The tasks that can be played.

    Raises:
        HolderGymError: If the games cannot be opened or a setting is wrong.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012 - as the base class has it

    def __init__(
        self,
        panel: str | None = "builtin_valid",
        data: str | None = None,
        engine: str = "native",
        task_type: str | None = None,
        max_steps: int = 50,
        render_mode: str | None = None,
        engine_limits: Mapping[str, float] | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise UnknownNameError("engine", engine, ENGINES)
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UnknownNameError("render mode", render_mode, RENDER_MODES)
        if type(max_steps) is not int or max_steps < 1:
            raise ConfigError(f"max_steps must be a whole number of at least 1, not {max_steps!r}")
        if isinstance(data, os.PathLike):
            raise ConfigError(f"data must be a string, as the environment's spec is kept as JSON: use str({data!r})")
        self._source = (panel, data, task_type)
        self._games, self.panel = _open(*self._source)
        self._engine = engine
        self._limits = _limits(engine, engine_limits)
        self._max_steps = max_steps
        self.render_mode = render_mode
        self.observation_space = SharedText(MAX_OBSERVATION, min_length=1, charset=CHARSET)
        self.action_space = SharedText(MAX_COMMAND, min_length=1, charset=CHARSET)
        self._simulator: Simulator | None = None
        self._task: Task | None = None
        self._commands: list[str] = []
        self._ending = ""
        self._transcript: list[str] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seeds the draw of tasks.
            options: ``{"task": ID}`` plays that task; None or ``{}`` draws one.

        Raises:
            UnknownNameError: If the option or the task is unknown; the message names the nearest.
            SimulatorError: If the stock engine fails.
        """
        super().reset(seed=seed)
        task = self._choose(options or {})
        self._task = None
        observation = self._live().reset(self._games[task.id])
        self._task = task
        self._commands = []
        self._ending = ""
        self._transcript = [observation.text]
        return observation.text, self._info(task, observation)

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Sends one command.

        Raises:
            ResetNeeded: If no episode is running, because there was none yet or it has ended.
            TypeError: If the action is not a string.
            SimulatorError: If the stock engine fails; the episode cannot be continued.
        """
        if self._task is None:
            raise ResetNeeded("no episode is running: call reset() before step()")
        if self._ending:
            raise ResetNeeded(f"the episode of task {self._task.id} {self._ending}: call reset() before step()")
        if not isinstance(action, str):
            raise TypeError(f"an action is a command as text, not {type(action).__name__}")
        simulator = self._live()
        self._ending = "was broken off by a failure of the engine"
        observation = simulator.step(action)
        self._commands.append(action)
        steps = len(self._commands)
        truncated = not observation.won and steps >= self._max_steps
        self._ending = f"was won in step {steps}" if observation.won else ""
        if truncated:
            self._ending = f"has ended at its limit of {self._max_steps} steps"
        if self.render_mode == "ansi":
            self._transcript.append(f"> {_printable(action)}\n{observation.text}")
        info = self._info(self._task, observation)
        return observation.text, float(observation.won), observation.won, truncated, info

    def render(self) -> str | None:
        """The transcript of the episode so far, in ``render_mode="ansi"``."""
        return "\n\n".join(self._transcript) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Ends the engine. The environment can be reset again."""
        self._task = None
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the engine and the games, which are opened again."""
        state = self.__dict__.copy()
        state.update(_simulator=None, _games=None, panel=None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._games, self.panel = _open(*self._source)

    def _choose(self, options: Mapping[str, object]) -> Task:
        unknown = sorted(str(key) for key in options if key not in _OPTIONS)
        if unknown:
            raise UnknownNameError("reset option", unknown[0], _OPTIONS)
        if "task" not in options:
            return self.panel.tasks[int(self.np_random.integers(len(self.panel.tasks)))]
        task_id = options["task"]
        if not isinstance(task_id, str):
            raise ConfigError(f"the reset option 'task' must be the id of a task, not {task_id!r:.80}")
        return self.panel.task(task_id)

    def _live(self) -> Simulator:
        """The engine. A copy of an environment makes its own here and brings it to the same point."""
        if self._simulator is None:
            self._simulator = _make_simulator(self._engine, self._games, self._limits)
            if self._task is not None:
                self._simulator.reset(self._games[self._task.id])
                for command in self._commands:
                    self._simulator.step(command)
        return self._simulator

    def _info(self, task: Task, observation: Observation) -> dict[str, Any]:
        return {
            "won": observation.won,
            "admissible_commands": observation.admissible_commands,
            "task_id": task.id,
            "task_type": task.type,
            "goal_condition_success_rate": observation.goal_condition_success_rate,
            "steps": len(self._commands),
        }


def _open(panel: str | None, data: str | None, task_type: str | None) -> tuple[Games, Panel]:
    games = open_games(panel, data)
    return games, games.panel if task_type is None else games.panel.of_type(task_type)


def _limits(engine: str, given: Mapping[str, float] | None) -> StockLimits | None:
    if given is None:
        return None
    if engine != "textworld":
        raise ConfigError(f"engine {engine!r} has no limits to set: leave out engine_limits, or choose 'textworld'")
    return resolve(StockLimits, [Layer("engine_limits", given)])


def _make_simulator(engine: str, games: Games, limits: StockLimits | None) -> Simulator:
    if engine == "native":
        from .native import NativeSimulator

        return NativeSimulator(games.world)
    return StockSimulator(limits)


def _printable(action: str) -> str:
    """An action as a transcript shows it: on one line, without control characters, and not too long."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in action[:_SHOWN])
    return f"{shown} ... ({len(action)} characters)" if len(action) > _SHOWN else shown
