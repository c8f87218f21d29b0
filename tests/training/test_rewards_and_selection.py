import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import Layout, Rollout
from holdergym.training.rewards import OverlongPenalty
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
