"""Agents by name: what can be set for each, and how it is made."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..envs.errors import ConfigError, UnknownNameError
from .language_model_settings import LanguageModelSettings

if TYPE_CHECKING:
    from ..envs.alfworld.games import Games
    from ..envs.math.problems import Problems
    from .agent import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSettings:
    """Draws among the admissible commands, seeded."""

    name: Literal["random"] = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertSettings:
    """Follows a shortest plan, found by a search with full knowledge of the game."""

    name: Literal["expert"] = "expert"


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkthroughSettings:
    """Gives the commands of the walkthrough in the game file."""

    name: Literal["walkthrough"] = "walkthrough"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """Gives the commands of an earlier run again; set agent.path to the run.

    Attributes:
        path: A run folder, or a file of recordings. Where it is does not matter, so it is no part of what a run is: the
            agent's fingerprint has the digest of what it holds.
    """

    name: Literal["replay"] = "replay"
    path: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleSettings:
    """Gives the gold answer."""

    name: Literal["oracle"] = "oracle"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankSettings:
    """Says nothing."""

    name: Literal["blank"] = "blank"


AgentSettings = (
    RandomSettings
    | ExpertSettings
    | WalkthroughSettings
    | OracleSettings
    | BlankSettings
    | ReplaySettings
    | LanguageModelSettings
)

_ALFWORLD = (RandomSettings, ExpertSettings, WalkthroughSettings, ReplaySettings, LanguageModelSettings)
_MATH = (OracleSettings, BlankSettings, ReplaySettings, LanguageModelSettings)


class AgentEntry(NamedTuple):
    """An agent as lists show it: what it plays, and what it does."""

    name: str
    plays: tuple[str, ...]
    description: str


def agent_entries() -> tuple[AgentEntry, ...]:
    """All agents, by name."""
    plays: dict[type[AgentSettings], list[str]] = {}
    for env, kinds in (("alfworld", _ALFWORLD), ("math", _MATH)):
        for kind in kinds:
            plays.setdefault(kind, []).append(env)
    return tuple(sorted(AgentEntry(_name_of(kind), tuple(envs), _first_line(kind)) for kind, envs in plays.items()))


def _name_of(kind: type[AgentSettings]) -> str:
    name = kind.__dataclass_fields__["name"].default
    assert isinstance(name, str)
    return name


def _first_line(kind: type[AgentSettings]) -> str:
    return (kind.__doc__ or "").strip().partition("\n")[0]


def settings_of(name: str, names: Collection[str]) -> AgentSettings:
    """The default settings of an agent that needs none, by its name.

    Args:
        name: What a user asked for.
        names: The agents that may be asked for here.

    Raises:
        UnknownNameError: If the name is none of them; the message names the nearest.
    """
    by_name: dict[str, type[RandomSettings] | type[ExpertSettings] | type[WalkthroughSettings]] = {
        "random": RandomSettings,
        "expert": ExpertSettings,
        "walkthrough": WalkthroughSettings,
    }
    if name not in names or name not in by_name:
        raise UnknownNameError("agent", name, names)
    return by_name[name]()


def make_alfworld_agent(settings: AgentSettings, games: "Games") -> "Agent":
    """Makes the agent that the settings name, for ALFWorld.

    Args:
        settings: Settings of one agent.
        games: The games to be played; some scripted agents look into them.

    Raises:
        HolderGymError: If it does not play ALFWorld, or something that it needs cannot be loaded.
    """
    from .replay import ReplayAgent
    from .scripted import ExpertAgent, RandomAgent, WalkthroughAgent

    match settings:
        case RandomSettings():
            return RandomAgent()
        case ExpertSettings():
            return ExpertAgent(games)
        case WalkthroughSettings():
            return WalkthroughAgent(games)
        case ReplaySettings():
            return ReplayAgent(_recording(settings))
        case LanguageModelSettings():
            from .making import make_language_model

            return make_language_model(settings, "alfworld")
    raise _wrong_agent(settings, "alfworld", _ALFWORLD)


def make_math_agent(settings: AgentSettings, problems: "Problems") -> "Agent":
    """Makes the agent that the settings name, for mathematics.

    Args:
        settings: Settings of one agent.
        problems: The problems to be posed; the oracle looks up their answers.

    Raises:
        HolderGymError: If it does not play mathematics, or something that it needs cannot be loaded.
    """
    from .answers import BlankAgent, OracleAgent
    from .replay import ReplayAgent

    match settings:
        case OracleSettings():
            return OracleAgent(problems)
        case BlankSettings():
            return BlankAgent()
        case ReplaySettings():
            return ReplayAgent(_recording(settings))
        case LanguageModelSettings():
            from .making import make_language_model

            return make_language_model(settings, "math")
    raise _wrong_agent(settings, "mathematics", _MATH)


def _recording(settings: ReplaySettings) -> Path:
    if settings.path is None:
        raise ConfigError("the setting 'agent.path' is missing: give --set agent.path=RUN, an earlier run to repeat")
    return settings.path


def _wrong_agent(settings: AgentSettings, env: str, kinds: Sequence[type[AgentSettings]]) -> ConfigError:
    names = sorted(_name_of(kind) for kind in kinds)
    return ConfigError(
        f"agent {settings.name!r} does not play {env}: choose --agent {', '.join(names[:-1])} or {names[-1]}"
    )
