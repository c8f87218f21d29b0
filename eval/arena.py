"""What a run plays in: the panel, the agent and the environments that its settings name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import gymnasium

from ..agents.agent import Agent
from ..agents.language_model_settings import MAX_TOKENS, LanguageModelSettings
from ..agents.replay import ReplayAgent
from ..agents.trajectory import Trajectory
from ..envs.panel import Panel
from .config import EvalConfig
from .protocols import refuse_early, with_protocol

# As many as the transformers back end answers together.
_MODEL_WORKERS = 16
# A model that always says the most likely words says the same in every sample.
_TEMPERATURE_OF_SAMPLES = 1.0


@dataclass(frozen=True, kw_only=True)
class Arena:
    """Everything that playing needs, made once a run.

    Attributes:
        config: The settings, with everything filled in that was left open.
        panel: The tasks to play.
        dialect: Wording of the games; several are joined by ``+``. Empty for mathematics.
        source: Where the games or problems come from, by an absolute path; None for what is generated.
        agent: Who plays. It keeps no state, so all environments may share it.
        make_env: Makes one more environment that plays the panel's tasks.
        shortest: Length of the shortest plan of a task, or None where none is known.
        settle: Has the last word on how an episode ended.
        notes: What a user must know before trusting a number, one line each.
    """

    config: EvalConfig
    panel: Panel
    dialect: str
    source: Path | None
    agent: Agent
    make_env: Callable[[], gymnasium.Env[str, str]]
    shortest: Callable[[str], int | None]
    settle: Callable[[Trajectory], Trajectory]
    notes: tuple[str, ...]

    @property
    def workers(self) -> int:
        """Number of environments played at once."""
        return self.config.workers or (_MODEL_WORKERS if isinstance(self.config.agent, LanguageModelSettings) else 1)


def open_arena(config: EvalConfig) -> Arena:
    """Opens the games or problems and makes the agent, and makes sure that they can play, before anything is written.

    Raises:
        HolderGymError: If the tasks or a file of the agent cannot be read, the panel has no such tasks, the engine
            is not installed or does not play these games, a recording or a gold is not fit for it, or the settings
            are not those of the protocol that they name.
    """
    refuse_early(config)
    if config.env == "alfworld":
        from .alfworld_arena import open_alfworld_arena

        arena = open_alfworld_arena(_with_model_defaults(config, "alfworld"))
    else:
        from .math_arena import open_math_arena

        arena = open_math_arena(_with_model_defaults(config, "math"))
    if isinstance(arena.agent, ReplayAgent):
        arena.agent.require(arena.panel, arena.config.samples)
    return replace(arena, config=with_protocol(arena.config), notes=(*arena.notes, *_notes(arena.config)))


def cut_panel(config: EvalConfig, whole: Panel) -> Panel:
    """The part of a panel that the settings name.

    Raises:
        UnknownNameError: If it has no tasks of the type.
    """
    panel = whole
    if config.task_type is not None:
        panel = panel.of_type(config.task_type)
    if config.limit is not None:
        panel = panel.limit(config.limit)
    if config.draw is not None:
        panel = panel.draw(config.draw, config.seed)
    return panel


def _with_model_defaults(config: EvalConfig, kind: str) -> EvalConfig:
    """Fills in what a language model's settings leave open, so that the run folder says what was done."""
    agent = config.agent
    if not isinstance(agent, LanguageModelSettings):
        return config
    filled = replace(
        agent,
        prompt=agent.prompt or ("free" if kind == "math" else "chat"),
        max_tokens=agent.max_tokens or MAX_TOKENS[kind],
    )
    if agent.temperature is None:
        filled = replace(filled, temperature=0.0 if config.samples == 1 else _TEMPERATURE_OF_SAMPLES)
    return replace(config, agent=filled)


def _notes(config: EvalConfig) -> tuple[str, ...]:
    agent = config.agent
    if isinstance(agent, LanguageModelSettings) and agent.temperature == 0 and config.samples > 1:
        return (
            "note: at temperature 0 all samples of a task are alike: set agent.temperature, or leave out --samples",
        )
    return ()
