"""What a policy is trained in: tasks to draw from, environments to play them in, and tasks to be validated on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import gymnasium

from ..envs.panel import Panel
from .config import TrainConfig

_ALFWORLD_STEPS = 50
_ATTEMPTS = 3


@dataclass(frozen=True)
class Playground:
    """Tasks and environments.

    Attributes:
        kind: ``alfworld`` or ``math``: decides on the prompt where none is set.
        train: The tasks to draw from.
        validation: The tasks to be validated on; None if nothing is validated.
        make_train: Makes one more environment for the former.
        make_validation: Makes one more environment for the latter.
    """

    kind: Literal["alfworld", "math"]
    train: Panel
    validation: Panel | None
    make_train: Callable[[], gymnasium.Env[str, str]]
    make_validation: Callable[[], gymnasium.Env[str, str]]


def open_playground(config: TrainConfig) -> Playground:
    """Opens the tasks that the settings name.

    Raises:
        HolderGymError: If they cannot be read.
    """
    data = None if config.data is None else str(config.data)
    panels = (config.panel or "builtin_train", validation_panel(config))
    train, validation = (_open(config.env, panel, data) for panel in panels)
    if config.task_type is not None:
        train, validation = train.of_type(config.task_type), validation.of_type(config.task_type)
    if config.validation.limit is not None:
        validation = validation.limit(config.validation.limit)
    return Playground(
        kind="alfworld" if config.env == "alfworld" else "math",
        train=train,
        validation=validation if config.validation.every else None,
        make_train=lambda: _make(config, panels[0], data),
        make_validation=lambda: _make(config, panels[1], data),
    )


def validation_panel(config: TrainConfig) -> str:
    """Name of the panel that is validated on."""
    if config.validation.panel is not None:
        return config.validation.panel
    panel = config.panel or "builtin_train"
    beside = panel.startswith("builtin_") and panel.endswith("_train")
    return f"{panel.removesuffix('_train')}_valid" if beside else "builtin_valid"


def most_turns(config: TrainConfig) -> int:
    """Turns after which an episode ends: actions, or attempts."""
    return config.max_steps or {"alfworld": _ALFWORLD_STEPS, "math_retry": _ATTEMPTS}.get(config.env, 1)


def _open(env: str, panel: str, data: str | None) -> Panel:
    builtin = panel.startswith("builtin_")
    if env == "alfworld":
        from ..envs.alfworld.games import open_games

        return open_games(panel, None if builtin else data).panel
    from ..envs.math.problems import open_problems

    return open_problems(panel, None if builtin else data).panel


def _make(config: TrainConfig, panel: str, data: str | None) -> gymnasium.Env[str, str]:
    source = None if panel.startswith("builtin_") else data
    if config.env == "alfworld":
        from ..envs.alfworld.env import ALFWorldEnv

        return ALFWorldEnv(panel=panel, data=source, max_steps=most_turns(config))
    from ..envs.math.env import MathEnv, MathRetryEnv

    if config.env == "math":
        return MathEnv(panel=panel, data=source)
    return MathRetryEnv(panel=panel, data=source, rewards=[1.0 / 2**attempt for attempt in range(most_turns(config))])
