"""The test vector of arXiv 2605.12058's formulas, the limits, gradients, and numbers at the edge of the types."""

import math

import pytest
import torch
from holdergym.training import Segments, log_power_mean
from holdergym.training.holder import effective_sample_size, weight_entropy
from torch import Tensor

LOG_RATIOS = torch.tensor([0.30, -0.20, 0.05, 0.0, -0.60], dtype=torch.float64)
FIVE = Segments.from_lengths([5])

# p: rho, W, entropy of W, rho^2 sum W^2.
VECTORS = {
    -50: (0.566765, (0, 0, 0, 0, 1), 0.000000, 0.321222),
    -2: (0.829563, (0.075536, 0.205327, 0.124537, 0.137635, 0.456964), 1.410436, 0.200352),
    -1: (0.871753, (0.129162, 0.212952, 0.165847, 0.174351, 0.317688), 1.560525, 0.167844),
    0: (0.913931, (0.2, 0.2, 0.2, 0.2, 0.2), 1.609438, 0.167054),
    1: (0.953734, (0.283068, 0.171689, 0.220454, 0.209702, 0.115087), 1.569515, 0.195952),
    2: (0.989829, (0.371952, 0.136833, 0.225600, 0.204131, 0.061483), 1.471773, 0.248288),
    3: (1.021887, (0.460984, 0.102859, 0.217754, 0.187422, 0.030981), 1.344324, 0.320158),
    50: (1.307100, (0.999996, 0, 4e-6, 0, 0), 0.000055, 1.708498),
}
EXPONENTS = [-math.inf, -50.0, -2.0, -1.0, -1e-3, -1e-7, 0.0, 1e-12, 1e-7, 1e-3, 0.5, 1.0, 2.0, 50.0, math.inf]


def rho(log_ratios: Tensor, p: float) -> float:
    units = Segments.from_lengths([len(log_ratios)])
    return math.exp(log_power_mean(log_ratios, units, p).log_mean_U.item())


@pytest.mark.parametrize("p", VECTORS)
def test_vectors(p: float) -> None:
    expected_rho, expected_weights, expected_entropy, expected_square = VECTORS[p]
    log_mean_U, weight_T = log_power_mean(LOG_RATIOS, FIVE, p)
    mean = log_mean_U.exp().item()
    assert mean == pytest.approx(expected_rho, abs=1e-6)
    assert weight_T.tolist() == pytest.approx(expected_weights, abs=1e-6)
    assert weight_entropy(weight_T, FIVE).item() == pytest.approx(expected_entropy, abs=1e-6)
    assert mean**2 * weight_T.square().sum().item() == pytest.approx(expected_square, abs=1e-6)
    assert effective_sample_size(weight_T, FIVE).item() == pytest.approx(mean**2 / expected_square, rel=1e-5)


def test_named_means() -> None:
    ratios = LOG_RATIOS.exp()
    assert rho(LOG_RATIOS, 1) == pytest.approx(ratios.mean().item(), rel=1e-12)
    assert rho(LOG_RATIOS, 0) == pytest.approx(ratios.prod().item() ** 0.2, rel=1e-12)
    assert rho(LOG_RATIOS, -1) == pytest.approx(5 / (1 / ratios).sum().item(), rel=1e-12)
    assert rho(LOG_RATIOS, 2) == pytest.approx(ratios.square().mean().sqrt().item(), rel=1e-12)
    assert rho(LOG_RATIOS, math.inf) == pytest.approx(ratios.max().item(), rel=1e-15)
    assert rho(LOG_RATIOS, -math.inf) == pytest.approx(ratios.min().item(), rel=1e-15)


