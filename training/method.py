"""A method: one stage object for each thing that published methods change, and a name."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from pydantic import Field

from ..agents.trajectory import Trajectory
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
from .token_weights import ClipCov, KLCov
from .variants.avspo import VirtualSampleAdvantage
from .variants.codistill import CoDistill, DistillationReward, KeepExtremes
from .variants.cov_gaussian import GaussianCovariance
from .variants.expo import GaussianCurriculum
from .variants.importance import TruncatedImportance
from .variants.s2l import ExplorerMix

SamplerStage = UniformSampler | GaussianCurriculum
SourceStage = OnPolicy | ExplorerMix
SelectionStage = DropUniformGroups | KeepExtremes
AdvantageStage = GroupAdvantage | StepRowAdvantage | GlobalAdvantage | GiGPOAdvantage | VirtualSampleAdvantage
TokenWeightStage = ClipCov | KLCov | GaussianCovariance | TruncatedImportance
RewardStage = OverlongPenalty | VerifierReward | DistillationReward


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
        partner: A second model that learns from the same episodes; None for none.

    Raises:
        ConfigError: If stages cannot be combined.
    """

    name: str
    sampler: Annotated[SamplerStage, Field(discriminator="name")] = field(default_factory=UniformSampler)
    source: Annotated[SourceStage, Field(discriminator="name")] = field(default_factory=OnPolicy)
    reward: OverlongPenalty | None = None
    selection: Annotated[SelectionStage, Field(discriminator="name")] | None = None
    advantage: Annotated[AdvantageStage, Field(discriminator="name")] = field(default_factory=GroupAdvantage)
    token_weights: tuple[Annotated[TokenWeightStage, Field(discriminator="name")], ...] = ()
    aggregation: HolderAggregation = field(default_factory=HolderAggregation)
    kl: KLPenalty = field(default_factory=KLPenalty)
    entropy: EntropyBonus = field(default_factory=EntropyBonus)
    reduction: Reduction = field(default_factory=Reduction)
    partner: CoDistill | None = None

    def __post_init__(self) -> None:
        if reason := refusal(self):
            raise ConfigError(reason)

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
        return 2 if isinstance(self.advantage, GroupAdvantage | VirtualSampleAdvantage) else 1

    @property
    def batches(self) -> int:
        """Most batches of tasks that are played in a round; one where an explorer plays, which is not refilled [X]."""
        return 1 if self.selection is None or self.needs_explorer else self.selection.batches

    def enough(self, groups: Sequence[Sequence[Trajectory]], wanted: int) -> bool:
        """Whether enough groups are left to train on."""
        return self.selection is None or self.selection.left(groups) >= wanted

    @property
    def penalty_in_rows(self) -> bool:
        """Whether the penalty for an invalid command stays with its turn."""
        return isinstance(self.advantage, StepRowAdvantage | GiGPOAdvantage)

    @property
    def views(self) -> "tuple[View, ...]":
        """The method as each learner has it; the first is the policy that plays."""
        own = View("policy", self, () if self.reward is None else (self.reward,))
        return (own,) if self.partner is None else self.partner.views(own)

    @property
    def needs_explorer(self) -> bool:
        """Whether a frozen model plays some of the episodes."""
        return isinstance(self.source, ExplorerMix) and self.source.transition != 0


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


def refusal(method: Method) -> str:
    """Why the stages of a method cannot be combined; empty if they can."""
    kinds = {type(stage) for stage in method.token_weights}
    covariance = sorted(
        stage.name for stage in method.token_weights if type(stage) in (ClipCov, KLCov, GaussianCovariance)
    )
    if len(covariance) > 1:
        return f"{' and '.join(covariance)} are two answers to one question: use one of them"
    if KLCov in kinds and method.kl.coefficient == 0:
        return "kl_cov selects the tokens of the KL penalty, but kl.coefficient is 0"
    if method.kl.scale is not None and method.kl.against == "old":
        return "kl.scale is EXPO's, whose penalty is against the reference model, but kl.against is 'old'"
    if isinstance(method.advantage, VirtualSampleAdvantage) and isinstance(method.selection, DropUniformGroups):
        return "AVSPO repairs the groups that drop_uniform throws away: use one of them"
    if isinstance(method.source, ExplorerMix) and method.partner is not None:
        return (
            "S2L-PO and CoDistill-GRPO both say who plays, a frozen small model and a small model that learns: use one "
            "of them"
        )
    if method.partner is not None and method.aggregation.denominator == "behaviour":
        return "CoDistill-GRPO sets the denominators of both learners: leave aggregation.denominator at 'old'"
    return ""
