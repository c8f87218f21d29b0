"""The models of a run: those that learn, and a frozen one that explores for them."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import NamedTuple

from ..agents.backends.settings import VllmServerSettings, VllmSettings
from ..agents.language_model_settings import LanguageModelSettings
from ..envs.errors import ConfigError
from .config import TrainConfig, as_policy, explorer_temperature
from .learner import Learner
from .policy import Policy
from .processes import ALONE, Processes
from .variants.explorer import Explorer, require_same_tokenizer


class Models(NamedTuple):
    """The models.

    Attributes:
        learners: The policy that plays, and what else learns from its episodes.
        explorer: A frozen model that plays some of the episodes.
    """

    learners: tuple[Learner, ...]
    explorer: Explorer | None = None

    @property
    def policy(self) -> Policy:
        """The policy that plays."""
        return self.learners[0].policy


@contextmanager
def open_models(config: TrainConfig, processes: Processes = ALONE) -> Iterator[Models]:
    """Loads the models that the method asks for.

    Args:
        config: The settings.
        processes: Who shares the work; all begin with the same weights.

    Raises:
        HolderGymError: If one cannot be loaded, or they do not fit together.
    """
    if processes.count > 1:
        _refuse_engines(config)
    with ExitStack() as opened:
        learners: list[Learner] = []
        for place, view in enumerate(config.method.views):
            policy = opened.enter_context(closing(Policy(config if place == 0 else _of_partner(config), processes)))
            if place > 0:
                require_same_tokenizer(learners[0].policy.tokenizer, policy.tokenizer, policy.checkpoint.name)
            processes.begin_alike(policy.trained)
            if config.shard:
                policy.shard(processes)
            learners.append(Learner(view, place, policy, config, processes))
            policy.layers.gather()
        explorer = None
        if config.explorer is not None:
            tokenizer = learners[0].policy.tokenizer
            found = Explorer(settings_of_explorer(config), tokenizer, config.explorer_samples, config.seed)
            explorer = opened.enter_context(closing(found))
        yield Models(tuple(learners), explorer)


def _refuse_engines(config: TrainConfig) -> None:
    """Refuses what several processes cannot have."""
    for name, one in (("agent", config.agent), ("partner", config.partner)):
        if one is not None and isinstance(one.backend, VllmSettings):
            raise ConfigError(
                "a vLLM engine inside one of several processes would take the launcher's settings for its own: set "
                f"{name}.backend.name to vllm_server, which the first process starts for all, or to transformers"
            )
    explorer = config.explorer
    if explorer is None or config.explorer_samples is not None:
        return
    if isinstance(explorer.backend, VllmSettings | VllmServerSettings):
        raise ConfigError(
            "each of several processes lets the explorer play its share, and would start a vLLM of its own for it: set "
            "explorer.backend.name to transformers, let it play by `holdergym eval` and set explorer_samples, or start "
            "one process"
        )


def _of_partner(config: TrainConfig) -> TrainConfig:
    """The settings as the policy of the second learner wants them."""
    assert config.partner is not None
    method = replace(config.method, partner=None)
    return replace(config, agent=as_policy(config.partner, config.agent), method=method, partner=None)


def settings_of_explorer(config: TrainConfig) -> LanguageModelSettings:
    """How the explorer plays: as the policy, but for its model and how its tokens are drawn."""
    assert config.explorer is not None
    settings = as_policy(config.explorer, config.agent)
    temperature = explorer_temperature(config)
    return replace(settings, temperature=temperature, top_p=config.explorer.top_p, top_k=config.explorer.top_k)
