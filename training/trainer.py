"""The trainer: one loop over the stages, whatever the method."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch

from ..agents.agent import Agent, episode_seed
from ..agents.rollout import EpisodeJob, roll_out
from ..agents.trajectory import Trajectory
from ..envs.task import Task
from . import round_metrics
from .advantages import COLLAPSED, State, deviation
from .batch import Context, Rollout
from .collapse import remember_collapse
from .config import TrainConfig
from .experience import Experience
from .learner import Learner, Lesson
from .method import Method
from .models import Models
from .playground import Playground
from .policy import Policy
from .processes import ALONE, Processes
from .sampling import DrawInputs, GroupResult
from .sources import Player, RolloutRequest, Slot

Memory = Mapping[str, State]

EachEpisode = Callable[[int, int], None]
"""Told how many episodes have ended, of how many that are being played."""


class Progress(NamedTuple):
    """How far a run is; with the weights and the optimisers' states, all that a run goes on from.

    Attributes:
        round: Rounds that are done.
        update: Optimiser steps that are done.
        stage: What each stage remembers, by its name.
    """

    round: int = 0
    update: int = 0
    stage: Memory = {}  # noqa: RUF012

    def of(self, stage: str) -> State:
        """What a stage remembers; nothing before its first round."""
        return self.stage.get(stage, {})


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
    """Trains policies by a method.

    Args:
        config: The settings.
        models: What learns, and what plays for it.
        playground: Tasks and environments.
        processes: Who shares the work: each plays some of the episodes, or the first plays all, and all get all.
        each_episode: Told of each episode that this process has played.

    Attributes:
        playground: Tasks and environments.
        learners: What learns; the first is the policy that plays.
    """

    def __init__(
        self,
        config: TrainConfig,
        models: Models,
        playground: Playground,
        processes: Processes = ALONE,
        each_episode: EachEpisode = lambda ended, episodes: None,
    ) -> None:
        self._config = config
        self._processes = processes
        self._each_episode = each_episode
        self._models = models
        self.playground = playground
        self.learners: tuple[Learner, ...] = models.learners

    def round(self, done: Progress) -> RoundReport:
        """Plays and learns: one round of the loop.

        Args:
            done: How far the run is.

        Raises:
            NothingToTrainOnError: If no episode of the round can be trained on.
            NotFiniteError: If a loss or a gradient is not a number; the weights are then those before the step.
        """
        config, method, clock = self._config, self._config.method, _Clock()
        number, memory = done.round + 1, dict(done.stage)
        further = config.groups * (method.batches - 1)
        draw = DrawInputs(self.playground.train, config.groups, number, config.seed, further)
        with clock("rollout"):
            rolled = method.source(self._request(method.sampler(draw, done.of("sampler")), number))
            experience = Experience.of(rolled.groups, least=method.least_of_group, explored=rolled.explored)
        with clock("score"):
            scored = [learner.score(experience) for learner in self.learners]
            rollouts = [learner.rollout(experience, scored) for learner in self.learners]
        seen = rollouts[0]
        memory["accuracy"] = _accuracy(seen, done.of("accuracy"))
        drawn = method.sampler.remember(_results(experience, seen), done.of("sampler"))
        metrics = round_metrics.of_episodes(experience, seen)
        collapse = remember_collapse(metrics["collapsed_groups"], number, done.of("collapse"))
        memory |= {"sampler": drawn.state, "collapse": collapse.state}
        metrics |= {**rolled.metrics, **drawn.metrics, **collapse.metrics}
        if self._models.policy.temperature == 1:  # otherwise the sampler's and the trainer's are two quantities
            metrics |= round_metrics.of_sampler(seen)
        kept = _select(method, seen, rolled.batch)
        shares = shares_of_round(len(kept), config, number)
        context = Context(round=number, update=done.update, seed=config.seed, **memory["accuracy"])
        with clock("update"):
            for learner, rollout in zip(self.learners, rollouts, strict=True):
                lesson = Lesson(experience.take(kept), rollout.take(kept), shares, context)
                learned = learner.learn(lesson, done.of(f"{learner.label}advantage"))
                memory[f"{learner.label}advantage"] = learned.state
                metrics |= learned.metrics
        trained = experience.take(kept)
        metrics |= round_metrics.of_speed(experience, trained, config.epochs, clock.seconds)
        stage = {name: state for name, state in memory.items() if state}
        return RoundReport(Progress(number, done.update + len(shares), stage), metrics, clock.seconds)

    def validate(self, learner: Learner) -> tuple[Trajectory, ...]:
        """Lets a learner play the validation panel, every task once and greedily.

        Returns:
            The episodes, in the panel's order.
        """
        playground = self.playground
        assert playground.validation is not None
        tasks = playground.validation.tasks
        jobs = [EpisodeJob(task, 0, episode_seed(self._config.seed, task.id, 0)) for task in tasks]
        played = self._play(learner.policy, playground.make_validation, jobs, greedy=True)
        return tuple(played[task.id, 0] for task in tasks)

    def _request(self, tasks: Sequence[Task], number: int) -> RolloutRequest:
        config, playground, policy = self._config, self.playground, self._models.policy
        play = partial(self._play, policy, playground.make_train)
        explorer = self._models.explorer
        return RolloutRequest(
            tasks=tasks,
            group_size=config.group_size,
            round=number,
            rounds=config.rounds,
            seed=config.seed,
            policy=Player(play, sum(one.numel() for one in policy.model.parameters())),
            explorer=None
            if explorer is None
            else explorer.player(playground.kind, self._roll_out, playground.make_train),
            batch=config.groups,
            enough=partial(config.method.enough, wanted=config.groups),
        )

    def _play(
        self, policy: Policy, make_env: Callable[[], object], jobs: Sequence[EpisodeJob], *, greedy: bool = False
    ) -> dict[Slot, Trajectory]:
        """Lets a policy play, and writes down with which weights it has."""
        mine = policy.share(jobs)
        agent = policy.agent(self.playground.kind, greedy=greedy) if mine else None
        # Who plays for all has as many at once as all would have.
        players = self._processes.count if len(mine) == len(jobs) else 1
        played = self._gathered(agent, make_env, mine, self._config.in_flight * players)
        return {slot: replace(one, updates=policy.updates) for slot, one in played.items()}

    def _roll_out(
        self, agent: Agent, make_env: Callable[[], object], jobs: Sequence[EpisodeJob]
    ) -> dict[Slot, Trajectory]:
        """Lets an agent play that every process has."""
        return self._gathered(agent, make_env, self._processes.share(jobs), self._config.in_flight)

    def _gathered(
        self, agent: Agent | None, make_env: Callable[[], object], mine: Sequence[EpisodeJob], in_flight: int
    ) -> dict[Slot, Trajectory]:
        """Plays the episodes of this process, so many at once, and returns those of all."""
        played: list[Trajectory] = []
        self._each_episode(0, len(mine))
        if agent is not None:
            in_flight = max(1, min(in_flight, len(mine)))
            for one in roll_out(mine, agent, make_env, in_flight):  # type: ignore[arg-type]
                played.append(one)
                self._each_episode(len(played), len(mine))
        return {(one.task_id, one.sample): one for share in self._processes.gather(played) for one in share}


class _Clock:
    """Wall time by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - began


