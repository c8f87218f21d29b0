"""From played episodes to the tensors of a round: which token belongs to which turn, episode and group."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch

from ..agents.sequences import TokenSequence, sequences_of
from ..agents.trajectory import Outcome, Trajectory
from ..envs.errors import HolderGymError
from .batch import Rollout
from .layout import Layout
from .segments import Segments


class NothingToTrainOnError(HolderGymError):
    """No episode of a round can be trained on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSettings:
    """What an episode is worth.

    Attributes:
        won: Reward of a won episode. verl-agent's ALFWorld recipe has 10.
        lost: Reward of any other finished episode.
        goal_conditions: Reward of a goal condition share of 1, paid in proportion.
        invalid_penalty: What each turn whose command was not admissible costs. Row statistics (``step_rows``,
            ``gigpo``) charge it to that turn alone, as verl-agent does; others subtract the sum from the reward.
    """

    won: float = 1.0
    lost: float = 0.0
    goal_conditions: float = 0.0
    invalid_penalty: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Experience:
    """The episodes of a round that can be trained on, with their tokens in sequences.

    The response tokens of all sequences, one after the other, are the tokens of the layout, in its order.

    Attributes:
        trajectories: The episodes; those of a group are neighbours.
        sequences: What goes through the model, in the order of episodes and turns.
        sequence_episodes: The episode of each sequence.
        layout: Tokens in turns in episodes in groups.
        sampled_logp_T: Log-probability of each response token when it was sampled, at temperature 1.
        failed: Episodes that the machinery ended, which are left out.
        lonely: Finished episodes that are left out because no other one of their group is left.
        explorer_E: Whether another model than the policy has played the episode; None where the policy played all.
    """

    trajectories: tuple[Trajectory, ...]
    sequences: tuple[TokenSequence, ...]
    sequence_episodes: tuple[int, ...]
    layout: Layout
    sampled_logp_T: torch.Tensor
    failed: int
    lonely: int
    explorer_E: torch.Tensor | None = None

    @classmethod
    def of(
        cls,
        groups: Sequence[Sequence[Trajectory]],
        *,
        merge: bool = True,
        least: int = 2,
        explored: Collection[tuple[str, int]] = (),
    ) -> "Experience":
        """Lays out the groups of a round.

        Args:
            groups: The episodes of each task from one policy.
            merge: Whether turns that go on from each other are one sequence; see ``sequences_of``.
            least: Finished episodes that a group needs. An episode without a turn has nothing to train on.
            explored: Task and sample of each episode that another model than the policy has played.

        Raises:
            NoTokensError: If a turn has no tokens.
            NothingToTrainOnError: If nothing is left.
        """
        finished = [[one for one in group if one.outcome.finished and one.turns] for group in groups]
        kept = [group for group in finished if len(group) >= least]
        played = sum(len(group) for group in groups)
        ended = sum(len(group) for group in finished)
        trajectories = tuple(one for group in kept for one in group)
        if not trajectories:
            reasons = {one.reason for group in groups for one in group if one.reason}
            why = f": {sorted(reasons)[0]}" if reasons else ""
            raise NothingToTrainOnError(f"none of {played} episodes of this round can be trained on{why}")
        found = [(number, part) for number, one in enumerate(trajectories) for part in sequences_of(one, merge=merge)]
        lengths = [length for _, part in found for length in part.lengths]
        turns = [len(one.turns) for one in trajectories]
        layout = Layout(
            Segments.from_lengths(lengths),
            Segments.from_lengths(turns),
            Segments.from_lengths([len(group) for group in kept]),
        )
        logprobs = [value for _, part in found for value, own in zip(part.logprobs, part.mask, strict=True) if own]
        return cls(
            trajectories,
            tuple(part for _, part in found),
            tuple(number for number, _ in found),
            layout,
            torch.tensor(logprobs, dtype=torch.float32),
            failed=played - ended,
            lonely=ended - len(trajectories),
            explorer_E=torch.tensor([(one.task_id, one.sample) in explored for one in trajectories])
            if explored
            else None,
        )

    def take(self, episodes: Sequence[int]) -> "Experience":
        """Cuts out some episodes; they keep their order.

        Args:
            episodes: Their numbers.
        """
        if len(episodes) == len(self.trajectories):
            return self
        part = self.layout.take(self.layout.rows_of(episodes))
        kept = part.episodes.tolist()
        new = {episode: number for number, episode in enumerate(kept)}
        sequences = [number for number, episode in enumerate(self.sequence_episodes) if episode in new]
        return replace(
            self,
            trajectories=tuple(self.trajectories[episode] for episode in kept),
            sequences=tuple(self.sequences[number] for number in sequences),
            sequence_episodes=tuple(new[self.sequence_episodes[number]] for number in sequences),
            layout=part.layout,
            sampled_logp_T=self.sampled_logp_T[part.tokens],
            explorer_E=None if self.explorer_E is None else self.explorer_E[part.episodes],
        )

    def rollout(
        self,
        rewards: RewardSettings,
        old_logp_T: torch.Tensor,
        reference_logp_T: torch.Tensor | None = None,
        *,
        penalty_in_rows: bool = False,
    ) -> Rollout:
        """The record that stages work on.

        Args:
            rewards: What an episode is worth.
            old_logp_T: Log-probabilities under the policy at the start of the round, at the sampling temperature.
            reference_logp_T: The same under the reference model.
            penalty_in_rows: Whether the penalty for an invalid command stays with its turn.
        """
        turns = [turn for one in self.trajectories for turn in one.turns]
        penalty_B = torch.tensor([0.0 if turn.valid else rewards.invalid_penalty for turn in turns])
        worth = [_worth(one, rewards) for one in self.trajectories]
        reward_E = torch.tensor(worth)
        if not penalty_in_rows:
            reward_E = reward_E - self.layout.episodes.sum(penalty_B)
        step_reward_B = torch.zeros(len(turns))
        step_reward_B[torch.cumsum(self.layout.episodes.sizes, 0) - 1] = torch.tensor(worth)
        return Rollout(
            layout=self.layout,
            reward_E=reward_E,
            verifier_E=torch.tensor([float(one.outcome is Outcome.WON) for one in self.trajectories]),
            old_logp_T=old_logp_T,
            reference_logp_T=reference_logp_T,
            behaviour_logp_T=self.sampled_logp_T,
            step_reward_B=step_reward_B,
            penalty_B=penalty_B,
            anchor_B=torch.tensor([_anchor(turn.observation) for turn in turns]),
            explorer_E=self.explorer_E,
            foreign_E=self.explorer_E,
        )


def _worth(played: Trajectory, rewards: RewardSettings) -> float:
    base = rewards.won if played.outcome is Outcome.WON else rewards.lost
    return base + rewards.goal_conditions * (played.goal_condition_success_rate or 0.0)


def _anchor(observation: str) -> int:
    """A number that is equal for equal observations, and only then but for a collision in 2^63."""
    return int.from_bytes(hashlib.sha256(observation.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 1
