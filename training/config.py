"""What a training run is: a typed record, read from presets, TOML files, options and dotted overrides."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..agents.language_model_settings import LanguageModelSettings
from ..envs.errors import ConfigError
from ..envs.settings import as_toml, digest
from .experience import RewardSettings
from .gigpo import GiGPOAdvantage
from .method import Method
from .trackers import TrackerName
from .variants.importance import TruncatedImportance
from .variants.s2l import ExplorerMix

Positive = Annotated[int, Field(ge=1)]

# They change no number, so they are no part of the config's hash and may change when a run is resumed.
CIRCUMSTANCES = ("data", "out", "part_tokens", "keep_last", "log_to", "shard")
# Neither do these. They stand in config.toml, as a run cannot go on without them, but another machine has others.
PLACES = (
    "explorer_samples",
    *(
        f"{model}.backend.{key}"
        for model in ("agent", "explorer", "partner")
        for key in ("python", "environment", "start_s")
    ),
)


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
        panel: Name of the panel; None takes the ``_valid`` one beside a built-in ``_train`` panel, else
            ``builtin_valid``.
        limit: Play only so many tasks, spread evenly; None for all.
        every: Rounds between two validations; 0 for none.
    """

    panel: str | None = None
    limit: Positive | None = None
    every: Annotated[int, Field(ge=0)] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """The settings of a training run.

    A round is: ``groups`` tasks are drawn, each is played ``group_size`` times by the policy, and ``updates`` optimiser
    steps follow, each on its share of the episodes, in each of ``epochs`` passes over them.

    Attributes:
        env: Environment.
        panel: Panel whose tasks are drawn; None takes ``builtin_train``.
        task_type: Draw only tasks of this type.
        max_steps: Actions of an episode; None takes 50 in alfworld, 3 attempts in math_retry, and 1 in math.
        agent: The policy: its checkpoint, prompt and sampling. ``agent.temperature`` is 1 by default.
        method: The training method, stage by stage.
        explorer: The small frozen model of S2L-PO: set explorer.model. It reads and is read as the policy is, and may
            have its own temperature, top_p and top_k.
        explorer_samples: Its episodes from a file (``tokens.npz`` of an evaluation on the same panel), in place of
            letting it play.
        partner: The large model of CoDistill-GRPO, which learns from the policy's episodes: set partner.model.
        rewards: What an episode is worth.
        rounds: Number of rounds.
        groups: Tasks a round.
        group_size: Episodes a task.
        updates: Optimiser steps of a pass over a round's episodes: mini-batches.
        epochs: Passes over a round's episodes (PPO epochs), each with its mini-batches drawn anew.
        optimiser: AdamW.
        lora: Adapters; None trains all weights.
        gradient_checkpointing: Whether the forward pass is computed again in the backward pass, to save memory.
        validation: What is played between rounds.
        save_every: Rounds between two checkpoints; the last round always has one.
        keep_last: Checkpoints that are kept besides the best.
        seed: Seed of the run: of the draw of tasks and of all sampling.
        part_tokens: Most tokens in the model at once, padding included. It changes memory and speed, not the gradient.
        in_flight: Most episodes at once, in each process; one that plays for all has as many as all together.
        shard: Whether several processes spread the policy's layers, gradients and optimiser states among themselves
            (FSDP2); with one process it changes nothing.
        log_to: Services that get the numbers of each round, besides metrics.jsonl.
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
    explorer: LanguageModelSettings | None = None
    explorer_samples: Path | None = None
    partner: LanguageModelSettings | None = None
    rewards: RewardSettings = field(default_factory=RewardSettings)
    rounds: Positive = 100
    groups: Positive = 16
    group_size: Positive = 8
    updates: Positive = 1
    epochs: Positive = 1
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    lora: LoraSettings | None = None
    gradient_checkpointing: bool = False
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    save_every: Positive = 10
    keep_last: Positive = 2
    seed: Annotated[int, Field(ge=0)] = 0
    part_tokens: Positive = 8192
    in_flight: Annotated[int, Field(ge=1, le=1024)] = 32
    shard: bool = False
    log_to: tuple[TrackerName, ...] = ()
    data: Path | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        if self.method.least_of_group > self.group_size:
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
        if self.shard and self.lora is not None:
            raise ConfigError("shard is not tried with lora: leave it out, or lora; adapters have little to spread")
        if self.env == "math" and self.max_steps not in (None, 1):
            raise ConfigError("math has one answer an episode: leave out max_steps, or take env math_retry")
        self._check_other_models()

    def _check_other_models(self) -> None:
        """Whether the models are there that the method asks for, and no others."""
        method = self.method
        if method.needs_explorer and self.explorer is None:
            raise ConfigError(
                "the method lets a small frozen model explore (S2L-PO), and none is named: set explorer.model"
            )
        if not isinstance(method.source, ExplorerMix) and (self.explorer or self.explorer_samples) is not None:
            raise ConfigError(
                "an explorer is named, but the method lets none play: leave explorer out, or add s2l-po to the method"
            )
        if method.partner is not None and self.partner is None:
            raise ConfigError("the method trains a second model (CoDistill-GRPO), and none is named: set partner.model")
        if method.partner is None and self.partner is not None:
            raise ConfigError(
                "a partner is named, but the method trains one model: leave partner out, or add codistill to the method"
            )
        for name, other, own in (("explorer", self.explorer, _OF_EXPLORER), ("partner", self.partner, _OF_PARTNER)):
            if other is not None:
                _check_as_policy(name, other, self.agent, own)
        if self.explorer_samples is not None and isinstance(method.advantage, GiGPOAdvantage):
            raise ConfigError(
                "gigpo compares turns with the same observation, and a file of tokens holds none: leave "
                "explorer_samples out and let the explorer play"
            )
        if self.explorer is not None and self.explorer.temperature == 0:
            raise ConfigError("explorer.temperature is 0: all its episodes of a group would be alike")
        weighed = any(isinstance(stage, TruncatedImportance) for stage in method.token_weights)
        if weighed and self.explorer is not None and explorer_temperature(self) != 1:
            raise ConfigError(
                "the weight truncated_importance reads the log-probabilities of the explorer, which are those at "
                "temperature 1: set explorer.temperature and agent.temperature to 1"
            )
        if weighed and self.explorer is not None and (self.explorer.top_p != 1 or self.explorer.top_k != 0):
            raise ConfigError(
                "the weight truncated_importance reads the log-probabilities of the explorer, which are those of its "
                "whole distribution: leave explorer.top_p and explorer.top_k out"
            )

    @property
    def steps_a_round(self) -> int:
        """Optimiser steps of a round."""
        return self.updates * self.epochs

    def to_toml(self) -> str:
        """The text of ``config.toml``: every setting that can change a number, resolved."""
        return as_toml(self, leave_out=CIRCUMSTANCES)

    def circumstances(self) -> str:
        """The text of ``circumstances.toml``: what changes no number, but for the folder itself."""
        return circumstances_of(self, [one.name for one in fields(self)])

    @property
    def sha256(self) -> str:
        """Hash of ``to_toml``."""
        return digest(self.to_toml())


def circumstances_of(config: object, names: Sequence[str]) -> str:
    """The settings of a run, of these names, that change no number."""
    return as_toml(config, leave_out=[*(set(names) - set(CIRCUMSTANCES)), "out"])


# What a second model may have of its own; everything else it shares with the policy.
_OF_PARTNER = ("name", "model", "revision", "backend")
_OF_EXPLORER = (*_OF_PARTNER, "temperature", "top_p", "top_k")


def explorer_temperature(config: TrainConfig) -> float:
    """The temperature at which the explorer plays: its own, or the policy's."""
    own = None if config.explorer is None else config.explorer.temperature
    return own or config.agent.temperature or 1.0


def as_policy(other: LanguageModelSettings, policy: LanguageModelSettings) -> LanguageModelSettings:
    """The policy's settings with the model and the back end of another one."""
    return replace(policy, model=other.model, revision=other.revision, backend=other.backend)


def _check_as_policy(
    name: str, other: LanguageModelSettings, policy: LanguageModelSettings, own: tuple[str, ...]
) -> None:
    """Refuses settings of a second model that would make it read or be read otherwise than the policy."""
    plain = LanguageModelSettings(model=other.model)
    for field_ in fields(LanguageModelSettings):
        value = getattr(other, field_.name)
        if field_.name in own or value in (getattr(plain, field_.name), getattr(policy, field_.name)):
            continue
        raise ConfigError(
            f"{name}.{field_.name} is {value!r}, but the {name} reads and is read as the policy is: leave it out, or "
            f"set agent.{field_.name}"
        )
