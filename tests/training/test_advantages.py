import math
from statistics import fmean, pstdev, stdev

import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import GlobalAdvantage, GroupAdvantage, Layout, Rollout, Segments, StepRowAdvantage
from holdergym.training.advantages import collapse_rate
from torch import Tensor

from .batches import random_layout, random_rollout

GROUPS = [[1.0, 0.0, 0.0, 1.0], [0.3, 0.9, 0.1, -0.4], [0.1] * 4, [2.5, 0.0, 0.0, 0.0]]


def single_turn_rollout(groups: list[list[float]], dtype: torch.dtype = torch.float64) -> Rollout:
    rewards = torch.tensor([reward for group in groups for reward in group], dtype=dtype)
    layout = Layout.of_single_turns([1] * len(rewards), group_size=len(groups[0]))
    return Rollout(layout=layout, reward_E=rewards, verifier_E=rewards, old_logp_T=torch.zeros(len(rewards)))


def by_group(advantage_T: Tensor, size: int = 4) -> list[list[float]]:
    return advantage_T.view(-1, size).tolist()


@pytest.mark.parametrize(("scale", "deviation"), [("population", pstdev), ("unbiased", stdev)])
def test_grpo(scale: str, deviation: object) -> None:
    stage = GroupAdvantage(scale=scale, epsilon=1e-6)  # type: ignore[arg-type]
    advantages = by_group(stage(single_turn_rollout(GROUPS), {}).advantage_T)
    for got, rewards in zip(advantages, GROUPS, strict=True):
        expected = [(r - fmean(rewards)) / (deviation(rewards) + 1e-6) for r in rewards]  # type: ignore[operator]
        assert got == pytest.approx(expected, abs=1e-9)


def test_dr_grpo_and_rloo() -> None:
    centred = by_group(GroupAdvantage(scale="none")(single_turn_rollout(GROUPS), {}).advantage_T)
    rloo = by_group(GroupAdvantage(scale="none", baseline="leave_one_out")(single_turn_rollout(GROUPS), {}).advantage_T)
    for group, rewards in enumerate(GROUPS):
        assert centred[group] == pytest.approx([r - fmean(rewards) for r in rewards], abs=1e-12)
        others = [r - fmean(rewards[:i] + rewards[i + 1 :]) for i, r in enumerate(rewards)]
        assert rloo[group] == pytest.approx(others, abs=1e-12)
        assert rloo[group] == pytest.approx([4 / 3 * a for a in centred[group]], abs=1e-12)


