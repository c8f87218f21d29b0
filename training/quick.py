"""The recipe ``quick``: a tiny policy, its warm start, and HölderPO from there, in minutes on two cores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from ..agents.language_model_settings import LanguageModelSettings
from ..envs.errors import ConfigError
from .config import OptimiserSettings, TrainConfig, ValidationSettings
from .method import Method
from .presets import preset
from .reduction import Reduction
from .run import train
from .schedules import Schedule
from .sft import DemonstrationSettings, ImitationOptimiserSettings, SftConfig, warm_start
from .tiny.making import TinySize, make_tiny_policy

_POLICY, _WARM, _TRAINED = "policy", "warm-start", "trained"

# Nothing is validated on the way: the last round's policy is compared, so that no checkpoint was picked by its luck.
_NO_VALIDATION: Final = ValidationSettings(every=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quick:
    """The settings of all steps.

    Attributes:
        size: Size of the policy.
        warm: The warm start.
        train: The training that begins with what the warm start gave.
        held_out: Panel of tasks that neither step has seen, on which the two are compared.
        samples: Times that each of its tasks is played for that.
    """

    size: TinySize
    warm: SftConfig
    train: TrainConfig
    held_out: str
    samples: int


class QuickModels(NamedTuple):
    """What the recipe gives: the model after the warm start, and the one after the last round of training."""

    warm: Path
    trained: Path


def quick_settings(out: Path, env: str = "alfworld", *, seed: int = 0, short: bool = False) -> Quick:
    """The settings of the recipe.

    In alfworld the tasks are to pick an object and place it, in small rooms. In math they are differences of two
    numbers: the warm start imitates answers at once and answers by a scratchpad in equal parts, and what training finds
    out is which of the two to give.

    Args:
        out: Folder in which each step has a folder of its own.
        env: ``alfworld`` or ``math``.
        seed: Seed of all steps.
        short: The short form, which shows that all steps work and little more.

    Raises:
        ConfigError: If there is no recipe for the environment.
    """
    if env == "alfworld":
        settings = _alfworld(out, seed)
        return _shortened(settings, warm_rounds=3) if short else settings
    if env == "math":
        settings = _math(out, seed)
        return _shortened(settings, warm_rounds=12) if short else settings
    raise ConfigError(f"the recipe 'quick' is for alfworld and math, not for {env}: choose one of them by --env")


def _alfworld(out: Path, seed: int) -> Quick:
    agent = LanguageModelSettings(model=str(out / _POLICY), prompt="tiny", max_tokens=4, temperature=1.0)
    rounds = 10
    warm = SftConfig(
        panel="builtin_pick_train",
        max_steps=10,
        agent=agent,
        rounds=4,
        updates=50,
        optimiser=ImitationOptimiserSettings(learning_rate=4e-3, warmup=20),
        validation=_NO_VALIDATION,
        seed=seed,
        in_flight=64,
        out=out / _WARM,
    )
    training = TrainConfig(
        panel=warm.panel,
        max_steps=warm.max_steps,
        agent=agent,
        method=_falling(rounds),
        rounds=rounds,
        groups=64,
        updates=4,
        optimiser=OptimiserSettings(learning_rate=1e-3, warmup=4, decay="linear"),
        validation=_NO_VALIDATION,
        save_every=4,
        seed=seed,
        part_tokens=16384,
        in_flight=64,
        out=out / _TRAINED,
    )
    return Quick(size=_SIZE, warm=warm, train=training, held_out="builtin_pick_valid", samples=4)


def _math(out: Path, seed: int) -> Quick:
    # A scratchpad and its answer are at most 25 tokens.
    agent = LanguageModelSettings(model=str(out / _POLICY), prompt="free", max_tokens=32, temperature=1.0)
    rounds = 10
    warm = SftConfig(
        env="math",
        panel="builtin_difference_train",
        agent=agent,
        demonstrations=DemonstrationSettings(agent="scratchpad", worked=0.5),
        rounds=20,
        updates=50,
        optimiser=ImitationOptimiserSettings(learning_rate=4e-3, warmup=20),
        validation=_NO_VALIDATION,
        seed=seed,
        in_flight=64,
        out=out / _WARM,
    )
    training = TrainConfig(
        env="math",
        panel=warm.panel,
        agent=agent,
        method=_falling(rounds),
        rounds=rounds,
        groups=64,
        updates=4,
        optimiser=OptimiserSettings(learning_rate=3e-4, warmup=4, decay="linear"),
        validation=_NO_VALIDATION,
        save_every=4,
        seed=seed,
        part_tokens=16384,
        in_flight=64,
        out=out / _TRAINED,
    )
    return Quick(size=_SIZE, warm=warm, train=training, held_out="builtin_difference_valid", samples=4)


_SIZE: Final = TinySize(width=96, inner=192)


def _falling(rounds: int) -> Method:
    """HölderPO with p from 1 to -1 over the run; turns are what p is taken over, and each episode has one vote."""
    holderpo = preset("holderpo")
    schedule = Schedule(shape="linear_dec", low=-1.0, high=1.0, rounds=rounds)
    return replace(
        holderpo,
        aggregation=replace(holderpo.aggregation, exponent=schedule, per="turn"),
        reduction=Reduction(over="trajectories"),
    )


def _shortened(settings: Quick, warm_rounds: int) -> Quick:
    rounds = 3
    training = replace(settings.train, method=_falling(rounds), rounds=rounds, groups=8)
    return replace(settings, warm=replace(settings.warm, rounds=warm_rounds), train=training, samples=1)


def run_quick(
    settings: Quick,
    *,
    say: Callable[[str], None] = lambda message: None,
    each_round: Callable[[str, int, dict[str, float]], None] = lambda step, number, metrics: None,
) -> QuickModels:
    """Runs the recipe, and goes on with it where it was interrupted.

    Args:
        settings: Of ``quick_settings``, or changed.
        say: Told in one line what is to be known.
        each_round: Told the step, the round and its metrics.

    Raises:
        HolderGymError: As ``warm_start`` and ``train``.
    """
    warm, training = settings.warm, settings.train
    assert warm.out is not None
    assert training.out is not None
    policy = Path(warm.agent.model)
    # The tokenizer is written last, so a folder with one is whole.
    if not (policy / "tokenizer.json").is_file():
        weights = make_tiny_policy(
            policy, "math" if warm.env == "math" else "alfworld", size=settings.size, seed=warm.seed
        )
        say(f"{policy}: a policy of {weights:,} weights")
    begun = warm_start(
        warm,
        resume=(warm.out / "config.toml").is_file(),
        say=say,
        each_round=lambda number, metrics: each_round(_WARM, number, metrics),
    )
    trained = train(
        replace(training, agent=replace(training.agent, model=str(begun))),
        resume=(training.out / "config.toml").is_file(),
        say=say,
        each_round=lambda number, metrics: each_round(_TRAINED, number, metrics),
    )
    return QuickModels(begun, trained)
