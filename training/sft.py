"""The warm start: a policy learns to say what another agent would say, before it learns from what comes of it."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import torch
from pydantic import Field

from ..agents.agent import Agent
from ..agents.checkpoints import absolute_name
from ..agents.language_model_settings import LanguageModelSettings
from ..agents.making import make_composer
from ..agents.sequences import TokenSequence
from ..envs.errors import ConfigError
from ..envs.settings import as_toml
from .config import (
    CIRCUMSTANCES,
    LoraSettings,
    OptimiserSettings,
    Positive,
    TrainConfig,
    ValidationSettings,
    circumstances_of,
)
from .demonstrations import DemonstratingAgent, Demonstrations, demonstrate
from .optimiser import Optimiser
from .playground import Playground
from .policy import Policy
from .presets import preset
from .processes import ALONE, Processes
from .run import Round, run_rounds
from .scoring import Scorer, cut
from .trackers import TrackerName
from .trainer import EachEpisode, Progress, RoundReport, Trainer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Expert = Literal["searching", "expert", "oracle", "scratchpad"]

_WORKED: Final = 0.5
_DETOURS: Final = 0.15

# Who demonstrates in each kind of environment; the first one by default.
_EXPERTS: Final = {"alfworld": ("searching", "expert"), "math": ("oracle", "scratchpad")}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemonstrationSettings:
    """What is imitated.

    Attributes:
        agent: In ALFWorld ``searching`` (by default), which finds its way by what it sees, or ``expert``, which knows
            the game; in mathematics ``oracle`` (by default), which knows the answers, or ``scratchpad``, which works
            differences and sums of two numbers out.
        samples: Episodes of each task.
        worked: Share of answers with a scratchpad before them, for ``scratchpad`` alone; None takes 0.5.
        detours: Share of commands that are given at random and not imitated, so that what is learned is also how to go
            on from there. For ``searching`` alone; None takes 0.15.
    """

    agent: Expert | None = None
    samples: Positive = 1
    worked: Annotated[float, Field(ge=0, le=1)] | None = None
    detours: Annotated[float, Field(ge=0, lt=1)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImitationOptimiserSettings(OptimiserSettings):
    """AdamW, with a rate for what is imitated; see ``OptimiserSettings``."""

    learning_rate: Annotated[float, Field(gt=0)] = 1e-5
    decay: Literal["constant", "linear", "cosine"] = "cosine"


@dataclass(frozen=True, slots=True, kw_only=True)
class SftConfig:
    """The settings of a warm start.

    A round is ``updates`` optimiser steps, each on ``step_tokens`` tokens of demonstrations.

    Attributes:
        env, panel, task_type, max_steps, agent, lora, gradient_checkpointing, optimiser, validation, save_every,
        keep_last, seed, part_tokens, in_flight, log_to, data, out: As in ``TrainConfig``.
        demonstrations: What is imitated.
        rounds: Number of rounds.
        updates: Optimiser steps a round.
        step_tokens: Tokens of an optimiser step, prompts included; the last sequence may exceed it.
    """

    env: Literal["alfworld", "math", "math_retry"] = "alfworld"
    panel: str | None = None
    task_type: str | None = None
    max_steps: Positive | None = None
    agent: LanguageModelSettings
    demonstrations: DemonstrationSettings = field(default_factory=DemonstrationSettings)
    rounds: Positive = 10
    updates: Positive = 50
    step_tokens: Positive = 1024
    optimiser: ImitationOptimiserSettings = field(default_factory=ImitationOptimiserSettings)
    lora: LoraSettings | None = None
    gradient_checkpointing: bool = False
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    save_every: Positive = 5
    keep_last: Positive = 2
    seed: Annotated[int, Field(ge=0)] = 0
    part_tokens: Positive = 8192
    in_flight: Annotated[int, Field(ge=1, le=1024)] = 32
    log_to: tuple[TrackerName, ...] = ()
    data: Path | None = None
    out: Path | None = None

    def to_toml(self) -> str:
        """The text of ``config.toml``: every setting that can change a number, resolved."""
        return as_toml(self, leave_out=CIRCUMSTANCES)

    def circumstances(self) -> str:
        """The text of ``circumstances.toml``: what changes no number, but for the folder itself."""
        return circumstances_of(self, [one.name for one in fields(self)])

    def playing(self) -> TrainConfig:
        """The same policy and environment, as those who play and validate want them. Its method is never used."""
        shared = ("env", "panel", "task_type", "max_steps", "lora", "gradient_checkpointing", "optimiser", "validation")
        more = ("rounds", "updates", "save_every", "keep_last", "seed", "part_tokens", "in_flight", "data", "out")
        values = {name: getattr(self, name) for name in (*shared, *more)}
        agent = replace(self.agent, temperature=1.0)
        return TrainConfig(agent=agent, method=preset("holderpo-static"), groups=max(16, self.updates), **values)


def warm_start(
    config: SftConfig,
    *,
    resume: bool = False,
    say: Callable[[str], None] = lambda message: None,
    each_round: Callable[[int, dict[str, float]], None] = lambda number, metrics: None,
    each_episode: EachEpisode = lambda ended, episodes: None,
    processes: Processes = ALONE,
) -> Path:
    """Trains a policy on demonstrations, and returns the model of the best round, or of the last.

    The loss is the mean over the tokens of the imitated responses of -log p; prompts and detours are not learned.

    Args:
        config: The settings; ``config.out`` is the folder of the run.
        resume: Whether to go on with an interrupted run.
        say: Told in one line what is to be known.
        each_round: Told the metrics of each round as it ends.
        each_episode: As in ``train``; only validations are told of.
        processes: Who shares the demonstrations, the gradient and the validation.

    Raises:
        HolderGymError: If something cannot be loaded or written, or no demonstration was won.
    """
    data = None if config.data is None else config.data.absolute()
    config = replace(config, agent=replace(config.agent, model=absolute_name(config.agent.model)), data=data)
    playing = config.playing()

    def prepare(policy: Policy, optimiser: Optimiser, trainer: Trainer, progress: Progress) -> Round:
        shown = show(config, trainer.playground, policy.tokenizer, processes)
        why = f" (of the others: {shown.reason})" if shown.reason else ""
        say(f"{shown.won} of {shown.episodes} demonstrations were won: {len(shown.sequences):,} sequences{why}")
        batches = islice(batches_of(shown.sequences, config.step_tokens, config.seed), progress.update, None)

        def imitate(done: Progress) -> RoundReport:
            metrics, seconds = _round(batches, config, policy, optimiser, done.update, processes)
            policy.weights_changed(done.update + config.updates)
            return RoundReport(Progress(done.round + 1, done.update + config.updates), metrics, seconds)

        return imitate

    return run_rounds(
        config,
        playing,
        prepare,
        validate_first=False,
        resume=resume,
        say=say,
        each_round=each_round,
        each_episode=each_episode,
        processes=processes,
    )


def show(
    config: SftConfig,
    playground: Playground,
    tokenizer: "PreTrainedTokenizerBase",
    processes: Processes = ALONE,
) -> Demonstrations:
    """Plays the demonstrations, with the prompts that the policy will read; processes share the episodes.

    Raises:
        ConfigError: If the agent does not play this environment.
        DemonstrationError: If no episode was won.
    """
    told = config.demonstrations
    maker = make_composer(config.agent, playground.kind, tokenizer)
    agent, is_detour = _expert(config, playground.kind)
    jobs = [(task, sample) for sample in range(told.samples) for task in playground.train.tasks]
    demonstrating = DemonstratingAgent(agent, maker, tokenizer)
    with closing(playground.make_train()) as env:
        return demonstrate(jobs, demonstrating, env, config.seed, is_detour, processes)


def _expert(config: SftConfig, kind: str) -> tuple[Agent, Callable[[int, int], bool]]:
    """The agent that is imitated, and which of its turns are not."""
    told = config.demonstrations
    name = told.agent or _EXPERTS[kind][0]
    builtin = (config.panel or "builtin_train").startswith("builtin_")
    data = None if builtin or config.data is None else str(config.data)
    if name not in _EXPERTS[kind]:
        raise ConfigError(
            f"demonstrations.agent {name!r} does not play {config.env}: take {' or '.join(_EXPERTS[kind])}"
        )
    for setting, owner in (("worked", "scratchpad"), ("detours", "searching")):
        if name != owner and getattr(told, setting) is not None:
            raise ConfigError(f"demonstrations.{setting} is for the agent {owner!r}, not for {name!r}: leave it out")
    if name == "scratchpad":
        from ..agents.scratchpad import ScratchpadAgent

        return ScratchpadAgent(_WORKED if told.worked is None else told.worked), _never
    if name == "oracle":
        from ..agents.answers import OracleAgent
        from ..envs.math.problems import open_problems

        return OracleAgent(open_problems(config.panel or "builtin_train", data)), _never
    if name == "expert":
        from ..agents.scripted import ExpertAgent
        from ..envs.alfworld.games import open_games

        return ExpertAgent(open_games(config.panel or "builtin_train", data)), _never
    from ..agents.searching import DetouringAgent, SearchingAgent

    detouring = DetouringAgent(SearchingAgent(), _DETOURS if told.detours is None else told.detours)
    return detouring, detouring.is_detour


def _never(seed: int, turn: int) -> bool:
    return False


def batches_of(sequences: Sequence[TokenSequence], size: int, seed: int) -> Iterator[list[TokenSequence]]:
    """Endless batches of at least ``size`` tokens; all sequences come once before one comes again, in another order."""
    batch: list[TokenSequence] = []
    tokens = epoch = 0
    while True:
        order = list(range(len(sequences)))
        random.Random(f"order of demonstrations, seed {seed}, epoch {epoch}").shuffle(order)
        for number in order:
            batch.append(sequences[number])
            tokens += len(sequences[number].ids)
            if tokens >= size:
                yield batch
                batch, tokens = [], 0
        epoch += 1


def _round(
    batches: Iterator[list[TokenSequence]],
    config: SftConfig,
    policy: Policy,
    optimiser: Optimiser,
    done: int,
    processes: Processes,
) -> tuple[dict[str, float], dict[str, float]]:
    """The optimiser steps of one round."""
    began = time.perf_counter()
    losses, norms, tokens = [], [], 0
    for update in range(done + 1, done + config.updates + 1):
        batch = next(batches)
        tokens += sum(len(one.ids) for one in batch)
        losses.append(backward(batch, policy.scorer, config.part_tokens, processes))
        processes.sum_gradients(policy.trained)
        norms.append(optimiser.gradient_norm())
        optimiser.step(update)
    processes.require_alike(policy.trained)
    seconds = time.perf_counter() - began
    metrics = {
        "loss": sum(losses) / len(losses),
        "gradient_norm": sum(norms) / len(norms),
        "learning_rate": optimiser.rate,
        "trained_tokens_per_s": tokens / seconds,
    }
    return metrics, {"update": seconds}


def backward(batch: Sequence[TokenSequence], scorer: Scorer, budget: int, processes: Processes = ALONE) -> float:
    """Adds the gradient of the loss of a batch to that of the policy, whatever parts it is cut into.

    Args:
        batch: Sequences.
        scorer: Scores tokens by the policy.
        budget: Most tokens in the model at once, padding included.
        processes: Who shares the work; gradients are those of this process's share, and not added up.

    Returns:
        The mean over all imitated tokens of -log p.
    """
    imitated = sum(sum(one.lengths) for one in batch)
    total = 0.0
    mine = processes.deal([len(one.ids) for one in batch], range(len(batch)))
    for part in cut(batch, budget, only=mine):
        policy = scorer.part([batch[number] for number in part.numbers], entropy=False)
        loss = -policy.logp_T.sum() / imitated
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    return float(processes.sum(torch.tensor(total, dtype=torch.float64)))
