from dataclasses import replace

import pytest
import torch
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.envs.errors import ConfigError
from holdergym.training import Layout, Rollout, Segments, StepRowAdvantage
from holdergym.training.experience import Experience, RewardSettings
from holdergym.training.gigpo import GiGPOAdvantage
from holdergym.training.rewards import OverlongPenalty, VerifierReward, shaped
from holdergym.training.selection import DropUniformGroups


def test_overlong_penalty() -> None:
    rollout = Rollout(
        layout=Layout.of_single_turns([0, 80, 85, 90, 100], group_size=5),
        reward_E=torch.ones(5),
        verifier_E=torch.ones(5),
        old_logp_T=torch.zeros(355),
    )
    assert OverlongPenalty(limit=100, buffer=20, factor=1.0)(rollout).tolist() == pytest.approx([1, 1, 0.75, 0.5, 0])
    assert OverlongPenalty(limit=100, buffer=20, factor=0.0)(rollout).tolist() == [1] * 5


def test_uniform_groups_are_dropped_by_their_verifier_reward() -> None:
    verifier = torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    rollout = Rollout(
        layout=Layout.of_single_turns([1] * 6, group_size=2),
        reward_E=torch.randn(6),  # shaping tells all apart, but does not count
        verifier_E=verifier,
        old_logp_T=torch.zeros(6),
    )
    assert DropUniformGroups()(rollout).tolist() == [False, False, True, True, False, False]
    # Of those that are left the first are taken; where none is, the first of all.
    two = replace(rollout, verifier_E=torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0, 1.0]))
    assert DropUniformGroups()(two, wanted=1).tolist() == [True, True, False, False, False, False]
    assert DropUniformGroups()(two, wanted=5).tolist() == [True, True, False, False, True, True]
    none = replace(rollout, verifier_E=torch.ones(6))
    assert DropUniformGroups()(none, wanted=2).tolist() == [True, True, True, True, False, False]


def test_groups_that_are_left_are_those_that_are_kept() -> None:
    """Episodes that failed, or ended before a first turn, are not trained on: a group may not count on them."""

    def played(sample: int, outcome: Outcome, turns: int = 1) -> Trajectory:
        turn = Turn("Say a", "a", True, 0.0, prompt_ids=(1,), response_ids=(2,), logprobs=(-1.0,))
        return Trajectory("t", "k", sample, 0, "a", (turn,) * turns, outcome, 0.0)

    won, lost, limit, error = Outcome.WON, Outcome.LOST, Outcome.LIMIT, Outcome.ERROR
    groups = [
        [played(0, won), played(1, lost), played(2, won)],
        [played(0, won), played(1, error), played(2, won)],
        [played(0, won), played(1, limit, turns=0), played(2, won)],
        [played(0, won), played(1, limit), played(2, won)],
    ]
    experience = Experience.of(groups)
    kept = DropUniformGroups()(experience.rollout(RewardSettings(), experience.sampled_logp_T))
    assert kept.tolist() == [True] * 3 + [False] * 4 + [True] * 3
    assert DropUniformGroups().left(groups) == 2


def test_bad_settings() -> None:
    with pytest.raises(ConfigError, match="buffer"):
        OverlongPenalty(limit=10, buffer=20)
    with pytest.raises(ConfigError, match="factor"):
        OverlongPenalty(factor=-1.0)


def test_correctness_alone_is_what_turns_are_compared_by_as_well() -> None:
    """A reward of 10 for success, half of it for the goal conditions, and turns that are charged for their commands."""
    made = Rollout(
        layout=Layout(Segments.from_lengths([1] * 4), Segments.from_lengths([2, 2]), Segments.from_lengths([2])),
        reward_E=torch.tensor([10.0, 5.0]),
        verifier_E=torch.tensor([1.0, 0.0]),
        old_logp_T=torch.zeros(4),
        step_reward_B=torch.tensor([0.0, 10.0, 0.0, 5.0]),
        penalty_B=torch.tensor([0.1, 0.0, 0.1, 0.0]),
        anchor_B=torch.tensor([1, 2, 1, 3]),
    )
    found = shaped(made, [OverlongPenalty(limit=2, buffer=1), VerifierReward()])
    assert found.reward_E.tolist() == [1, 0]
    assert found.step_reward_B is not None
    assert found.step_reward_B.tolist() == [0, 1, 0, 0]
    rows = StepRowAdvantage(scale="none")
    assert rows(found, {}).advantage_T.tolist() == [0.5, 0.5, -0.5, -0.5]
    assert rows(made, {}).advantage_T.tolist() != [0.5, 0.5, -0.5, -0.5]
    steps = GiGPOAdvantage(scale="none", discount=1.0)(found, {}).advantage_T
    # The first turns share an observation and are compared; the others stand alone.
    assert steps.tolist() == [1.0, 0.5, -1.0, -0.5]
    assert shaped(made, []) is made
