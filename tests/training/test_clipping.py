import math

import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import Context
from holdergym.training.clipping import UNBOUNDED, ClipRange, RewardAdaptiveClip, bound

HERE = Context()


@pytest.mark.parametrize("advantage", [1.7, -0.4, 0.0])
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.2), (0.2, 0.28), (3e-4, 4e-4), (1.0, 1.0)])
def test_the_bound_is_ppos_minimum(advantage: float, low: float, high: float) -> None:
    log_ratio = torch.linspace(-3, 3, 601, dtype=torch.float64)
    ratio = log_ratio.exp()
    expected = torch.minimum(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)
    bounded = bound(log_ratio, torch.full_like(ratio, advantage), ClipRange(low=low, high=high).bounds(HERE), 80)
    torch.testing.assert_close(advantage * bounded.exp(), expected)


def test_dual_clip_caps_the_loss_of_negative_advantages() -> None:
    log_ratio = torch.tensor([2.0, 0.5, -1.0], dtype=torch.float64)
    bounds = ClipRange(dual=3.0).bounds(HERE)
    negative = bound(log_ratio, torch.full_like(log_ratio, -1), bounds, 80).exp()
    assert negative.tolist() == pytest.approx([3.0, math.exp(0.5), 0.8])
    positive = bound(log_ratio, torch.ones_like(log_ratio), bounds, 80).exp()
    assert positive.tolist() == pytest.approx([1.2, 1.2, math.exp(-1)])


def test_log_range_is_gmpos_clip() -> None:
    log_ratio = torch.tensor([0.5, 0.3, -0.5], dtype=torch.float64)
    bounds = ClipRange(low=0.4, high=0.4, log=True).bounds(HERE)
    assert bound(log_ratio, torch.ones(3), bounds, 80).tolist() == pytest.approx([0.4, 0.3, -0.5])
    assert bound(log_ratio, -torch.ones(3), bounds, 80).tolist() == pytest.approx([0.5, 0.3, -0.4])


def test_the_derivative_is_zero_beyond_a_bound_and_one_within_it() -> None:
    log_ratio = torch.tensor([0.5, 0.1, -0.5], dtype=torch.float64, requires_grad=True)
    bound(log_ratio, torch.ones(3), ClipRange().bounds(HERE), 80).sum().backward()
    assert log_ratio.grad is not None
    assert log_ratio.grad.tolist() == [0, 1, 1]


def test_the_limit_holds_whatever_the_sign() -> None:
    log_ratio = torch.full((3,), 500.0)
    assert bound(log_ratio, torch.tensor([1.0, -1.0, 0.0]), UNBOUNDED, 80).tolist() == [80, 80, 80]


def test_apmpos_upper_bound() -> None:
    clip = RewardAdaptiveClip()
    assert math.exp(clip.bounds(Context(accuracy=0.0, accuracy_std=0.0)).upper) == pytest.approx(1.2)
    assert math.exp(clip.bounds(Context(accuracy=1.0, accuracy_std=0.0)).upper) == pytest.approx(1.4)
    even = clip.bounds(Context(accuracy=0.5, accuracy_std=0.5))
    assert math.exp(even.upper) == pytest.approx(1.2 + 0.2 * math.tanh(1), rel=1e-6)
    assert math.exp(even.lower) == pytest.approx(0.8)


def test_bad_settings() -> None:
    with pytest.raises(ConfigError, match="0 or more"):
        ClipRange(low=-0.1)
    with pytest.raises(ConfigError, match="above 1"):
        ClipRange(dual=1.0)
    with pytest.raises(ConfigError, match="narrow <= wide"):
        RewardAdaptiveClip(narrow=0.5)