@pytest.mark.parametrize("reward", [0.1, 0.7, 1 / 3, 1.0])
@pytest.mark.parametrize("size", [1, 3, 7, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_rewards_and_single_episodes_get_exactly_0(reward: float, size: int, dtype: torch.dtype) -> None:
    """A mean that is off by a rounding would be divided by epsilon and trained on."""
    rollout = single_turn_rollout([[reward] * size], dtype)
    for stage in (
        GroupAdvantage(scale="unbiased", epsilon=1e-8),
        GroupAdvantage(),
        GroupAdvantage(baseline="leave_one_out", scale="none"),
    ):
        assert (stage(rollout, {}).advantage_T == 0).all()


def test_one_vote_an_episode_whatever_its_length() -> None:
    layout = Layout(
        rows=Segments.from_lengths([2, 1, 1, 1, 3]),
        episodes=Segments.from_lengths([4, 1]),
        groups=Segments.from_lengths([2]),
    )
    rewards = torch.tensor([1.0, 0.0])
    rollout = Rollout(layout=layout, reward_E=rewards, verifier_E=rewards, old_logp_T=torch.zeros(8))
    advantage_T = GroupAdvantage(scale="none")(rollout, {}).advantage_T
    assert advantage_T.tolist() == [0.5] * 5 + [-0.5] * 3
    rows = StepRowAdvantage(scale="none")(rollout, {}).advantage_T
    assert rows.tolist() == pytest.approx([0.2] * 5 + [-0.8] * 3)


def test_verl_agents_step_rows() -> None:
    """Score 10 for success less 0.1 for an invalid turn, statistics over all turns of the group, n - 1, 1e-6."""
    layout = Layout(
        rows=Segments.from_lengths([1, 2, 1, 1, 1, 3]),
        episodes=Segments.from_lengths([3, 2, 1]),
        groups=Segments(torch.tensor([0, 0, 1]), 2),
    )
    rewards = torch.tensor([10.0, 0.0, 10.0])
    penalty_B = torch.tensor([0.0, 0.1, 0.0, 0.1, 0.0, 0.1])
    rollout = Rollout(
        layout=layout, reward_E=rewards, verifier_E=rewards / 10, old_logp_T=torch.zeros(9), penalty_B=penalty_B
    )
    scores = [10.0, 9.9, 10.0, -0.1, 0.0]
    expected = [(s - fmean(scores)) / (stdev(scores) + 1e-6) for s in scores]
    single = 9.9 / (1 + 1e-6)  # a group of one row: mean 0, deviation 1
    advantage_T = StepRowAdvantage()(rollout, {}).advantage_T
    assert advantage_T.tolist() == pytest.approx(
        [expected[0], expected[1], expected[1], *expected[2:], single, single, single], rel=1e-6
    )


@pytest.mark.parametrize("baseline", ["none", "group"])
@pytest.mark.parametrize(("kl", "discount"), [(0.0, 1.0), (0.2, 1.0), (0.2, 0.9), (0.0, 0.9)])
def test_reinforce_plus_plus(baseline: str, kl: float, discount: float) -> None:
    layout = random_layout(3, least=1)
    rollout = random_rollout(3, layout)
    stage = GlobalAdvantage(baseline=baseline, kl_coefficient=kl, discount=discount)  # type: ignore[arg-type]
    got = stage(rollout, {}).advantage_T

    assert rollout.reference_logp_T is not None
    returns = [0.0] * len(got)
    for episode in range(layout.episodes.count):
        group = layout.groups.index == layout.groups.index[episode]
        reward = rollout.reward_E[episode] - (rollout.reward_E[group].mean() if baseline == "group" else 0)
        running = float(reward)
        for token in reversed((layout.units("trajectory").index == episode).nonzero().flatten().tolist()):
            cost = kl * (rollout.old_logp_T[token] - rollout.reference_logp_T[token]).item()
            returns[token] = running - cost
            running = discount * returns[token]
    mean, deviation = fmean(returns), pstdev(returns)
    assert got.tolist() == pytest.approx([(r - mean) / deviation for r in returns], abs=1e-9)
    assert got.mean().item() == pytest.approx(0, abs=1e-9)
    assert got.square().mean().item() == pytest.approx(1, abs=1e-9)


def test_reinforce_plus_plus_of_equal_rewards_is_0_and_not_a_division_by_0() -> None:
    assert (GlobalAdvantage()(single_turn_rollout([[0.1] * 5]), {}).advantage_T == 0).all()


def test_reinforce_plus_plus_needs_its_reference() -> None:
    with pytest.raises(ConfigError, match="no reference model"):
        GlobalAdvantage(kl_coefficient=0.1)(single_turn_rollout(GROUPS), {})


def test_collapse_rate() -> None:
    rollout = single_turn_rollout([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.1, 0.1]])
    assert collapse_rate(rollout).value == 0.75


def test_state_and_type_pass_through() -> None:
    rollout = single_turn_rollout(GROUPS, torch.float32)
    for stage in (GroupAdvantage(), StepRowAdvantage(), GlobalAdvantage()):
        advantages = stage(rollout, {"kept": 1.0})
        assert advantages.state == {"kept": 1.0}
        assert advantages.advantage_T.dtype == torch.float32


def test_shapes_are_checked() -> None:
    layout = Layout.of_single_turns([1, 1], group_size=2)
    with pytest.raises(ValueError, match=r"reward_E has the shape \(3,\), but the layout wants \(2,\)"):
        Rollout(layout=layout, reward_E=torch.zeros(3), verifier_E=torch.zeros(2), old_logp_T=torch.zeros(2))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (GroupAdvantage, {"epsilon": 0.0}),
        (StepRowAdvantage, {"epsilon": math.nan}),
        (GlobalAdvantage, {"discount": 0.0}),
        (GlobalAdvantage, {"kl_coefficient": -1.0}),
    ],
)
def test_bad_settings(kind: type, settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        kind(**settings)
