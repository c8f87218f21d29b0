"""What an evaluation is: a typed record, read from TOML files, options and dotted overrides."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..agents import language_model_settings
from ..agents.registry import AgentSettings, RandomSettings
from ..envs.alfworld.stock import StockLimits
from ..envs.settings import as_toml, digest

# Settings that say where a run happens. They cannot change a number, so they are recorded in the manifest, are
# no part of the config's hash, and may change when a run is resumed, for example on another machine.
CIRCUMSTANCES = (
    "data",
    "out",
    "workers",
    "grading.workers",
    "agent.path",
    "engine_limits",
    *(f"agent.{key}" for key in language_model_settings.CIRCUMSTANCES),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingSettings:
    r"""How answers to mathematics problems are graded.

    Attributes:
        policy: Where an answer may stand: ``boxed``, the last balanced \boxed{}; or ``final``, also a stated one.
        timeout_s: Seconds for one verdict; an episode without a verdict by then ends as ``timeout``.
        cut: What a response counts as that its token limit has cut: ``graded`` grades what there is, as most papers do;
            ``not_won`` never counts it as won.
        rules: Version of the rules that say what counts as equal. It is filled in and recorded; where it is given and
            this version of holdergym has others, the run is refused.
        check_golds: Whether all golds are graded against themselves before the run, which a bad one stops.
        workers: Processes that grade.
    """

    policy: Literal["boxed", "final"] = "boxed"
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 5.0
    cut: Literal["graded", "not_won"] = "graded"
    rules: int | None = None
    check_golds: bool = True
    workers: Annotated[int, Field(ge=1, le=64)] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig:
    """The settings of an evaluation.

    Attributes:
        env: Environment to play: ``alfworld``, ``math`` (one answer), ``math_retry`` (several attempts), or
            ``math_python`` (may run programs before it answers).
        protocol: Name of a preset whose settings these are; see ``holdergym.eval.protocols``. None finds the one that
            these settings are, if any.
        panel: Name of the panel; None takes the only one of ``data``, or ``builtin_valid`` without data.
        task_type: Keep only the tasks of this type.
        limit: Keep only this many tasks, spread evenly over the panel.
        draw: Draw this many times among the tasks instead of playing each, so that some are played several times and
            some not at all. It is what many papers report; it measures less than playing each task once.
        engine: ``native`` or ``textworld`` (the stock one, hundreds of times slower); alfworld only.
        engine_limits: Time-outs and memory of the stock engine; engine textworld only. An episode that meets one ends
            as ``timeout`` or ``error``, which no rate counts.
        max_steps: Actions after which an episode ends as ``limit``. None takes 50 in alfworld and 5 in math_python;
            in math_retry it is the number of attempts, 3 by default. math has one.
        samples: Number of times that each task is played.
        seed: Seed of the run; the seed of each episode derives from it, the task id and the sample.
        agent: Who plays, with its own settings.
        grading: How answers are graded; mathematics only.
        data: Folder or packed file with the games, or folder or file with the problems; None takes what ALFWORLD_DATA
            or HOLDERGYM_MATH_DATA names.
        out: Run folder to write.
        workers: Number of environments played at once; None takes 16 for a language model and else 1. More pay off
            where the environment or the agent is slow: with ``textworld`` and with language models.
    """

    env: Literal["alfworld", "math", "math_retry", "math_python"] = "alfworld"
    protocol: str | None = None
    panel: str | None = None
    task_type: str | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    draw: Annotated[int, Field(ge=1, le=100_000)] | None = None
    engine: Literal["native", "textworld"] | None = None
    engine_limits: StockLimits | None = None
    max_steps: Annotated[int, Field(ge=1)] | None = None
    samples: Annotated[int, Field(ge=1, le=10_000)] = 1
    seed: Annotated[int, Field(ge=0)] = 0
    agent: Annotated[AgentSettings, Field(discriminator="name")] = field(default_factory=RandomSettings)
    grading: GradingSettings | None = None
    data: Path | None = None
    out: Path | None = None
    workers: Annotated[int, Field(ge=1, le=256)] | None = None

    def to_toml(self) -> str:
        """The text of ``config.toml``: every setting that can change a number, resolved."""
        return as_toml(self, leave_out=CIRCUMSTANCES)

    def circumstances(self) -> dict[str, str | int | float]:
        """The circumstances by their dotted keys, without the places of files and the number of environments."""
        found: dict[str, str | int | float] = {}
        for key in CIRCUMSTANCES:
            value: object = self
            for name in key.split("."):
                value = getattr(value, name, None)
            if isinstance(value, str | int | float) and key != "workers":
                found[key] = value
        return found

    @property
    def sha256(self) -> str:
        """Hash of ``to_toml``: equal for runs that differ at most in their circumstances."""
        return digest(self.to_toml())
