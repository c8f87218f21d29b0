"""The records that pass between the stages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import torch
from torch import Tensor

from .layout import Layout, Unit


class Average(NamedTuple):
    """A metric that adds up over micro-batches and processes: its value is ``total / number``."""

    total: Tensor
    number: Tensor

    def plus(self, other: "Average") -> "Average":
        """The metric over both parts."""
        return Average(self.total + other.total, self.number + other.number)

    @property
    def value(self) -> float:
        """The average; NaN where nothing was counted."""
        return float(self.total / self.number)

    @classmethod
    def of(cls, items: Tensor) -> "Average":
        """The average of all items, which may be truth values."""
        return cls(items.detach().double().sum(), torch.tensor(float(items.numel()), device=items.device))


Metrics = Mapping[str, Average]


def merge_metrics(first: Metrics, second: Metrics) -> dict[str, Average]:
    """The metrics over both parts; a metric that only one part has is kept."""
    merged = dict(first)
    for name, average in second.items():
        merged[name] = merged[name].plus(average) if name in merged else average
    return merged


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a stage may know beside its tensors. Equal on all processes.

    Attributes:
        round: Number of the rollout round, from 1: the step of every schedule.
        update: Number of the optimiser step, counted over all rounds from 1.
        seed: Seed of the run; a stage that draws derives its draws from it and ``update``.
        accuracy: Mean verifier reward of the round's learner episodes, in [0, 1].
        accuracy_std: Population standard deviation of the same rewards.
    """

    round: int = 1
    update: int = 1
    seed: int = 0
    accuracy: float = 0.0
    accuracy_std: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rollout:
    """All episodes of one round, with everything that an advantage may be made of. Nothing in it is differentiable.

    Attributes:
        layout: Tokens in rows in episodes in groups.
        reward_E: Reward of each episode that the policy is trained on, shaping included.
        verifier_E: Correctness of each episode, 0 or 1, before any shaping.
        old_logp_T: Log-probability of each response token under the policy at the start of the round.
        reference_logp_T: The same under the reference model, where there is one.
        behaviour_logp_T: The same under the policy that sampled it, where that is another one.
        step_reward_B: Reward of each turn, for step-level advantages.
        penalty_B: What row statistics subtract from a turn's share in the episode's reward (invalid actions).
        anchor_B: Number of each turn's observation: equal for equal observations.
        explorer_E: Whether another model than the policy has played the episode; None where the policy played all.
        foreign_E: Whether another model than the learner that sees this record has played the episode; None where the
            learner played all.
        peer_logp_T: Log-probability of each response token under the other model that learns from the same episodes,
            at the start of the round.
    """

    layout: Layout
    reward_E: Tensor
    verifier_E: Tensor
    old_logp_T: Tensor
    reference_logp_T: Tensor | None = None
    behaviour_logp_T: Tensor | None = None
    step_reward_B: Tensor | None = None
    penalty_B: Tensor | None = None
    anchor_B: Tensor | None = None
    explorer_E: Tensor | None = None
    foreign_E: Tensor | None = None
    peer_logp_T: Tensor | None = None

    def __post_init__(self) -> None:
        layout = self.layout
        items = {"T": len(layout.rows.index), "B": layout.rows.count, "E": layout.episodes.count}
        for field in fields(self):
            tensor = getattr(self, field.name)
            if isinstance(tensor, Tensor) and tensor.shape != (items[field.name[-1]],):
                shape, right = tuple(tensor.shape), items[field.name[-1]]
                raise ValueError(f"{field.name} has the shape {shape}, but the layout wants ({right},)")

    @property
    def learner_E(self) -> Tensor:  # noqa: N802
        """Whether the policy itself has played the episode."""
        if self.explorer_E is None:
            return torch.ones(self.layout.episodes.count, dtype=torch.bool)
        return ~self.explorer_E

    def take(self, episodes: Sequence[int]) -> "Rollout":
        """Cuts out some episodes; they keep their order.

        Args:
            episodes: Their numbers.
        """
        if len(episodes) == self.layout.episodes.count:
            return self
        part = self.layout.take(self.layout.rows_of(episodes))
        index = {"T": part.tokens, "B": part.rows, "E": part.episodes}
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        cut = {name: one[index[name[-1]]] for name, one in values.items() if isinstance(one, Tensor)}
        return replace(self, layout=part.layout, **cut)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TokenBatch:
    """The response tokens of a mini-batch, or of a part of one, ready for the loss.

    The shares are what makes a loss independent of micro-batches: they are worked out once for the whole
    mini-batch on all processes, and a part of the mini-batch keeps them. Losses of parts then add up.

    Attributes:
        layout: Tokens in rows in episodes in groups.
        old_logp_T: As in ``Rollout``.
        advantage_T: Advantage of each token.
        policy_share_T: Weight of each token in the policy term when all ratios count alike (reduction stage).
        kl_share_T: The same for the KL term.
        entropy_share_T: The same for the entropy term.
        weight_T: Weight of each token inside its unit (token-weight stages), or None for 1.
        kl_weight_T: Weight of each token's KL term, or None for 1.
        reference_logp_T: As in ``Rollout``.
        behaviour_logp_T: As in ``Rollout``.
    """

    layout: Layout
    old_logp_T: Tensor
    advantage_T: Tensor
    policy_share_T: Tensor
    kl_share_T: Tensor
    entropy_share_T: Tensor
    weight_T: Tensor | None = None
    kl_weight_T: Tensor | None = None
    reference_logp_T: Tensor | None = None
    behaviour_logp_T: Tensor | None = None

    def take(self, rows: Tensor, per: Unit) -> "TokenBatch":
        """Cuts out some rows, for a micro-batch or for one process; see ``Layout.take``.

        Raises:
            ValueError: If units are trajectories and one of them would be cut: its power mean needs all its
                tokens at once. ``token_gradients`` serves mini-batches whose trajectories do not fit.
        """
        if per == "trajectory" and self.layout.cuts_episode(rows):
            raise ValueError("a micro-batch cuts a trajectory, but the unit of aggregation is the trajectory")
        part = self.layout.take(rows)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        cut = {name: value[part.tokens] for name, value in values.items() if isinstance(value, Tensor)}
        return replace(self, layout=part.layout, **cut)


class PolicyTokens(NamedTuple):
    """What the policy says now about each response token; differentiable.

    Attributes:
        logp_T: Log-probability.
        entropy_T: Entropy of the next-token distribution, where it is wanted.
    """

    logp_T: Tensor
    entropy_T: Tensor | None = None


def flatten(values_B_T: Tensor, mask_B_T: Tensor) -> Tensor:
    """Takes the valid entries of a padded table, row by row: the flat form of everything here.

    Args:
        values_B_T: Any values, one row of the table a row.
        mask_B_T: True for response tokens.
    """
    return values_B_T[mask_B_T.bool()]
