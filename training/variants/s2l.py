"""S2L-PO: a small frozen model explores for the policy, less from round to round (arXiv 2605.30789)."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

from ...agents.trajectory import Outcome, Trajectory
from ...envs.errors import ConfigError
from ..sources import OnPolicy, Player, RolloutRequest, Rollouts, Slot, jobs_of, tokens_of


class Mix(NamedTuple):
    """Episodes of a group: those of the explorer, and those of the policy that learns."""

    explorer: int
    learner: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorerMix:
    """The explorer plays a share alpha of each group, the policy the rest (algorithm 1).

    In round i of the first ``transition`` T, alpha_i = 1 - (i - 1) / (T - 1); from then on it is 0. So round T is the
    first without the explorer. T = 1 gives alpha = 1 in that round, where the formula is 0/0 [X]; T = 0 turns the
    method off. A round is a rollout round, not an optimiser step.

    | groups | episodes of the explorer and of the policy | compared with each other |
    |---|---|---|
    | ``joint`` | ceil(alpha G) and G - ceil(alpha G), as in the paper | all of a task |
    | ``separate`` | ceil(alpha G) and ceil((1 - alpha) G), as in the authors' code | each kind among itself |

    The explorer's tokens are learned like the policy's own: the old log-probabilities are the policy's, so there is no
    correction for who played. The token weight ``truncated_importance`` adds one [X].

    The authors' code takes an optimiser step for the explorer's episodes and then one for the policy's; here both kinds
    are dealt out to the same steps.

    Attributes:
        transition: Rounds of the transition; None takes half of the run's.
        groups: As above.

    Raises:
        ConfigError: If ``transition`` is negative.
    """

    name: Literal["explorer"] = "explorer"
    transition: int | None = None
    groups: Literal["joint", "separate"] = "joint"

    def __post_init__(self) -> None:
        if self.transition is not None and self.transition < 0:
            raise ConfigError(f"a transition of {self.transition} rounds: it must be 0 or more")

    def share(self, round: int, rounds: int) -> float:
        """Alpha of a round.

        Args:
            round: Number of the round, from 1.
            rounds: Rounds of the run.
        """
        length = rounds // 2 if self.transition is None else self.transition
        if round > length:
            return 0.0
        return 1 - (round - 1) / (length - 1) if length > 1 else 1.0

    def mix(self, round: int, rounds: int, size: int) -> Mix:
        """Episodes of a group of ``size``."""
        share = self.share(round, rounds)
        explorer = _ceil(share * size)
        return Mix(explorer, size - explorer if self.groups == "joint" else _ceil((1 - share) * size))

    def __call__(self, request: RolloutRequest) -> Rollouts:
        """Plays the round.

        Raises:
            ConfigError: If there is no explorer and the round needs one.
        """
        if self.transition == 0:
            alone = OnPolicy()(request)
            cost = rollout_cost(request.policy, None, chain.from_iterable(alone.groups), ())
            return alone._replace(metrics={"explorer/alpha": 0.0, **cost, **alone.metrics})
        mix = self.mix(request.round, request.rounds, request.group_size)
        # The policy's samples come first: without an explorer they are those of a run without this stage.
        groups = jobs_of(request, mix.explorer + mix.learner)
        own = [job for group in groups for job in group[: mix.learner]]
        others = [job for group in groups for job in group[mix.learner :]]
        played = dict(request.policy.play(own)) if own else {}
        if others:
            if request.explorer is None:
                raise ConfigError("S2L-PO needs a small model that explores: set explorer.model")
            played |= request.explorer.play(others)
        kinds = [[[played[job.task.id, job.sample] for job in group] for group in groups]]
        if self.groups == "separate":
            kinds = [[group[: mix.learner] for group in kinds[0]], [group[mix.learner :] for group in kinds[0]]]
        explored = frozenset((job.task.id, job.sample) for job in others)
        cost = rollout_cost(request.policy, request.explorer, played.values(), explored)
        return Rollouts(
            [group for kind in kinds for group in kind if group],
            explored,
            {"explorer/alpha": self.share(request.round, request.rounds), **cost},
        )


def rollout_cost(
    policy: Player, explorer: Player | None, played: Iterable[Trajectory], explored: Collection[Slot]
) -> dict[str, float]:
    """What the rollouts of a round cost, for the log.

    ``rollout_cost`` is the sum over all tokens that were sampled of the weights of the model that sampled them, as in
    ``OnPolicy``. Two runs of the same policy are compared by its sums, whoever plays and however much.

    ``rollout_cost_share`` is the cost of a token: ``rollout_cost`` over the cost that the same tokens would have had
    if the policy had sampled all of them. 1 less this is the saving that the paper speaks of, at the same number of
    episodes of the same length. It does not see how much is sampled: whoever plays twice as many episodes has the same
    share.

    Episodes from a file count as if they had been played now.

    Args:
        policy: The policy.
        explorer: The explorer.
        played: All episodes.
        explored: Those of the explorer.
    """
    theirs: list[Trajectory] = []
    own: list[Trajectory] = []
    for one in played:
        (theirs if (one.task_id, one.sample) in explored else own).append(one)
    tokens = {"explorer/tokens": tokens_of(theirs), "policy/tokens": tokens_of(own)}
    cost = tokens["policy/tokens"] * policy.parameters
    cost += tokens["explorer/tokens"] * (explorer.parameters if explorer else 0)
    outcomes = [one.outcome is Outcome.WON for one in theirs if one.outcome.finished]
    found = {
        "explorer/episodes": float(len(explored)),
        **{name: float(number) for name, number in tokens.items()},
        "rollout_cost": float(cost),
        "rollout_cost_share": cost / max(1, sum(tokens.values()) * policy.parameters),
    }
    return found | ({"explorer/success": sum(outcomes) / len(outcomes)} if outcomes else {})


def _ceil(value: float) -> int:
    """Rounds up, but not for what floating point adds to a whole number."""
    return math.ceil(value - 1e-9)
