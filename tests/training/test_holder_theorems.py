"""The theorems of arXiv 2605.12058 as properties, in float64."""

import math

import torch
from holdergym.training import Segments, log_power_mean
from holdergym.training.holder import effective_sample_size, weight_entropy
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from torch import Tensor

ratios = st.lists(st.floats(-2, 2), min_size=2, max_size=12).map(lambda x: torch.tensor(x, dtype=torch.float64))
exponents = st.floats(-8, 8)


def one(log_ratios: Tensor) -> Segments:
    return Segments.from_lengths([len(log_ratios)])


def log_mean(log_ratios: Tensor, p: float) -> float:
    return log_power_mean(log_ratios, one(log_ratios), p).log_mean_U.item()


def weights(log_ratios: Tensor, p: float) -> Tensor:
    return log_power_mean(log_ratios, one(log_ratios), p).weight_T


def entropy(log_ratios: Tensor, p: float) -> float:
    return weight_entropy(weights(log_ratios, p), one(log_ratios)).item()


def spread(log_ratios: Tensor) -> float:
    return (log_ratios.max() - log_ratios.min()).item()


@given(ratios, exponents, exponents)
def test_the_mean_rises_with_p_between_the_extremes(log_ratios: Tensor, p: float, q: float) -> None:
    p, q = sorted((p, q))
    low, high = log_mean(log_ratios, p), log_mean(log_ratios, q)
    assert log_ratios.min().item() - 1e-12 <= low <= high + 1e-12
    assert high <= log_ratios.max().item() + 1e-12
    if spread(log_ratios) > 0.1 and q - p > 0.1:
        assert low < high


@given(ratios, exponents)
def test_weights_are_a_distribution(log_ratios: Tensor, p: float) -> None:
    w = weights(log_ratios, p)
    assert (w >= 0).all()
    assert math.isclose(w.sum().item(), 1, rel_tol=1e-12)
    torch.testing.assert_close(w, torch.softmax(p * log_ratios, 0))


@given(ratios, exponents, st.floats(-1, 1))
def test_the_mean_is_homogeneous(log_ratios: Tensor, p: float, shift: float) -> None:
    assert math.isclose(log_mean(log_ratios + shift, p), log_mean(log_ratios, p) + shift, abs_tol=1e-11)


@given(ratios, exponents)
def test_the_negative_exponent_is_the_mean_of_the_inverse_ratios(log_ratios: Tensor, p: float) -> None:
    assert math.isclose(log_mean(log_ratios, -p), -log_mean(-log_ratios, p), abs_tol=1e-11)


@given(ratios, st.floats(0, 8), st.floats(0, 8), st.sampled_from([1, -1]))
def test_theorem_1_entropy_peaks_at_zero_and_falls_with_the_size_of_p(
    log_ratios: Tensor, p: float, q: float, sign: int
) -> None:
    p, q = sorted((p, q))
    near, far = entropy(log_ratios, sign * p), entropy(log_ratios, sign * q)
    assert far <= near + 1e-12
    assert near <= math.log(len(log_ratios)) + 1e-12
    assert math.isclose(entropy(log_ratios, 0), math.log(len(log_ratios)), rel_tol=1e-12)
    if spread(log_ratios) > 0.5 and q > p + 0.5 and far > 1e-3:
        assert far < near


@given(ratios, exponents)
def test_theorem_1_slope_of_the_entropy(log_ratios: Tensor, p: float) -> None:
    step = 1e-5
    slope = (entropy(log_ratios, p + step) - entropy(log_ratios, p - step)) / (2 * step)
    w = weights(log_ratios, p)
    variance = (w * (log_ratios - (w * log_ratios).sum()).square()).sum().item()
    assert math.isclose(slope, -p * variance, rel_tol=1e-5, abs_tol=1e-8)


@given(st.lists(st.floats(-2, 2), min_size=2, max_size=8, unique=True), st.sampled_from([1, -1]))
def test_theorem_1_weights_gather_on_the_extreme_tokens(values: list[float], sign: int) -> None:
    log_ratios = torch.tensor(values, dtype=torch.float64)
    ordered = (sign * log_ratios).sort(descending=True).values
    assume((ordered[0] - ordered[1]).item() > 0.05)
    assert weights(log_ratios, sign * 1000.0)[(sign * log_ratios).argmax()].item() > 1 - 1e-6


@given(ratios, exponents)
def test_theorem_5_slope_of_each_weight(log_ratios: Tensor, p: float) -> None:
    step = 1e-5
    slope = (weights(log_ratios, p + step) - weights(log_ratios, p - step)) / (2 * step)
    w = weights(log_ratios, p)
    torch.testing.assert_close(slope, w * (log_ratios - (w * log_ratios).sum()), rtol=1e-5, atol=1e-8)


@given(ratios, exponents, exponents)
def test_theorem_5_the_largest_ratios_weight_rises_and_the_smallest_ones_falls(
    log_ratios: Tensor, p: float, q: float
) -> None:
    p, q = sorted((p, q))
    low, high = weights(log_ratios, p), weights(log_ratios, q)
    assert low[log_ratios.argmax()] <= high[log_ratios.argmax()] + 1e-12
    assert low[log_ratios.argmin()] >= high[log_ratios.argmin()] - 1e-12


