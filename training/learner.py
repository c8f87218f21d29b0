"""What learns from the episodes of a round: a policy, its optimiser, and the stages as this policy has them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from ..envs.errors import HolderGymError
from .advantages import State
from .batch import Average, Context, Rollout, merge_metrics
from .config import TrainConfig
from .experience import Experience
from .method import View
from .optimiser import Optimiser
from .policy import Policy
from .processes import ALONE, Processes
from .rewards import shaped
from .updating import MiniBatch, Updater


class NotFiniteError(HolderGymError):
    """A loss or a gradient is not a number, so nothing was learned from it.

    Attributes:
        experience: The round, for whoever wants to look at it.
    """

    def __init__(self, message: str, experience: Experience) -> None:
        self.experience = experience
        super().__init__(message)


class Scored(NamedTuple):
    """Log-probabilities of the round's tokens at the start of the round: a learner's, and its reference's."""

    old_logp_T: Tensor
    reference_logp_T: Tensor | None


class Lesson(NamedTuple):
    """What a learner learns from.

    Attributes:
        experience: The episodes that are trained on.
        rollout: The same as this learner's stages see them.
        shares: Numbers of the episodes of each optimiser step; an episode comes once in each pass.
        context: Round and accuracy; ``update`` is the number of the last step before these.
    """

    experience: Experience
    rollout: Rollout
    shares: Sequence[Sequence[int]]
    context: Context


class Learned(NamedTuple):
    """What came of it: the advantage stage's state and numbers for the log."""

    state: State
    metrics: Mapping[str, float]


class Learner:
    """A policy that is trained.

    Args:
        view: The method as this learner has it.
        place: 0 for the policy that plays, 1 for one that learns from its episodes.
        policy: The policy.
        config: The settings of the run.
        processes: Who shares the work.

    Attributes:
        name: ``policy``, or the name of the second learner.
        policy: The policy.
        optimiser: Moves its weights.
        label: Put before the names of its numbers in the log.
    """

    def __init__(
        self, view: View, place: int, policy: Policy, config: TrainConfig, processes: Processes = ALONE
    ) -> None:
        self.name = view.learner
        self.policy = policy
        self.optimiser = Optimiser(
            policy.trained, config.optimiser, config.rounds * config.steps_a_round, policy.layers
        )
        self.label = "" if place == 0 else f"{view.learner}/"
        self._view = view
        self._place = place
        self._config = config
        self._processes = processes
        self._updater = Updater(view.method, policy.scorer, config.part_tokens, processes)

    def score(self, experience: Experience) -> Scored:
        """Scores the tokens of a round before anything is learned from it."""
        sequences, budget = experience.sequences, self._config.part_tokens
        old_T = self.policy.scorer.all(sequences, budget, self._processes).logp_T
        if not self._view.method.needs_reference:
            return Scored(old_T, None)
        with self.policy.reference() as scorer:
            return Scored(old_T, scorer.all(sequences, budget, self._processes).logp_T)

    def rollout(self, experience: Experience, scored: Sequence[Scored]) -> Rollout:
        """The round as this learner's stages see it, its rewards shaped.

        Args:
            experience: The round.
            scored: What all learners make of its tokens.
        """
        in_rows = self._view.method.penalty_in_rows
        own = scored[self._place]
        rollout = experience.rollout(
            self._config.rewards, own.old_logp_T, own.reference_logp_T, penalty_in_rows=in_rows
        )
        if len(scored) > 1:
            rollout = replace(rollout, peer_logp_T=scored[1 - self._place].old_logp_T)
        if self._place > 0:
            # The first learner has played, and is scored here as exactly as this one.
            everything_E = torch.ones(experience.layout.episodes.count, dtype=torch.bool)
            rollout = replace(rollout, behaviour_logp_T=scored[0].old_logp_T, foreign_E=everything_E)
        return shaped(rollout, self._view.rewards)

    def learn(self, lesson: Lesson, state: State) -> Learned:
        """Takes the optimiser steps of a round.

        Args:
            lesson: The round.
            state: What the advantage stage remembers.

        Raises:
            NotFiniteError: If a loss or a gradient is not a number; the weights are then those before the step.
        """
        method, context = self._view.method, lesson.context
        advantages = method.advantage(lesson.rollout, state)
        found: dict[str, Average] = dict(advantages.metrics)
        losses = []
        with self.policy.updating():
            for number, episodes in enumerate(lesson.shares, start=context.update + 1):
                batch = MiniBatch.of(lesson.experience, episodes, method)
                step = replace(context, update=number)
                loss = self._updater.backward(batch, lesson.rollout, advantages.advantage_T, step)
                self._processes.sum_gradients(self.policy.trained)
                norm = self.optimiser.gradient_norm()
                if not (math.isfinite(loss.loss) and math.isfinite(norm)):
                    self.optimiser.forget_gradient()
                    raise NotFiniteError(_advice(context.round, number, loss.loss, norm), lesson.experience)
                self.optimiser.step(number)
                found = merge_metrics(found, loss.metrics)
                found = merge_metrics(found, {"gradient_norm": _one(norm)})
                losses.append(loss.loss)
        self._processes.require_alike(self.policy.trained)
        self.policy.weights_changed(context.update + len(lesson.shares))
        metrics = {name: average.value for name, average in found.items()}
        metrics |= {"loss": sum(losses) / max(1, len(losses)), "learning_rate": self.optimiser.rate}
        return Learned(advantages.state, {f"{self.label}{name}": value for name, value in metrics.items()})


def _one(value: float) -> Average:
    return Average(torch.tensor(value, dtype=torch.float64), torch.tensor(1.0))


def _advice(number: int, update: int, loss: float, norm: float) -> str:
    return (
        f"round {number}, step {update}: the loss is {loss:g} and the norm of the gradient {norm:g}, so the step was "
        "not taken; try a lower optimiser.learning_rate, float32, or a narrower method.aggregation.clip_range"
    )
