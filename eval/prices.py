"""What tokens cost, by model, from a TOML file."""

from collections.abc import Mapping
from pathlib import Path

from ..agents.language_model_settings import LanguageModelSettings
from ..agents.usage import Prices
from ..envs.errors import ConfigError
from ..envs.settings import Layer, file_layer, resolve
from .run import Run


def read_prices(path: Path) -> Mapping[str, Prices]:
    """Reads a table of prices: a group for each model, with ``prompt``, ``generated`` and perhaps ``cached``.

    Raises:
        ConfigError: If the file cannot be read or a price is not a number from 0.
    """
    prices = {}
    for model, group in file_layer(path).values.items():
        if not isinstance(group, Mapping):
            raise ConfigError(
                f"{path}: {model!r} is not a group of prices: write ['model name'] and prompt = 0.15 below"
            )
        prices[model] = resolve(Prices, [Layer(f"{path}, group {model!r}", group)])
    return prices


def prices_of(run: Run, prices: Mapping[str, Prices] | None = None) -> Prices | None:
    """What a million tokens of a run's model cost, or None where nobody says so.

    Args:
        run: The run.
        prices: Prices by model, which go before those in the settings of the run's agent.
    """
    agent = run.config.agent
    if not isinstance(agent, LanguageModelSettings):
        return None
    return (prices or {}).get(agent.model, agent.prices)


def model_of(run: Run) -> str | None:
    """The model that played, as its setting names it, or None for another agent."""
    agent = run.config.agent
    return agent.model if isinstance(agent, LanguageModelSettings) else None
