"""The trainer: one loop over the stages, whatever the method."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import torch

from ..agents.agent import Agent, episode_seed
from ..agents.rollout import EpisodeJob, roll_out
from ..agents.trajectory import Outcome, Trajectory
from ..envs.errors import HolderGymError
from ..envs.task import Task
from .advantages import GlobalAdvantage, GroupAdvantage, State, collapse_rate
from .batch import Average, Context, Rollout, merge_metrics
from .config import TrainConfig
from .experience import Experience
from .optimiser import Optimiser
from .playground import Playground, tasks_of_round
from .policy import Policy
from .updating import MiniBatch, Updater


class NotFiniteError(HolderGymError):
    """A loss or a gradient is not a number, so nothing was learned from it.

    Attributes:
        experience: The round, for whoever wants to look at it.
    """

    def __init__(self, message: str, experience: Experience) -> None:
        self.experience = experience
        super().__init__(message)


class Progress(NamedTuple):
    """How far a run is; with the weights and the optimiser's state, all that a run goes on from.

    Attributes:
        round: Rounds that are done.
        update: Optimiser steps that are done.
        stage: What the advantage stage remembers.
    """

    round: int = 0
    update: int = 0
    stage: State = {}  # noqa: RUF012


class RoundReport(NamedTuple):
    """What a round did.

    Attributes:
        progress: How far the run is now.
        metrics: Numbers for the log, by name.
        seconds: Wall time of each stage.
    """

    progress: Progress
    metrics: dict[str, float]
    seconds: dict[str, float]


class Trainer:
    """Trains a policy by a method.

    Args:
        config: The settings.
        policy: The policy.
        playground: Tasks and environments.
        optimiser: Moves the policy's weights.

    Attributes:
        playground: Tasks and environments.
    """

    def __init__(self, config: TrainConfig, policy: Policy, playground: Playground, optimiser: Optimiser) -> None:
        self._config = config
        self._policy = policy
        self.playground = playground
        self._optimiser = optimiser
        self._updater = Updater(config.method, policy.scorer, config.part_tokens)

    def round(self, done: Progress) -> RoundReport:
        """Plays and learns: one round of the loop.

        Args:
            done: How far the run is.

        Raises:
            NothingToTrainOnError: If no episode of the round can be trained on.
            NotFiniteError: If a loss or a gradient is not a number; the weights are then those before the step.
        """
        config, method, clock = self._config, self._config.method, _Clock()
        number = done.round + 1
        with clock("rollout"):
            groups = self._play(number)
            experience = Experience.of(groups, least=2 if isinstance(method.advantage, GroupAdvantage) else 1)
        with clock("score"):
            rollout = self._rollout(experience)
        context = _context(number, config.seed, rollout)
        kept = self._select(rollout)
        advantages = method.advantage(rollout, done.stage)
        metrics = _played(groups, experience, rollout)
        if self._policy.temperature == 1:  # otherwise the sampler's and the trainer's are two quantities
            metrics["sampler_mismatch"] = _mismatch(rollout)
        learned: dict[str, Average] = dict(advantages.metrics)
        update, losses = done.update, []
        with clock("update"), self._policy.updating():
            for episodes in _shares(kept, config.updates, config.seed, number):
                update += 1
                batch = MiniBatch.of(experience, episodes, method)
                step = replace(context, update=update)
                found = self._updater.backward(batch, rollout, advantages.advantage_T, step)
                norm = self._optimiser.gradient_norm()
                if not (math.isfinite(found.loss) and math.isfinite(norm)):
                    self._optimiser.forget_gradient()
                    raise NotFiniteError(_advice(number, update, found.loss, norm), experience)
                self._optimiser.step(update)
                learned = merge_metrics(learned, found.metrics)
                learned = merge_metrics(learned, {"gradient_norm": _one(norm)})
                losses.append(found.loss)
        self._policy.weights_changed()
        metrics |= {name: average.value for name, average in learned.items()}
        metrics |= {"loss": sum(losses) / max(1, len(losses)), "learning_rate": self._optimiser.rate}
        metrics |= _speed(experience, clock.seconds)
        return RoundReport(Progress(number, update, advantages.state), metrics, clock.seconds)

    def validate(self) -> tuple[Trajectory, ...]:
        """Plays the validation panel, every task once and greedily.

        Returns:
            The episodes, in the panel's order.
        """
        playground = self.playground
        assert playground.validation is not None
        tasks = playground.validation.tasks
        jobs = [EpisodeJob(task, 0, episode_seed(self._config.seed, task.id, 0)) for task in tasks]
        agent = self._policy.agent(playground.kind, greedy=True)
        played = self._roll_out(jobs, agent, playground.make_validation)
        return tuple(played[task.id, 0] for task in tasks)

    def _play(self, number: int) -> list[list[Trajectory]]:
        """The groups of a round."""
        config, playground = self._config, self.playground
        tasks = tasks_of_round(playground.train, config.groups, number, config.seed)
        # A small panel may come twice in a round: then its samples are counted on.
        first: dict[str, int] = {}
        slots: list[list[tuple[Task, int]]] = []
        for task in tasks:
            start = first.get(task.id, 0)
            first[task.id] = start + config.group_size
            slots.append([(task, sample) for sample in range(start, start + config.group_size)])
        jobs = [
            EpisodeJob(task, sample, episode_seed(config.seed, f"round {number} {task.id}", sample))
            for group in slots
            for task, sample in group
        ]
        agent = self._policy.agent(playground.kind)
        played = self._roll_out(jobs, agent, playground.make_train)
        return [[played[task.id, sample] for task, sample in group] for group in slots]

    def _roll_out(
        self, jobs: Sequence[EpisodeJob], agent: Agent, make_env: Callable[[], object]
    ) -> dict[tuple[str, int], Trajectory]:
        in_flight = min(self._config.in_flight, len(jobs))
        played = roll_out(jobs, agent, make_env, in_flight)  # type: ignore[arg-type]
        return {(one.task_id, one.sample): one for one in played}

    def _rollout(self, experience: Experience) -> Rollout:
        config, method = self._config, self._config.method
        old_T = self._policy.scorer.all(experience.sequences, config.part_tokens).logp_T
        reference_T = None
        if method.needs_reference:
            with self._policy.reference() as scorer:
                reference_T = scorer.all(experience.sequences, config.part_tokens).logp_T
        in_rows = not isinstance(method.advantage, GroupAdvantage | GlobalAdvantage)
        rollout = experience.rollout(config.rewards, old_T, reference_T, penalty_in_rows=in_rows)
        if method.reward is None:
            return rollout
        tokens_E = experience.layout.units("trajectory").sizes
        return replace(rollout, reward_E=method.reward(rollout.reward_E, tokens_E))

    def _select(self, rollout: Rollout) -> list[int]:
        """Numbers of the episodes that are trained on; all, if the selection would leave none."""
        everything = list(range(rollout.layout.episodes.count))
        if self._config.method.selection is None:
            return everything
        keep_E = self._config.method.selection(rollout)
        return keep_E.nonzero().squeeze(1).tolist() or everything


class _Clock:
    """Wall time by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - began


