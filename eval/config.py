"""What an evaluation is: a typed record, read from TOML files, options and dotted overrides."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..agents import language_model_settings
from ..agents.registry import AgentSettings, RandomSettings
from ..envs.settings import as_toml, digest

# Settings that say where a run happens. They cannot change a number, so they are recorded in the manifest, are
# no part of the config's hash, and may change when a run is resumed, for example on another machine.
CIRCUMSTANCES = ("data", "out", "workers", *(f"agent.{key}" for key in language_model_settings.CIRCUMSTANCES))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig:
    """The settings of an evaluation.

    Attributes:
        env: Environment to play.
        panel: Name of the panel; None takes the only one of ``data``, or ``builtin_valid`` without data.
        task_type: Keep only the tasks of this type.
        limit: Keep only this many tasks, spread evenly over the panel.
        engine: ``native`` or ``textworld`` (the stock one, hundreds of times slower).
        max_steps: Commands after which an episode ends as ``limit``.
        samples: Number of times that each task is played.
        seed: Seed of the run; the seed of each episode derives from it, the task id and the sample.
        agent: Who plays, with its own settings.
        data: Folder or packed file with the games; None takes ALFWORLD_DATA.
        out: Run folder to write.
        workers: Number of environments played at once; None takes 16 for a language model and else 1. More pay off
            where the environment or the agent is slow: with ``textworld`` and with language models.
    """

    env: Literal["alfworld"] = "alfworld"
    panel: str | None = None
    task_type: str | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    engine: Literal["native", "textworld"] = "native"
    max_steps: Annotated[int, Field(ge=1)] = 50
    samples: Annotated[int, Field(ge=1, le=10_000)] = 1
    seed: Annotated[int, Field(ge=0)] = 0
    agent: Annotated[AgentSettings, Field(discriminator="name")] = field(default_factory=RandomSettings)
    data: Path | None = None
    out: Path | None = None
    workers: Annotated[int, Field(ge=1, le=256)] | None = None

    def to_toml(self) -> str:
        """The text of ``config.toml``: every setting that can change a number, resolved."""
        return as_toml(self, leave_out=CIRCUMSTANCES)

    @property
    def sha256(self) -> str:
        """Hash of ``to_toml``: equal for runs that differ at most in their circumstances."""
        return digest(self.to_toml())
