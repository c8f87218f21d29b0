"""A method: one stage object for each thing that published methods change, and a name."""

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from ..envs.errors import ConfigError
from .advantages import GlobalAdvantage, GroupAdvantage, StepRowAdvantage
from .aggregation import HolderAggregation
from .gigpo import GiGPOAdvantage
from .kl import EntropyBonus, KLPenalty
from .reduction import Reduction
from .rewards import OverlongPenalty
from .selection import DropUniformGroups
from .token_weights import ClipCov, KLCov, TokenWeightStage

AdvantageStage = GroupAdvantage | StepRowAdvantage | GlobalAdvantage | GiGPOAdvantage


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A training method. It holds no tensors and no state: two equal methods train alike.

    Settings files and overrides reach every field by its dotted name, for example ``aggregation.exponent.p``.
    Where a field offers several stages, the stage's ``name`` picks one.

    Attributes:
        name: Name of the preset it comes from.
        reward: Stage 3, shaping of the reward; None for none.
        selection: Stage 4, which groups are trained on; None for all.
        advantage: Stage 5.
        token_weights: Stage 6; the weights of several stages are multiplied.
        aggregation: Stage 7, from token ratios to the unit's surrogate.
        kl: Stage 8; off at coefficient 0.
        entropy: Entropy bonus; off at coefficient 0.
        reduction: Stage 9, how much each unit counts.

    Raises:
        ConfigError: If stages cannot be combined.
    """

    name: str
    reward: OverlongPenalty | None = None
    selection: DropUniformGroups | None = None
    advantage: Annotated[AdvantageStage, Field(discriminator="name")] = field(default_factory=GroupAdvantage)
    token_weights: tuple[Annotated[TokenWeightStage, Field(discriminator="name")], ...] = ()
    aggregation: HolderAggregation = field(default_factory=HolderAggregation)
    kl: KLPenalty = field(default_factory=KLPenalty)
    entropy: EntropyBonus = field(default_factory=EntropyBonus)
    reduction: Reduction = field(default_factory=Reduction)

    def __post_init__(self) -> None:
        kinds = [type(stage) for stage in self.token_weights]
        if ClipCov in kinds and KLCov in kinds:
            raise ConfigError("clip_cov and kl_cov are two answers to one question: use one of them")
        if KLCov in kinds and self.kl.coefficient == 0:
            raise ConfigError("kl_cov selects the tokens of the KL penalty, but kl.coefficient is 0")

    @property
    def needs_reference(self) -> bool:
        """Whether a reference model has to score the tokens."""
        in_reward = isinstance(self.advantage, GlobalAdvantage) and self.advantage.kl_coefficient > 0
        return in_reward or (self.kl.coefficient > 0 and self.kl.against == "reference")

    @property
    def needs_current_logp(self) -> bool:
        """Whether a whole mini-batch must be scored by the present policy before its loss can be cut into parts."""
        return any(stage.logprobs == "current" for stage in self.token_weights)