def _context(number: int, seed: int, rollout: Rollout) -> Context:
    verifier_E = rollout.verifier_E.double()
    return Context(
        round=number,
        seed=seed,
        accuracy=float(verifier_E.mean()),
        accuracy_std=float(verifier_E.std(correction=0)),
    )


def _shares(episodes: Sequence[int], updates: int, seed: int, number: int) -> list[list[int]]:
    """Deals the episodes of a round out to its optimiser steps, evenly and at random."""
    generator = torch.Generator().manual_seed(episode_seed(seed, f"updates of round {number}", 0) % 2**63)
    order = [episodes[place] for place in torch.randperm(len(episodes), generator=generator).tolist()]
    shares = [sorted(order[start::updates]) for start in range(min(updates, len(order)))]
    return [share for share in shares if share]


def _played(groups: Sequence[Sequence[Trajectory]], experience: Experience, rollout: Rollout) -> dict[str, float]:
    """What the log says of the episodes."""
    kept = experience.trajectories
    turns = [turn for one in kept for turn in one.turns]
    won = [one.outcome is Outcome.WON for one in kept]
    numbers = {
        "reward": float(rollout.reward_E.double().mean()),
        "success": sum(won) / len(won),
        "goal_conditions": sum(one.goal_condition_success_rate or 0.0 for one in kept) / len(kept),
        "turns": len(turns) / len(kept),
        "response_tokens": len(experience.sampled_logp_T) / len(turns),
        "invalid_commands": sum(not turn.valid for turn in turns) / len(turns),
        "unparsable": sum(turn.unparsable for turn in turns) / len(turns),
        "cut_responses": sum(turn.finish == "length" for turn in turns) / len(turns),
        "episodes": float(len(kept)),
        "failed_episodes": float(experience.failed),
        "left_out_episodes": float(experience.lonely),
        "collapsed_groups": collapse_rate(rollout).value,
    }
    for kind in sorted({one.task_type for one in kept}):
        of_kind = [one.outcome is Outcome.WON for one in kept if one.task_type == kind]
        numbers[f"success/{kind}"] = sum(of_kind) / len(of_kind)
    assert len(groups) >= experience.layout.groups.count
    return numbers


def _mismatch(rollout: Rollout) -> float:
    """Largest difference of the sampler's log-probability of a token from the trainer's.

    What is off by more than rounding trains the policy on what it did not say.
    """
    assert rollout.behaviour_logp_T is not None
    return float((rollout.behaviour_logp_T - rollout.old_logp_T).abs().max())


def _speed(experience: Experience, seconds: dict[str, float]) -> dict[str, float]:
    sampled = len(experience.sampled_logp_T)
    total = sum(len(one.ids) for one in experience.sequences)
    found = {"sampled_tokens_per_s": sampled / seconds["rollout"], "trained_tokens_per_s": total / seconds["update"]}
    if torch.cuda.is_available():
        found["memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return found


def _one(value: float) -> Average:
    return Average(torch.tensor(value, dtype=torch.float64), torch.tensor(1.0))


def _advice(number: int, update: int, loss: float, norm: float) -> str:
    return (
        f"round {number}, step {update}: the loss is {loss:g} and the norm of the gradient {norm:g}, so the step was "
        "not taken; try a lower optimiser.learning_rate, float32, or a narrower method.aggregation.clip_range"
    )
