import math

import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import Context, Schedule, Segments, log_power_mean
from holdergym.training.exponents import (
    ClipFractionExponent,
    ConstantExponent,
    ExponentInputs,
    RewardExponent,
    exponent_of,
)
from holdergym.training.holder import effective_sample_size

UNITS = Segments.from_lengths([4, 4, 4, 4, 1, 0])
LOG_RATIOS = torch.tensor([0.3, -0.2, 0.1, 0.0] * 4 + [0.2], dtype=torch.float64)


def inputs(clipped: list[bool], context: Context | None = None) -> ExponentInputs:
    return ExponentInputs(LOG_RATIOS, torch.tensor(clipped), UNITS, context or Context())


def test_rules_of_the_round() -> None:
    at = inputs([False] * 17, Context(round=125, accuracy=0.5))
    assert exponent_of(ConstantExponent(p=-1.0), at) == -1
    assert exponent_of(Schedule(), at) == 1
    assert exponent_of(RewardExponent(), at) == pytest.approx(math.exp(-0.4))


def test_clip_fraction_runs_from_grpo_to_gmpo() -> None:
    no, yes = [False] * 4, [True] * 4
    clipped = [*no, True, False, False, False, True, True, True, False, *yes, False]
    p_U = ClipFractionExponent()(inputs(clipped))
    assert p_U[0] == 1
    assert 1 > p_U[1] > p_U[2] > 0
    assert p_U[3] == 0
    assert p_U.isfinite().all()


def test_clip_fraction_meets_its_target() -> None:
    clipped = [True, False, False, False, True, True, False, False] + [False] * 9
    rule = ClipFractionExponent()
    p_U = rule(inputs(clipped))

    def share(p: float | torch.Tensor) -> torch.Tensor:
        return effective_sample_size(log_power_mean(LOG_RATIOS, UNITS, p).weight_T, UNITS) / UNITS.sizes.clamp(min=1)

    for unit, fraction in ((0, 0.25), (1, 0.5)):
        target = share(1.0)[unit] + fraction * (1 - share(1.0)[unit])
        assert share(p_U)[unit].item() == pytest.approx(target.item(), abs=1e-8)


def test_bad_settings() -> None:
    with pytest.raises(ConfigError, match="not a number"):
        ConstantExponent(p=math.nan)
    with pytest.raises(ConfigError, match="decay"):
        RewardExponent(decay=-1.0)
    with pytest.raises(ConfigError, match="bisection"):
        ClipFractionExponent(steps=0)