def test_theorem_5_a_peak_above_zero_needs_more_than_a_ratio_below_the_largest() -> None:
    """The paper gives every non-maximal token a peak at some p above p_0; that holds only above the mean at p_0."""
    log_ratios = torch.tensor([1.0, 0.2, -1.0], dtype=torch.float64)
    grid = torch.linspace(-8, 8, 1601, dtype=torch.float64)
    table = torch.stack([weights(log_ratios, p.item()) for p in grid])
    assert grid[table[:, 1].argmax()].item() > 0  # log r = 0.2 is above the mean 0.067 at p = 0
    assert table[:, 2].argmax().item() == 0  # the smallest ratio has no peak inside any range

    log_ratios = torch.tensor([1.0, -0.5, -0.6], dtype=torch.float64)
    middle = torch.stack([weights(log_ratios, p.item())[1] for p in grid])
    assert grid[middle.argmax()].item() < 0  # not maximal either, but below the mean at p = 0


@given(st.lists(ratios, min_size=1, max_size=5), st.data())
def test_theorem_2_the_variance_bound_rises_with_p(units: list[Tensor], data: st.DataObject) -> None:
    """V(p) = E[A^2 rho_p^2]."""
    advantages = [data.draw(st.floats(-3, 3)) for _ in units]
    p, q = sorted((data.draw(exponents), data.draw(exponents)))

    def bound(exponent: float) -> float:
        return sum(a**2 * math.exp(2 * log_mean(x, exponent)) for a, x in zip(advantages, units, strict=True))

    assert bound(p) <= bound(q) * (1 + 1e-12)


@given(ratios, st.floats(-4, 4), st.floats(0.1, 3))
@settings(max_examples=50)
def test_theorem_7_orthogonal_token_gradients(log_ratios: Tensor, p: float, norm: float) -> None:
    """|g|^2 = A^2 M^2 rho^2 sum W^2, with token t's gradient along axis t."""
    advantage = -1.3
    parameters = torch.zeros(len(log_ratios), dtype=torch.float64, requires_grad=True)
    mean = log_power_mean(log_ratios + norm * parameters, one(log_ratios), p)
    (gradient,) = torch.autograd.grad(advantage * mean.log_mean_U.exp().sum(), parameters)
    ess = effective_sample_size(mean.weight_T, one(log_ratios)).item()
    expected = advantage**2 * norm**2 * math.exp(2 * mean.log_mean_U.item()) / ess
    assert math.isclose(gradient.square().sum().item(), expected, rel_tol=1e-9)


@given(ratios, st.floats(0, 8), st.floats(0, 8))
@example(torch.tensor([0.0] * 7 + [1.0], dtype=torch.float64), 0.0, 2.2250738585e-313)
def test_theorem_7_falls_from_infinity_to_zero(log_ratios: Tensor, p: float, q: float) -> None:
    p, q = sorted((p, q))

    def square(exponent: float) -> float:
        mean = log_power_mean(log_ratios, one(log_ratios), exponent)
        return math.exp(2 * mean.log_mean_U.item()) / effective_sample_size(mean.weight_T, one(log_ratios)).item()

    assert square(p) <= square(q) * (1 + 1e-12)


def test_theorem_7_the_minimum_of_the_test_vector_lies_between_minus_one_and_zero() -> None:
    log_ratios = torch.tensor([0.30, -0.20, 0.05, 0.0, -0.60], dtype=torch.float64)
    grid = torch.linspace(-3, 3, 601, dtype=torch.float64).tolist()

    def square(p: float) -> float:
        return math.exp(2 * log_mean(log_ratios, p)) * weights(log_ratios, p).square().sum().item()

    assert -1 < min(grid, key=square) < 0


@given(st.floats(3, 8), st.integers(3, 40))
def test_theorem_3_early_concentration(log_outlier: float, n: int) -> None:
    """One ratio R among n - 1 of 1 and R^p_high well below n: W(high)/W(low) comes near R^(high - low)."""
    low, high = -1.0, math.log((n - 1) / 20) / log_outlier if n > 21 else 0.0
    assume(high > low)
    log_ratios = torch.zeros(n, dtype=torch.float64)
    log_ratios[0] = log_outlier
    gain = (weights(log_ratios, high)[0] / weights(log_ratios, low)[0]).item()
    bound = math.exp(log_outlier * (high - low))
    assert 0.5 * bound <= gain <= bound * (1 + 1e-12)


@given(ratios)
def test_lemma_1_the_limit_at_zero_is_the_geometric_mean_with_its_gradient(log_ratios: Tensor) -> None:
    at_zero = log_power_mean(log_ratios, one(log_ratios), 0.0)
    for p in (1e-4, -1e-4):
        near = log_power_mean(log_ratios, one(log_ratios), p)
        torch.testing.assert_close(near.log_mean_U, at_zero.log_mean_U, atol=1e-3, rtol=0)
        torch.testing.assert_close(near.weight_T, at_zero.weight_T, atol=1e-3, rtol=0)
    assert at_zero.log_mean_U.item() == log_ratios.sum().item() / len(log_ratios) or math.isclose(
        at_zero.log_mean_U.item(), log_ratios.mean().item(), abs_tol=1e-15
    )
