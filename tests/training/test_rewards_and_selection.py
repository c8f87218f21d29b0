import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import Layout, Rollout, Segments, StepRowAdvantage
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