def test_the_infinite_exponents_are_the_limits_and_share_ties() -> None:
    tied = torch.tensor([0.4, -0.3, 0.4, -0.3, -0.3], dtype=torch.float64)
    assert log_power_mean(tied, FIVE, math.inf).weight_T.tolist() == [0.5, 0, 0.5, 0, 0]
    smallest = log_power_mean(tied, FIVE, -math.inf)
    assert smallest.weight_T.tolist() == pytest.approx([0, 1 / 3, 0, 1 / 3, 1 / 3], rel=1e-12)
    for sign in (1, -1):
        limit = log_power_mean(tied, FIVE, sign * math.inf)
        near = log_power_mean(tied, FIVE, sign * 2e4)
        torch.testing.assert_close(near.log_mean_U, limit.log_mean_U, atol=1e-4, rtol=0)
        torch.testing.assert_close(near.weight_T, limit.weight_T)


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients(p: float, weighted: bool) -> None:
    units = Segments(torch.tensor([0, 1, 0, 2, 0, 1, 0]), 4)
    log_ratios = torch.tensor([0.3, -0.2, 0.05, 0.7, -0.6, 0.1, 0.02], dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([1.0, 0.5, 0.0, 2.0, 3.0, 1.5, 0.7], dtype=torch.float64) if weighted else None

    def aggregate(values: Tensor) -> Tensor:
        return log_power_mean(values, units, p, weights).log_mean_U

    assert torch.autograd.gradcheck(aggregate, (log_ratios,))


def test_the_gradient_of_the_mean_is_the_mean_times_the_weights() -> None:
    for p in EXPONENTS:
        log_ratios = LOG_RATIOS.clone().requires_grad_()
        log_mean_U, weight_T = log_power_mean(log_ratios, FIVE, p)
        (gradient,) = torch.autograd.grad(log_mean_U.exp().sum(), log_ratios)
        torch.testing.assert_close(gradient, log_mean_U.exp().detach() * weight_T)


def test_one_exponent_a_unit_equals_units_one_by_one() -> None:
    units = Segments.from_lengths([2, 3])
    p_U = torch.tensor([math.inf, 0.3], dtype=torch.float64)
    together = log_power_mean(LOG_RATIOS, units, p_U)
    for unit, part in enumerate((LOG_RATIOS[:2], LOG_RATIOS[2:])):
        alone = log_power_mean(part, Segments.from_lengths([len(part)]), p_U[unit].item())
        assert together.log_mean_U[unit].item() == alone.log_mean_U.item()
        assert torch.equal(together.weight_T[units.index == unit], alone.weight_T)


def test_weights_of_one_change_nothing_and_weight_zero_is_absence() -> None:
    for p in EXPONENTS:
        plain = log_power_mean(LOG_RATIOS, FIVE, p)
        ones = log_power_mean(LOG_RATIOS, FIVE, p, torch.ones(5))
        assert torch.equal(plain.log_mean_U, ones.log_mean_U)
        without = log_power_mean(LOG_RATIOS[1:], Segments.from_lengths([4]), p)
        zero = log_power_mean(LOG_RATIOS, FIVE, p, torch.tensor([0.0, 1, 1, 1, 1], dtype=torch.float64))
        assert zero.weight_T[0] == 0
        torch.testing.assert_close(zero.log_mean_U, without.log_mean_U)
        torch.testing.assert_close(zero.weight_T[1:], without.weight_T)


def test_an_outlier_of_weight_zero_has_no_part() -> None:
    log_ratios = torch.tensor([80.0, 0.1, -0.1])
    for p in EXPONENTS:
        mean = log_power_mean(log_ratios, Segments.from_lengths([3]), p, torch.tensor([0.0, 1.0, 1.0]))
        assert abs(mean.log_mean_U.item()) <= 0.1 + 1e-6


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("p", EXPONENTS)
def test_everything_stays_finite(p: float, dtype: torch.dtype) -> None:
    """Ratios of e^80 and e^-80, a unit without tokens, units of one token, half precision."""
    units = Segments.from_lengths([4, 0, 1, 1, 2, 3])
    values = [80.0, -80.0, 0.0, 1.0, 80.0, -80.0, 0.0, 0.0, 80.0, 80.0, -80.0]
    log_ratios = torch.tensor(values, dtype=dtype, requires_grad=True)
    log_mean_U, weight_T = log_power_mean(log_ratios, units, p)
    log_mean_U.sum().backward()
    assert log_mean_U.dtype == torch.promote_types(dtype, torch.float32)
    assert log_mean_U.isfinite().all()
    assert log_ratios.grad is not None
    assert log_ratios.grad.isfinite().all()
    sums = units.sum(weight_T)
    torch.testing.assert_close(sums, torch.tensor([1.0, 0, 1, 1, 1, 1], dtype=sums.dtype))
    assert log_mean_U[1] == 0
    assert log_mean_U[2] == 80
    assert log_mean_U[4] == 0


def test_a_single_token_is_its_own_mean() -> None:
    for p in EXPONENTS:
        mean = log_power_mean(torch.tensor([-0.37]), Segments.from_lengths([1]), p)
        assert mean.log_mean_U.item() == pytest.approx(-0.37, abs=1e-7)
        assert mean.weight_T.item() == 1


@pytest.mark.parametrize("p", [1e-30, 1e-12, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, -1e-5, -1e-3])
def test_no_digits_are_lost_near_the_geometric_mean(p: float) -> None:
    """In float32 the form (logsumexp - log n) / p is off by 1e-2 at p = 1e-5."""
    torch.manual_seed(0)
    log_ratios = torch.randn(1000) * 0.3
    exact = log_power_mean(log_ratios.double(), Segments.from_lengths([1000]), p).log_mean_U
    geometric = log_ratios.double().mean()
    slope = log_ratios.double().var(unbiased=False) / 2  # d log rho / dp at 0
    assert exact.item() == pytest.approx((geometric + p * slope).item(), abs=p**2 + 1e-12)
    single = log_power_mean(log_ratios, Segments.from_lengths([1000]), p).log_mean_U
    assert single.item() == pytest.approx(exact.item(), abs=1e-7)
    naive = (torch.logsumexp(p * log_ratios, 0) - math.log(1000)) / p
    if abs(p) == 1e-5:
        assert abs(naive.item() - exact.item()) > 1e-3


def test_the_authors_forms_agree() -> None:
    """logsumexp in the ALFWorld code, plain powers in the mathematics code (commit 1d27a37)."""
    torch.manual_seed(1)
    log_ratios = torch.randn(64, dtype=torch.float64) * 0.5
    for p in (-2.0, -0.5, 0.5, 1.0, 2.0):
        stable = (torch.logsumexp(p * log_ratios, 0) - math.log(64)) / p
        powers = ((p * log_ratios).exp().sum() / (64 + 1e-8)) ** (1 / p)
        assert rho(log_ratios, p) == pytest.approx(stable.exp().item(), rel=1e-12)
        assert rho(log_ratios, p) == pytest.approx(powers.item(), rel=1e-8)
