"""One optimiser step: the loss of a mini-batch, cut into parts that fit into memory, and its gradient."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ..agents.sequences import TokenSequence
from .batch import Average, Context, PolicyTokens, Rollout, TokenBatch, merge_metrics
from .experience import Experience
from .loss import objective, prepare, token_gradients
from .method import Method
from .processes import ALONE, Processes
from .scoring import Part, Scorer, cut


class LossParts(NamedTuple):
    """The loss of a mini-batch, and its terms."""

    loss: float
    policy: float
    kl: float
    entropy: float
    metrics: Mapping[str, Average]


@dataclass(frozen=True, slots=True, eq=False)
class MiniBatch:
    """The episodes that one optimiser step is made of.

    Attributes:
        sequences: Their sequences, in order.
        rows: Numbers of their turns in the rollout.
        tokens: Numbers of their tokens in the rollout.
        bonds: A key for each sequence: equal for those that hold parts of one unit of aggregation.
        rows_of: For each sequence the numbers of its turns, among those of the mini-batch.
    """

    sequences: tuple[TokenSequence, ...]
    rows: Tensor
    tokens: Tensor
    bonds: tuple[int, ...]
    rows_of: tuple[Tensor, ...]

    @classmethod
    def of(cls, experience: Experience, episodes: Sequence[int], method: Method) -> "MiniBatch":
        """Takes some episodes of a round.

        Args:
            experience: The round.
            episodes: Their numbers.
            method: Says what a unit of aggregation is.
        """
        wanted = set(episodes)
        numbers = [number for number, episode in enumerate(experience.sequence_episodes) if episode in wanted]
        rows = experience.layout.rows_of(episodes)
        sequences = tuple(experience.sequences[number] for number in numbers)
        ends = torch.cumsum(torch.tensor([len(one.lengths) for one in sequences]), 0).tolist()
        whole = method.aggregation.per == "trajectory"
        return cls(
            sequences=sequences,
            rows=rows,
            tokens=experience.layout.take(rows).tokens,
            bonds=tuple(experience.sequence_episodes[number] if whole else number for number in numbers),
            rows_of=tuple(torch.arange(end - len(one.lengths), end) for one, end in zip(sequences, ends, strict=True)),
        )


class Updater:
    """Computes the gradient of a method's loss. It does not depend on how the mini-batch is cut into parts.

    Args:
        method: The method.
        scorer: Scores tokens by the policy that is trained.
        budget: Most tokens in the model at once, padding included.
        processes: Who shares the work. Each takes some units of aggregation and adds its share of the gradient to that
            of its own policy: gradients are not added up over processes here, but losses and metrics are.
    """

    def __init__(self, method: Method, scorer: Scorer, budget: int, processes: Processes = ALONE) -> None:
        self._method = method
        self._scorer = scorer
        self._budget = budget
        self._processes = processes

    def backward(self, batch: MiniBatch, rollout: Rollout, advantage_T: Tensor, context: Context) -> LossParts:
        """Adds the gradient of this process's share of the mini-batch's loss to that of the policy's parameters.

        Args:
            batch: The mini-batch.
            rollout: The round.
            advantage_T: Advantages of the round's tokens.
            context: Round and update.
        """
        method = self._method
        now: PolicyTokens | None = None
        parts = cut(batch.sequences, self._budget, batch.bonds)
        oversized = any(self._size(batch, part) > self._budget and len(part.numbers) > 1 for part in parts)
        if method.needs_current_logp or oversized:
            now = self._scorer.all(batch.sequences, self._budget, self._processes)
        logp_T = None if now is None else now.logp_T
        prepared = prepare(method, rollout, advantage_T, batch.rows, context, logp_T=logp_T)
        if oversized:
            assert now is not None
            found = self._by_token_gradients(batch, prepared.batch, now, context)
        else:
            found = self._by_parts(batch, prepared.batch, context)
        return found._replace(metrics=merge_metrics(prepared.metrics, found.metrics))

    def _by_parts(self, batch: MiniBatch, whole: TokenBatch, context: Context) -> LossParts:
        """Units are whole in every part: the losses of the parts add up."""
        sums = torch.zeros(4, dtype=torch.float64)
        metrics: Mapping[str, Average] = {}
        parts = cut(batch.sequences, self._budget, batch.bonds, self._mine(batch))
        idle = self._processes.idle(len(parts))
        for part in parts:
            policy = self._score(batch, part)
            rows = torch.cat([batch.rows_of[number] for number in part.numbers])
            taken = whole.take(rows, self._method.aggregation.per)
            found = objective(self._method, _on_device(taken, policy.logp_T), policy, context)
            found.loss.backward()  # type: ignore[no-untyped-call]
            sums += torch.tensor([float(one.detach()) for one in found[:4]], dtype=torch.float64)
            metrics = merge_metrics(metrics, found.metrics)
        self._idle(batch, idle)
        loss, policy_term, kl, entropy = self._processes.sum(sums).tolist()
        return LossParts(loss, policy_term, kl, entropy, self._merged(metrics))

    def _by_token_gradients(
        self, batch: MiniBatch, whole: TokenBatch, now: PolicyTokens, context: Context
    ) -> LossParts:
        """Units do not fit: first the slopes by the tokens' log-probabilities, then those of the policy, in parts."""
        slopes = token_gradients(self._method, whole, now, context)
        parts = cut(batch.sequences, self._budget, only=self._mine(batch))
        idle = self._processes.idle(len(parts))
        for part in parts:
            policy = self._score(batch, part)
            total = (slopes.logp_T[part.tokens].to(policy.logp_T) * policy.logp_T).sum()
            if self._method.entropy.coefficient > 0:
                assert policy.entropy_T is not None
                total = total + (slopes.entropy_T[part.tokens].to(policy.entropy_T) * policy.entropy_T).sum()
            total.backward()  # type: ignore[no-untyped-call]
        self._idle(batch, idle)
        found = slopes.objective
        terms = [float(one) for one in (found.loss, found.policy, found.kl, found.entropy)]
        return LossParts(terms[0], terms[1], terms[2], terms[3], found.metrics)

    def _mine(self, batch: MiniBatch) -> list[int]:
        """Numbers of this process's sequences; units of aggregation are whole."""
        return self._processes.deal([len(one.ids) for one in batch.sequences], batch.bonds)

    def _idle(self, batch: MiniBatch, passes: int) -> None:
        """Passes for nothing, where other processes make more."""
        shortest = min(batch.sequences, key=lambda one: len(one.ids))
        for _ in range(passes):
            (self._scorer.part([shortest], entropy=False).logp_T.sum() * 0.0).backward()  # type: ignore[no-untyped-call]

    def _merged(self, metrics: Mapping[str, Average]) -> Mapping[str, Average]:
        """The metrics over all processes."""
        merged: Mapping[str, Average] = {}
        own = {name: Average(one.total.cpu(), one.number.cpu()) for name, one in metrics.items()}
        for found in self._processes.gather(own):
            merged = merge_metrics(merged, found)
        return merged

    def _score(self, batch: MiniBatch, part: Part) -> PolicyTokens:
        sequences = [batch.sequences[number] for number in part.numbers]
        return self._scorer.part(sequences, entropy=self._method.entropy.coefficient > 0)

    def _size(self, batch: MiniBatch, part: Part) -> int:
        lengths = [len(batch.sequences[number].ids) for number in part.numbers]
        return max(lengths) * len(lengths)


def _on_device(batch: TokenBatch, like: Tensor) -> TokenBatch:
    """The constants of a part beside the policy's tokens."""
    if like.device.type == "cpu":
        return batch
    from dataclasses import fields, replace

    from .layout import Layout
    from .segments import Segments

    def moved(parts: Segments) -> Segments:
        return Segments(parts.index.to(like.device), parts.count)

    layout = Layout(moved(batch.layout.rows), moved(batch.layout.episodes), moved(batch.layout.groups))
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return replace(
        batch, layout=layout, **{name: one.to(like.device) for name, one in values.items() if isinstance(one, Tensor)}
    )
