"""The loss of a method on response tokens, the same however the mini-batch is cut, padded, packed or spread.

Two ways lead to the same gradient:

- ``prepare`` once for the mini-batch, then ``objective`` on each micro-batch (``TokenBatch.take``), backward each
  time; the losses add up. Units must be whole in a micro-batch.
- ``prepare``, then ``token_gradients`` on the whole mini-batch, from log-probabilities that a first pass without
  gradient gave; then for micro-batches cut anywhere, backward of sum(gradient * log-probability). This costs a
  forward pass more, unless these log-probabilities are known, as they are on the first update of a round.

Under data parallelism gradients must be summed over processes, not averaged: the shares already are those of
the whole mini-batch.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from .batch import Average, Context, Metrics, PolicyTokens, Rollout, TokenBatch, merge_metrics
from .kl import kl_estimate
from .method import Method
from .token_weights import TokenWeightInputs


class Prepared(NamedTuple):
    """A mini-batch ready to be cut up, and what its token-weight stages want logged."""

    batch: TokenBatch
    metrics: Metrics


class Objective(NamedTuple):
    """A loss and its parts. Losses and parts of micro-batches add up to those of the mini-batch.

    Attributes:
        loss: policy + kl + entropy; differentiable.
        policy: The policy term.
        kl: The KL term, coefficient included.
        entropy: The entropy term, coefficient included; negative.
        metrics: Averages for the log.
    """

    loss: Tensor
    policy: Tensor
    kl: Tensor
    entropy: Tensor
    metrics: Metrics


class TokenGradients(NamedTuple):
    """Derivatives of the loss by each token's log-probability and entropy; constant."""

    logp_T: Tensor
    entropy_T: Tensor
    objective: Objective


def prepare(
    method: Method,
    rollout: Rollout,
    advantage_T: Tensor,
    rows: Tensor,
    context: Context,
    logp_T: Tensor | None = None,
) -> Prepared:
    """Makes a mini-batch of some rows of a rollout: shares and token weights, over the whole of it.

    Args:
        method: The method.
        rollout: The round's episodes.
        advantage_T: Advantages of the rollout's tokens, from ``method.advantage``.
        rows: Numbers of the mini-batch's rows in the rollout.
        context: Round, update, accuracy.
        logp_T: Log-probabilities of the mini-batch's tokens under the policy now, in the rollout's order;
            required if ``method.needs_current_logp``.

    Raises:
        ValueError: If the mini-batch cuts a trajectory that is to be aggregated, or ``logp_T`` is missing.
    """
    per = method.aggregation.per
    if per == "trajectory" and rollout.layout.cuts_episode(rows):
        raise ValueError("a mini-batch cuts a trajectory, but the unit of aggregation is the trajectory")
    layout, tokens, _, _ = rollout.layout.take(rows)
    policy_share_T = method.reduction(layout, per)
    batch = TokenBatch(
        layout=layout,
        old_logp_T=rollout.old_logp_T[tokens],
        advantage_T=advantage_T[tokens],
        policy_share_T=policy_share_T,
        kl_share_T=policy_share_T if method.kl.reduction is None else method.kl.reduction(layout, per),
        entropy_share_T=method.entropy.reduction(layout, per),
        reference_logp_T=None if rollout.reference_logp_T is None else rollout.reference_logp_T[tokens],
        behaviour_logp_T=None if rollout.behaviour_logp_T is None else rollout.behaviour_logp_T[tokens],
    )
    foreign_T = None
    if rollout.foreign_E is not None:
        foreign_T = rollout.layout.units("trajectory").spread(rollout.foreign_E)[tokens]
    metrics: Metrics = {}
    for stage in method.token_weights:
        seen_T = batch.old_logp_T if stage.logprobs == "old" else logp_T
        if seen_T is None:
            raise ValueError(f"the stage {stage.name!r} needs the log-probabilities of the present policy")
        seen_T = seen_T.detach()
        clipped_T = method.aggregation.clipped_tokens(batch, seen_T, context)
        inputs = TokenWeightInputs(
            seen_T, batch.advantage_T, clipped_T, layout, context, batch.behaviour_logp_T, foreign_T
        )
        weights = stage(inputs)
        batch = replace(
            batch,
            weight_T=_product(batch.weight_T, weights.weight_T),
            kl_weight_T=_product(batch.kl_weight_T, weights.kl_weight_T),
        )
        metrics = merge_metrics(metrics, weights.metrics)
    return Prepared(batch, metrics)


def objective(method: Method, batch: TokenBatch, policy: PolicyTokens, context: Context) -> Objective:
    """The loss of a batch whose units are whole.

    Args:
        method: The method.
        batch: A mini-batch from ``prepare``, or a part of it.
        policy: What the policy says now about the batch's tokens.
        context: The same context that ``prepare`` saw.

    Raises:
        ValueError: If an entropy bonus is set and there is no entropy.
        ConfigError: If a KL penalty is set and there is no reference model.
    """
    surrogate = method.aggregation(batch, policy.logp_T, context)
    share_U = surrogate.units.sum(batch.policy_share_T).to(surrogate.objective_U.dtype)
    policy_loss = -(share_U * surrogate.objective_U).sum()
    zero = torch.zeros_like(policy_loss, requires_grad=False)

    kl_loss, metrics = zero, dict(surrogate.metrics)
    coefficient = method.kl.coefficient_at(context)
    if coefficient > 0:
        estimate_T = method.kl(batch, policy.logp_T)
        kl_loss = coefficient * (batch.kl_share_T.to(estimate_T.dtype) * estimate_T).sum()
        metrics["kl"] = Average.of(estimate_T)
        metrics["kl_coefficient"] = Average.of(torch.tensor([coefficient], dtype=torch.float64))
    entropy_loss = zero
    if method.entropy.coefficient > 0:
        if policy.entropy_T is None:
            raise ValueError("the method has an entropy bonus, but the entropies of the tokens are missing")
        entropy_loss = (
            -method.entropy.coefficient * (batch.entropy_share_T.to(policy.entropy_T.dtype) * policy.entropy_T).sum()
        )
    if policy.entropy_T is not None:
        metrics["entropy"] = Average.of(policy.entropy_T)
    metrics["kl_to_old"] = Average.of(kl_estimate(policy.logp_T.detach(), batch.old_logp_T, "k3", 20.0))

    # Terms that are off are left out, not added as 0: a method without them is itself to the last bit.
    terms = [term for term in (policy_loss, kl_loss, entropy_loss) if term is not zero]
    return Objective(torch.stack(terms).sum(), policy_loss, kl_loss, entropy_loss, metrics)


def token_gradients(method: Method, batch: TokenBatch, policy: PolicyTokens, context: Context) -> TokenGradients:
    """Differentiates the loss by the policy's outputs alone, without the policy.

    Raises:
        ValueError, ConfigError: As ``objective``.
    """
    logp_T = policy.logp_T.detach().requires_grad_()
    entropy_T = None if policy.entropy_T is None else policy.entropy_T.detach().requires_grad_()
    whole = objective(method, batch, PolicyTokens(logp_T, entropy_T), context)
    inputs = [logp_T] if entropy_T is None else [logp_T, entropy_T]
    gradients = torch.autograd.grad(whole.loss, inputs, allow_unused=True, materialize_grads=True)
    constant = Objective(
        whole.loss.detach(), whole.policy.detach(), whole.kl.detach(), whole.entropy.detach(), whole.metrics
    )
    return TokenGradients(gradients[0], gradients[1] if entropy_T is not None else torch.zeros_like(logp_T), constant)


def _product(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return first * second