def _accuracy(rollout: Rollout, last: State) -> State:
    """Mean and deviation of the verifier rewards of the policy's own episodes; those of the last round without any."""
    verifier_E = rollout.verifier_E.double()[rollout.learner_E]
    if not len(verifier_E):
        return last
    return {"accuracy": float(verifier_E.mean()), "accuracy_std": float(verifier_E.std(correction=0))}


def _results(experience: Experience, rollout: Rollout) -> list[GroupResult]:
    """How the groups did in which the policy itself has played."""
    groups, own_E = rollout.layout.groups, rollout.learner_E
    collapsed_P = deviation(rollout.verifier_E.double(), groups, "population") < COLLAPSED
    found = []
    for group in range(groups.count):
        mine = ((groups.index == group) & own_E).nonzero().squeeze(1)
        if len(mine):
            task_id = experience.trajectories[int(mine[0])].task_id
            found.append(
                GroupResult(task_id, float(rollout.verifier_E[mine].double().mean()), bool(collapsed_P[group]))
            )
    return found


def _select(method: Method, rollout: Rollout, wanted: int | None) -> list[int]:
    """Numbers of the episodes that are trained on; all, if the selection would leave none."""
    everything = list(range(rollout.layout.episodes.count))
    if method.selection is None:
        return everything
    return method.selection(rollout, wanted).nonzero().squeeze(1).tolist() or everything


def shares_of_round(episodes: int, config: TrainConfig, number: int) -> list[list[int]]:
    """Deals the episodes of a round out to its optimiser steps, in each pass evenly and at random.

    Args:
        episodes: How many there are.
        config: The settings.
        number: Number of the round, from 1.

    Returns:
        Numbers of the episodes of each step; no step is empty.
    """
    steps = min(config.updates, episodes)
    dealt = []
    for epoch in range(config.epochs):
        purpose = f"updates of round {number}" if epoch == 0 else f"updates of round {number}, epoch {epoch}"
        generator = torch.Generator().manual_seed(episode_seed(config.seed, purpose, 0) % 2**63)
        order = torch.randperm(episodes, generator=generator).tolist()
        dealt += [sorted(order[start::steps]) for start in range(steps)]
    return dealt
