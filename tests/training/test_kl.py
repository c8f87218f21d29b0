import math
from dataclasses import replace

import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training.kl import EntropyBonus, KLPenalty, kl_estimate

from .batches import single_turns

LOGP = torch.tensor([-1.0, -0.2, -3.0], dtype=torch.float64)
BASE = torch.tensor([-0.5, -0.2, -4.5], dtype=torch.float64)


def test_estimators() -> None:
    d = [0.5, 0.0, -1.5]
    for estimator, expected in (
        ("k1", [-x for x in d]),
        ("k2", [x * x / 2 for x in d]),
        ("k3", [math.exp(x) - x - 1 for x in d]),
        ("abs", [abs(x) for x in d]),
    ):
        assert kl_estimate(LOGP, BASE, estimator, 20).tolist() == pytest.approx(expected)  # type: ignore[arg-type]


def test_expectations_and_gradients_over_a_whole_distribution() -> None:
    """k1 and k3 have the KL as their mean; the gradients of k2 and k3 are those of the two directions of KL."""
    logits = torch.tensor([0.3, -0.5, 1.0, 0.1], dtype=torch.float64, requires_grad=True)
    base = torch.log_softmax(torch.tensor([0.0, 0.4, 0.5, -0.2], dtype=torch.float64), 0)
    logp = torch.log_softmax(logits, 0)
    p, kl = logp.exp(), (logp.exp() * (logp - base)).sum()
    reverse = (base.exp() * (base - logp)).sum()
    for estimator in ("k1", "k3"):
        mean = (p.detach() * kl_estimate(logp, base, estimator, 20)).sum()  # type: ignore[arg-type]
        assert mean.item() == pytest.approx(kl.item())
    for estimator, target in (("k1", 0 * kl), ("k2", kl), ("k3", reverse)):
        sampled = (p.detach() * kl_estimate(logp, base, estimator, 20)).sum()  # type: ignore[arg-type]
        (got,) = torch.autograd.grad(sampled, logits, retain_graph=True)
        (expected,) = torch.autograd.grad(target, logits, retain_graph=True)
        torch.testing.assert_close(got, expected)


def test_limits() -> None:
    far = torch.tensor([-500.0, 0.0])
    estimate = kl_estimate(far, torch.tensor([0.0, -500.0]), "k3", 20.0)
    assert estimate.isfinite().all()
    assert estimate[1].item() == pytest.approx(19, abs=1e-5)
    batch, logp_T = single_turns([[5.0, -5.0, 0.1]], [1.0])
    limited = KLPenalty(coefficient=1, against="old", value_limit=10.0)(batch, logp_T)
    assert limited.tolist() == pytest.approx([4.0 + math.exp(-5), 10.0, math.exp(-0.1) + 0.1 - 1])


def test_small_differences_keep_their_digits() -> None:
    logp = torch.tensor([-2.0])
    estimate = kl_estimate(logp, logp + 2**-10, "k3", 20.0).item()
    assert estimate == pytest.approx(math.expm1(2**-10) - 2**-10, rel=1e-3)


def test_half_precision_is_computed_in_single() -> None:
    assert kl_estimate(LOGP.bfloat16(), BASE.bfloat16(), "k3", 20.0).dtype == torch.float32


def test_token_weights_and_references() -> None:
    batch, logp_T = single_turns([[0.5, -0.5]], [1.0])
    penalty = KLPenalty(coefficient=0.1, estimator="abs", against="old")
    weighted = replace(batch, kl_weight_T=torch.tensor([0.0, 1.0]))
    assert penalty(weighted, logp_T).tolist() == pytest.approx([0, 0.5])
    with pytest.raises(ConfigError, match="needs a reference model"):
        KLPenalty(coefficient=0.1)(batch, logp_T)
    shifted = replace(batch, reference_logp_T=batch.old_logp_T + 0.2)
    assert KLPenalty(coefficient=0.1, estimator="k1")(shifted, logp_T).tolist() == pytest.approx([0.3, -0.7])


def test_bad_settings() -> None:
    for settings in ({"coefficient": -1.0}, {"log_limit": 0.0}, {"value_limit": 0.0}):
        with pytest.raises(ConfigError):
            KLPenalty(**settings)  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        EntropyBonus(coefficient=-0.1)
