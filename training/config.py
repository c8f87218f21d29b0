"""What a training run is: a typed record, read from presets, TOML files, options and dotted overrides."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..agents.language_model_settings import LanguageModelSettings
from ..envs.errors import ConfigError
from ..envs.settings import as_toml, digest
from .advantages import GroupAdvantage
from .experience import RewardSettings
from .method import Method

Positive = Annotated[int, Field(ge=1)]

# They change no number, so they are no part of the config's hash and may change when a run is resumed.
CIRCUMSTANCES = ("data", "out", "part_tokens", "keep_last")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSettings:
    """Low-rank adapters (arXiv 2106.09685) in place of training all weights.

    Attributes:
        rank: Rank of each adapter.
        alpha: The adapter's output is multiplied by alpha / rank.
        targets: Which layers; ``all`` linear layers but the output layer, or ``attention``.
    """

    rank: Positive = 16
    alpha: Positive = 32
    targets: Literal["all", "attention"] = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserSettings:
    """AdamW and how its rate moves.

    Attributes:
        learning_rate: The rate after the warm-up.
        warmup: Optimiser steps over which the rate rises evenly from 0.
        decay: How the rate falls over the steps after the warm-up, to 0 at the end of the run.
        beta1, beta2, epsilon, weight_decay: As in AdamW (arXiv 1711.05101).
        max_norm: The gradient is scaled down to this norm.
    """

    learning_rate: Annotated[float, Field(gt=0)] = 1e-6
    warmup: Annotated[int, Field(ge=0)] = 0
    decay: Literal["constant", "linear", "cosine"] = "constant"
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.95
    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    max_norm: Annotated[float, Field(gt=0)] = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSettings:
    """What the policy plays between rounds, greedily; the best checkpoint is the one with the most successes there.

    Attributes:
        panel: Name of the panel.
        limit: Play only so many tasks, spread evenly; None for all.
        every: Rounds between two validations; 0 for none.
    """

    panel: str = "builtin_valid"
    limit: Positive | None = None
    every: Annotated[int, Field(ge=0)] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """The settings of a training run.

    A round is: ``groups`` tasks are drawn, each is played ``group_size`` times by the policy, and ``updates`` optimiser
    steps follow, each on its share of the episodes.

    Attributes:
        env: Environment.
        panel: Panel whose tasks are drawn; None takes ``builtin_train``.
        task_type: Draw only tasks of this type.
        max_steps: Actions of an episode; None takes 50 in alfworld, 3 attempts in math_retry, and 1 in math.
        agent: The policy: its checkpoint, prompt and sampling. ``agent.temperature`` is 1 by default.
        method: The training method, stage by stage.
        rewards: What an episode is worth.
        rounds: Number of rounds.
        groups: Tasks a round.
        group_size: Episodes a task.
        updates: Optimiser steps a round.
        optimiser: AdamW.
        lora: Adapters; None trains all weights.
        gradient_checkpointing: Whether the forward pass is computed again in the backward pass, to save memory.
        validation: What is played between rounds.
        save_every: Rounds between two checkpoints; the last round always has one.
        keep_last: Checkpoints that are kept besides the best.
        seed: Seed of the run: of the draw of tasks and of all sampling.
        part_tokens: Most tokens in the model at once, padding included. It changes memory and speed, not the gradient.
        in_flight: Most episodes at once.
        data: As for evaluations.
        out: Folder of the run.

    Raises:
        ConfigError: If settings contradict each other.
    """

    env: Literal["alfworld", "math", "math_retry"] = "alfworld"
    panel: str | None = None
    task_type: str | None = None
    max_steps: Positive | None = None
    agent: LanguageModelSettings
    method: Method
    rewards: RewardSettings = field(default_factory=RewardSettings)
    rounds: Positive = 100
    groups: Positive = 16
    group_size: Positive = 8
    updates: Positive = 1
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    lora: LoraSettings | None = None
    gradient_checkpointing: bool = False
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    save_every: Positive = 10
    keep_last: Positive = 2
    seed: Annotated[int, Field(ge=0)] = 0
    part_tokens: Positive = 8192
    in_flight: Annotated[int, Field(ge=1, le=1024)] = 32
    data: Path | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        if isinstance(self.method.advantage, GroupAdvantage) and self.group_size == 1:
            raise ConfigError(
                "group_size is 1, so no episode has another one to be compared with and every advantage is 0: take 2 "
                "or more, or a method without groups such as reinforce++"
            )
        if self.updates > self.groups * self.group_size:
            raise ConfigError(
                f"updates is {self.updates}, but a round has only {self.groups} x {self.group_size} episodes to share "
                "among them"
            )
        if self.agent.temperature == 0:
            raise ConfigError("agent.temperature is 0: all episodes of a group would be alike; 1 is usual")
        if self.agent.top_p != 1 or self.agent.top_k != 0:
            raise ConfigError(
                "agent.top_p and agent.top_k cut the distribution that is sampled, but not the one that is trained: "
                "leave them out"
            )
        if self.method.aggregation.denominator == "behaviour" and self.agent.temperature not in (None, 1):
            raise ConfigError(
                "method.aggregation.denominator is 'behaviour', but the sampler's log-probabilities are those at "
                "temperature 1: leave agent.temperature at 1"
            )
        if self.agent.snap:
            raise ConfigError("agent.snap would reward commands that the policy did not give: leave it out")
        if self.env == "math" and self.max_steps not in (None, 1):
            raise ConfigError("math has one answer an episode: leave out max_steps, or take env math_retry")

    def to_toml(self) -> str:
        """The text of ``config.toml``: every setting that can change a number, resolved."""
        return as_toml(self, leave_out=CIRCUMSTANCES)

    @property
    def sha256(self) -> str:
        """Hash of ``to_toml``."""
        return digest(self.to_toml())
