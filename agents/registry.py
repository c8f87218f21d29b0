"""Agents by name: what can be set for each, and how it is made."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..envs.errors import UnknownNameError
from .language_model_settings import LanguageModelSettings

if TYPE_CHECKING:
    from ..envs.alfworld.games import Games
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
    """Gives the commands of an earlier run again; set agent.path to its episodes.jsonl."""

    name: Literal["replay"] = "replay"
    path: Path


AgentSettings = RandomSettings | ExpertSettings | WalkthroughSettings | ReplaySettings | LanguageModelSettings

_KINDS = (RandomSettings, ExpertSettings, WalkthroughSettings, ReplaySettings, LanguageModelSettings)


class AgentEntry(NamedTuple):
    """An agent as lists show it."""

    name: str
    description: str


def agent_entries() -> tuple[AgentEntry, ...]:
    """All agents that ``make_agent`` makes, by name."""
    return tuple(sorted(AgentEntry(_name_of(kind), _first_line(kind)) for kind in _KINDS))


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


def make_agent(settings: AgentSettings, games: "Games") -> "Agent":
    """Makes the agent that the settings name.

    Args:
        settings: Settings of one agent.
        games: The games to be played; some scripted agents look into them.

    Raises:
        HolderGymError: If a file that the agent needs cannot be read.
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
        case ReplaySettings(path=path):
            return ReplayAgent(path)
        case LanguageModelSettings():
            from .making import make_language_model

            return make_language_model(settings, "alfworld")
