from dataclasses import replace
from statistics import fmean, stdev

import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import GiGPOAdvantage, Layout, Rollout, Segments, StepRowAdvantage

# One group of two episodes with 3 and 2 turns, one token each; a second group with one episode of one turn.
LAYOUT = Layout(
    rows=Segments.from_lengths([1] * 6), episodes=Segments.from_lengths([3, 2, 1]), groups=Segments.from_lengths([2, 1])
)
ROLLOUT = Rollout(
    layout=LAYOUT,
    reward_E=torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64),
    verifier_E=torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64),
    old_logp_T=torch.zeros(6),
    step_reward_B=torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0, 1.0], dtype=torch.float64),
    anchor_B=torch.tensor([7, 8, 7, 7, 9, 7]),
)
RETURNS = [0.95**2, 0.95, 1.0, 0.0, 0.0, 1.0]


def test_steps_from_one_state_are_compared_with_one_another() -> None:
    """Turns 0, 2 and 3 saw observation 7; the last turn did too, but belongs to another group."""
    shared = [RETURNS[0], RETURNS[2], RETURNS[3]]
    step = [0.0] * 6
    for turn in (0, 2, 3):
        step[turn] = (RETURNS[turn] - fmean(shared)) / (stdev(shared) + 1e-6)
    episode_B = StepRowAdvantage()(ROLLOUT, {}).advantage_T.tolist()
    for weight in (0.0, 1.0, 2.5):
        got = GiGPOAdvantage(step_weight=weight)(ROLLOUT, {})
        assert got.advantage_T.tolist() == pytest.approx(
            [e + weight * s for e, s in zip(episode_B, step, strict=True)], abs=1e-12
        )
    assert got.metrics["anchor_shared_share"].value == 0.5


def test_votes_of_episodes_and_no_scale() -> None:
    got = GiGPOAdvantage(votes="episodes", scale="none")(ROLLOUT, {}).advantage_T.tolist()
    mean = fmean([RETURNS[0], RETURNS[2], RETURNS[3]])
    expected = [0.5 + RETURNS[0] - mean, 0.5, 0.5 + RETURNS[2] - mean, -0.5 - mean, -0.5, 0.0]
    assert got == pytest.approx(expected, abs=1e-12)


def test_without_step_weight_it_is_the_step_row_advantage_to_the_last_bit() -> None:
    got = GiGPOAdvantage(step_weight=0.0)(ROLLOUT, {}).advantage_T
    assert torch.equal(got, StepRowAdvantage()(ROLLOUT, {}).advantage_T)


def test_it_says_what_it_lacks() -> None:
    with pytest.raises(ValueError, match="step_reward_B and anchor_B"):
        GiGPOAdvantage()(replace(ROLLOUT, anchor_B=None), {})
    with pytest.raises(ConfigError, match="discount"):
        GiGPOAdvantage(discount=1.5)
