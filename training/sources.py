"""Stage 2: who plays the episodes of a round."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..agents.agent import episode_seed
from ..agents.rollout import EpisodeJob
from ..agents.trajectory import Trajectory
from ..envs.errors import ConfigError
from ..envs.task import Task

Slot = tuple[str, int]
"""An episode of a round: its task's id and its sample."""


class Player(NamedTuple):
    """Who can play.

    Attributes:
        play: Plays jobs and returns the episodes by slot.
        parameters: Number of weights, for what the rollouts cost.
    """

    play: Callable[[Sequence[EpisodeJob]], Mapping[Slot, Trajectory]]
    parameters: int


class RolloutRequest(NamedTuple):
    """What a source is asked for.

    Attributes:
        tasks: The tasks of the round, batch after batch; a small panel may come twice.
        group_size: Episodes a task that the settings ask for.
        round: Number of the round, from 1.
        rounds: Rounds of the run.
        seed: Seed of the run.
        policy: The policy that is trained.
        explorer: The frozen model, where the settings name one.
        batch: Tasks that are played before it is asked whether more are wanted; None plays all at once.
        enough: Whether no further batch is wanted, by the groups so far.
    """

    tasks: Sequence[Task]
    group_size: int
    round: int
    rounds: int
    seed: int
    policy: Player
    explorer: Player | None = None
    batch: int | None = None
    enough: Callable[[Sequence[Sequence[Trajectory]]], bool] = lambda groups: False


class Rollouts(NamedTuple):
    """The episodes of a round.

    Attributes:
        groups: The episodes of each group; advantages compare those of one group.
        explored: Those that another model than the policy has played.
        metrics: Numbers for the log.
        batch: Groups of the first batch, where there may be others; None if all are of one.
    """

    groups: list[list[Trajectory]]
    explored: frozenset[Slot] = frozenset()
    metrics: Mapping[str, float] = {}
    batch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnPolicy:
    """The policy plays all episodes.

    The log has ``policy/tokens``, all tokens that were sampled, and ``rollout_cost``, these times the policy's weights.
    Both count every episode that was begun, so also those that failed and those that a selection leaves out later.
    ``batches`` are those that were played where a selection may ask for more than one.

    Attributes:
        oversample: Episodes played for each one that ``group_size`` asks for; a selection stage is to thin them out.

    Raises:
        ConfigError: If ``oversample`` is below 1.
    """

    name: Literal["policy"] = "policy"
    oversample: int = 1

    def __post_init__(self) -> None:
        if self.oversample < 1:
            raise ConfigError(f"an oversampling of {self.oversample}: it must be 1 or more")

    def __call__(self, request: RolloutRequest) -> Rollouts:
        """Plays the round."""
        jobs = jobs_of(request, request.group_size * self.oversample)
        size = request.batch or len(jobs)
        groups: list[list[Trajectory]] = []
        for start in range(0, len(jobs), size):
            batch = jobs[start : start + size]
            played = request.policy.play([job for group in batch for job in group])
            groups += [[played[job.task.id, job.sample] for job in group] for group in batch]
            if request.enough(groups):
                break
        tokens = sum(tokens_of(group) for group in groups)
        metrics = {"policy/tokens": float(tokens), "rollout_cost": float(tokens * request.policy.parameters)}
        if size >= len(jobs):
            return Rollouts(groups, metrics=metrics)
        return Rollouts(groups, metrics=metrics | {"batches": float(-(-len(groups) // size))}, batch=size)


def tokens_of(played: Iterable[Trajectory]) -> int:
    """Tokens that were sampled for episodes, as far as they are known."""
    return sum(len(turn.response_ids or ()) for one in played for turn in one.turns)


def jobs_of(request: RolloutRequest, size: int) -> list[list[EpisodeJob]]:
    """The episodes of each group. A small panel may come twice in a round: then its samples are counted on.

    Args:
        request: The round.
        size: Episodes a group.
    """
    first: dict[str, int] = {}
    groups = []
    for task in request.tasks:
        start = first.get(task.id, 0)
        first[task.id] = start + size
        name = f"round {request.round} {task.id}"
        groups.append(
            [
                EpisodeJob(task, sample, episode_seed(request.seed, name, sample))
                for sample in range(start, start + size)
            ]
        )
    return groups
