"""The models of a run: those that learn, and a frozen one that explores for them."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import NamedTuple

from ..agents.language_model_settings import LanguageModelSettings
from .config import TrainConfig
from .learner import Learner
from .policy import Policy


class Models(NamedTuple):
    """The models.

    Attributes:
        learners: The policy that plays, and what else learns from its episodes.
    """

    learners: tuple[Learner, ...]

    @property
    def policy(self) -> Policy:
        """The policy that plays."""
        return self.learners[0].policy


@contextmanager
def open_models(config: TrainConfig) -> Iterator[Models]:
    """Loads the models that the method asks for.

    Raises:
        HolderGymError: If one cannot be loaded, or they do not fit together.
    """
    with ExitStack() as opened:
        learners = []
        for place, view in enumerate(config.method.views):
            policy = opened.enter_context(closing(Policy(replace(config, agent=config.agent, method=view.method))))
            learners.append(Learner(view, place, policy, config))
        yield Models(tuple(learners))
