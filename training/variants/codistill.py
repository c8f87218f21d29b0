"""CoDistill-GRPO: a small and a large model learn together, and only the small one plays (arXiv 2605.08873)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from ...agents.trajectory import Trajectory
from ...envs.errors import ConfigError
from ..batch import Rollout
from ..rewards import VerifierReward
from .importance import TruncatedImportance

if TYPE_CHECKING:
    from ..method import View


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillationReward:
    """r + alpha (1/n) sum_t (log pi_large(t) - log pi_small(t)) over the n response tokens of an episode.

    Both as they were when the round was played, constant. In expectation the second term is -alpha times the reverse
    divergence KL(small || large) of a token.

    Attributes:
        alpha: Weight of the second term; 0 leaves the reward as it is.
        teacher: Which of the two log-probabilities of a learner's rollout is the large model's: the other learner's
            (``peer``), or its own.
    """

    name: Literal["distillation"] = "distillation"
    alpha: float = 0.1
    teacher: Literal["peer", "own"] = "peer"

    def __call__(self, rollout: Rollout) -> Tensor:
        """The shaped reward of each episode.

        Raises:
            ValueError: If there is no other learner.
        """
        if self.alpha == 0:
            return rollout.reward_E
        if rollout.peer_logp_T is None:
            raise ValueError("the distillation reward needs peer_logp_T: the log-probabilities of the other learner")
        difference_T = rollout.peer_logp_T.double() - rollout.old_logp_T.double()
        mean_E = rollout.layout.units("trajectory").mean(difference_T if self.teacher == "peer" else -difference_T)
        return rollout.reward_E + (self.alpha * mean_E).to(rollout.reward_E.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoDistill:
    """The policy, which is small and plays, learns from the large partner, and the partner from the policy's episodes.

    The paper's abstract and one formula are all that is known; the rest is our definition [X]. The policy is trained on
    the distillation reward. The partner is trained on the same episodes, by

    | form | the partner's ratio |
    |---|---|
    | ``plain`` | pi_partner / pi_policy,old, clipped as the method clips: where the models differ, nothing is learned |
    | ``tis`` | pi_partner / pi_partner,old, each token weighed by min(pi_partner,old / pi_policy,old, limit) |

    The policy takes its steps first; both use the log-probabilities from before either.

    Attributes:
        alpha: Weight of the distillation reward; not published, so a value to sweep (0, 0.05, 0.1, 0.5, 1) [X].
        form: As above.
        limit: Largest weight of ``tis``.
        partner_reward: What the partner is trained on: ``verifier`` (correctness), or ``shaped``, as the policy.

    Raises:
        ConfigError: If a setting is out of range.
    """

    name: Literal["codistill"] = "codistill"
    alpha: float = 0.1
    form: Literal["plain", "tis"] = "plain"
    limit: float = 2.0
    partner_reward: Literal["verifier", "shaped"] = "verifier"

    def __post_init__(self) -> None:
        if not (self.alpha >= 0 and math.isfinite(self.alpha)):
            raise ConfigError(f"a distillation reward of weight {self.alpha}: it must be 0 or more")
        if not self.limit > 0:
            raise ConfigError(f"importance weights of at most {self.limit}: it must be above 0")

    def views(self, policy: "View") -> "tuple[View, ...]":
        """The method as the two learners have it.

        Args:
            policy: The method without distillation.
        """
        method = replace(policy.method, partner=None)
        if self.form == "plain":
            theirs = replace(method, aggregation=replace(method.aggregation, denominator="behaviour"))
        else:
            weights = (*method.token_weights, TruncatedImportance(limit=self.limit))
            theirs = replace(method, token_weights=weights)
        shaped = DistillationReward(alpha=self.alpha, teacher="own")
        rewards = (*policy.rewards, shaped) if self.partner_reward == "shaped" else (VerifierReward(),)
        own = policy._replace(rewards=(*policy.rewards, DistillationReward(alpha=self.alpha)))
        return own, policy._replace(learner="partner", method=theirs, rewards=rewards)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepExtremes:
    """Keeps the episodes of a group with the highest and the lowest rewards: half of those kept are each [X].

    Of n episodes ceil(share n) are kept, but 2 at least, one more of the highest where the number is odd. Rewards are
    those that the policy is trained on, distillation included. Of rewards of two values it is the choice of the largest
    variance; of others it need not be: of 100, 1, 1, 1, 0, 0, 0, 0 the highest and three zeros vary more.

    Raises:
        ConfigError: If ``share`` is out of range.
    """

    name: Literal["keep_extremes"] = "keep_extremes"
    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ConfigError(f"a share of episodes of {self.share}: it must be above 0 and at most 1")

    @property
    def batches(self) -> int:
        """Most batches of tasks that a round plays: every group is kept, so one is enough."""
        return 1

    def left(self, groups: Sequence[Sequence[Trajectory]]) -> int:
        """How many groups of episodes something is kept of."""
        return len(groups)

    def __call__(self, rollout: Rollout, wanted: int | None = None) -> Tensor:
        """Which episodes to keep, one truth value an episode; ties go by order. Some of every group are."""
        groups = rollout.layout.groups
        keep_E = torch.zeros(rollout.layout.episodes.count, dtype=torch.bool)
        for group in range(groups.count):
            mine = (groups.index == group).nonzero().squeeze(1)
            order = mine[torch.argsort(rollout.reward_E[mine].double(), stable=True, descending=True)]
            kept = max(math.ceil(self.share * len(mine) - 1e-9), min(2, len(mine)))
            high = kept - kept // 2
            keep_E[order[:high]] = True
            keep_E[order[len(order) - (kept - high) :]] = True
        return keep_E
