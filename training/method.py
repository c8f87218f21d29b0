"""A method: one stage object for each thing that published methods change, and a name."""

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from pydantic import Field

from ..envs.errors import ConfigError
from .advantages import GlobalAdvantage, GroupAdvantage, StepRowAdvantage
from .aggregation import HolderAggregation
from .gigpo import GiGPOAdvantage
from .kl import EntropyBonus, KLPenalty
from .reduction import Reduction
from .rewards import OverlongPenalty, VerifierReward
from .sampling import UniformSampler
from .selection import DropUniformGroups
from .sources import OnPolicy
from .token_weights import ClipCov, KLCov, TokenWeightStage

AdvantageStage = GroupAdvantage | StepRowAdvantage | GlobalAdvantage | GiGPOAdvantage
RewardStage = OverlongPenalty | VerifierReward


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A training method. It holds no tensors and no state: two equal methods train alike.

    Settings files and overrides reach every field by its dotted name, for example ``aggregation.exponent.p``.
    Where a field offers several stages, the stage's ``name`` picks one.

    Attributes:
        name: Name of the preset it comes from.
        sampler: Stage 1, which tasks a round draws.
        source: Stage 2, who plays.
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
    sampler: UniformSampler = field(default_factory=UniformSampler)
    source: OnPolicy = field(default_factory=OnPolicy)
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

    @property
    def least_of_group(self) -> int:
        """Finished episodes that a group needs to be trained on."""
        return 2 if isinstance(self.advantage, GroupAdvantage) else 1

    @property
    def penalty_in_rows(self) -> bool:
        """Whether the penalty for an invalid command stays with its turn."""
        return isinstance(self.advantage, StepRowAdvantage | GiGPOAdvantage)

    @property
    def views(self) -> "tuple[View, ...]":
        """The method as each learner has it; the first is the policy that plays."""
        return (View("policy", self, () if self.reward is None else (self.reward,)),)


class View(NamedTuple):
    """A method as one learner has it.

    Attributes:
        learner: Name of the learner.
        method: Its stages from the advantage on.
        rewards: Its shaping of the rewards, one after the other.
    """

    learner: str
    method: Method
    rewards: tuple[RewardStage, ...]
