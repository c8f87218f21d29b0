"""Token weights inside a power mean: the identities that make the joint definition what it should be.

With W_i = (1/n_i) sum_t w_t and v_t = w_t / sum_k w_k a unit gives W_i times the clipped surrogate of the power mean of
its ratios under v.
"""

import math

import pytest
import torch
from holdergym.training import Context, GroupAdvantage, Layout, Method, PolicyTokens, Rollout, Segments, preset
from holdergym.training.aggregation import ClipMode, HolderAggregation
from holdergym.training.exponents import ConstantExponent
from holdergym.training.loss import objective, prepare
from holdergym.training.token_weights import TokenWeightInputs
from holdergym.training.variants.avspo import VirtualSampleAdvantage
from holdergym.training.variants.cov_gaussian import GaussianCovariance
from torch import Tensor

LENGTHS = [5, 1, 3, 8]
TOKENS = sum(LENGTHS)
LAYOUT = Layout.of_single_turns(LENGTHS, group_size=4)
EXPONENTS = [2.0, 1.0, 0.3, 1e-4, 0.0, -1.0, -3.0, math.inf, -math.inf]


def drawn(seed: int, spread: float) -> tuple[Rollout, Tensor, Tensor]:
    """A group, its advantages, and log-probabilities of a policy that has moved by ``spread``."""
    generator = torch.Generator().manual_seed(seed)

    def normal(count: int) -> Tensor:
        return torch.randn(count, generator=generator, dtype=torch.float64)

    old_T = -normal(TOKENS).abs()
    nothing = torch.zeros(4, dtype=torch.float64)
    rollout = Rollout(layout=LAYOUT, reward_E=nothing, verifier_E=nothing, old_logp_T=old_T)
    return rollout, LAYOUT.units("trajectory").spread(normal(4)), old_T + spread * normal(TOKENS)


def method(p: float, clip: ClipMode, sigma: float | None = None) -> Method:
    aggregation = HolderAggregation(exponent=ConstantExponent(p=p), clip=clip)
    return Method(name="m", aggregation=aggregation, token_weights=(GaussianCovariance(sigma=sigma),))


def loss_and_slope(made: Method, rollout: Rollout, advantage_T: Tensor, now_T: Tensor) -> tuple[Tensor, Tensor]:
    logp_T = now_T.clone().requires_grad_()
    batch = prepare(made, rollout, advantage_T, torch.arange(4), Context(), logp_T=logp_T).batch
    loss = objective(made, batch, PolicyTokens(logp_T), Context()).loss
    return loss.detach(), torch.autograd.grad(loss, logp_T)[0]


def kernel(now_T: Tensor, advantage_T: Tensor) -> Tensor:
    """The weights, written down plainly."""
    covariance_T = (now_T - now_T.mean()) * (advantage_T - advantage_T.mean())
    weight_T = torch.exp(-(covariance_T**2) / (2 * covariance_T.var(correction=0)))
    return weight_T * TOKENS / weight_T.sum()


@pytest.mark.parametrize("seed", range(5))
def test_at_p_1_without_a_clip_it_is_the_weighted_sum_of_ratios(seed: int) -> None:
    rollout, advantage_T, now_T = drawn(seed, 0.7)
    found, slope_T = loss_and_slope(method(1.0, "none"), rollout, advantage_T, now_T)
    terms_T = kernel(now_T, advantage_T) * (now_T - rollout.old_logp_T).exp() * advantage_T
    assert float(found) == pytest.approx(-float(LAYOUT.rows.mean(terms_T).mean()), abs=1e-12)
    assert slope_T.tolist() == pytest.approx((-terms_T / LAYOUT.rows.spread(LAYOUT.rows.sizes) / 4).tolist(), abs=1e-12)


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("clip", ["sequence", "token", "none"])
def test_where_nothing_has_moved_the_gradient_of_a_token_is_its_weight_for_every_p(p: float, clip: ClipMode) -> None:
    rollout, advantage_T, now_T = drawn(1, 0.0)
    _, slope_T = loss_and_slope(method(p, clip), rollout, advantage_T, now_T)
    sizes_T = LAYOUT.rows.spread(LAYOUT.rows.sizes)
    expected_T = -kernel(now_T, advantage_T) / sizes_T * advantage_T / 4
    assert slope_T.tolist() == pytest.approx(expected_T.tolist(), abs=1e-12)
    assert kernel(now_T, advantage_T).min() < 0.9  # the weights say something


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("clip", ["sequence", "token", "sequence_w_clip", "none"])
def test_weights_of_one_are_holderpo(p: float, clip: ClipMode) -> None:
    rollout, advantage_T, now_T = drawn(2, 0.5)
    plain = Method(name="m", aggregation=HolderAggregation(exponent=ConstantExponent(p=p), clip=clip))
    expected, slope_T = loss_and_slope(plain, rollout, advantage_T, now_T)
    off, same_T = loss_and_slope(method(p, clip, math.inf), rollout, advantage_T, now_T)
    assert torch.equal(off, expected)
    assert torch.equal(same_T, slope_T)
    # A kernel that is so wide that all weights are 1 as numbers goes through the weighted mean.
    near, near_T = loss_and_slope(method(p, clip, 1e9), rollout, advantage_T, now_T)
    assert float(near) == pytest.approx(float(expected), abs=1e-12)
    assert near_T.tolist() == pytest.approx(slope_T.tolist(), abs=1e-12)


@pytest.mark.parametrize("p", [2.0, 0.3, 0.0, -1.0])
@pytest.mark.parametrize("clip", ["sequence", "token", "none"])
def test_the_joint_definition_off_policy(p: float, clip: ClipMode) -> None:
    """Against the formula with its powers as they stand, differentiated by autograd; shares are then w r^p."""
    rollout, advantage_T, now_T = drawn(3, 0.4)
    found, slope_T = loss_and_slope(method(p, clip), rollout, advantage_T, now_T)
    weight_T, logp_T = kernel(now_T, advantage_T), now_T.clone().requires_grad_()
    total, start = torch.zeros((), dtype=torch.float64), 0
    for length in LENGTHS:
        part = slice(start, start + length)
        start += length
        weight, advantage = weight_T[part], advantage_T[part][0]
        share, log_ratio = weight / weight.sum(), logp_T[part] - rollout.old_logp_T[part]
        if clip == "token":
            log_ratio = log_ratio.clamp(max=math.log(1.2)) if advantage > 0 else log_ratio.clamp(min=math.log(0.8))
        power = (share * log_ratio).sum().exp() if p == 0 else (share * (p * log_ratio).exp()).sum() ** (1 / p)
        surrogate = power * advantage
        if clip == "sequence":
            surrogate = torch.minimum(surrogate, power.clamp(0.8, 1.2) * advantage)
        total = total + weight.mean() * surrogate
    expected_T = torch.autograd.grad(-total / 4, logp_T)[0]
    assert float(found) == pytest.approx(-float(total.detach()) / 4, abs=1e-12)
    assert slope_T.tolist() == pytest.approx(expected_T.tolist(), abs=1e-10)
    if clip == "none":
        share_T = weight_T * (p * (now_T - rollout.old_logp_T)).exp()
        share_T = share_T / LAYOUT.rows.spread(LAYOUT.rows.sum(share_T))
        own_T = slope_T / LAYOUT.rows.spread(LAYOUT.rows.sum(slope_T))
        assert own_T.tolist() == pytest.approx(share_T.tolist(), abs=1e-12)


def group_of(rewards: list[float], others: list[float]) -> Rollout:
    """Two groups of one-token episodes with these correctnesses."""
    worth = torch.tensor([*rewards, *others], dtype=torch.float64)
    sizes = [len(rewards), len(others)]
    one = [1] * len(worth)
    layout = Layout(Segments.from_lengths(one), Segments.from_lengths(one), Segments.from_lengths(sizes))
    return Rollout(layout=layout, reward_E=worth, verifier_E=worth, old_logp_T=torch.zeros(len(worth)))


@pytest.mark.parametrize(("worth", "anchor"), [(0.0, 0.1), (0.0, 0.4), (1.0, 0.1), (1.0, 0.4)])
def test_avspo_in_dr_grpo_subtracts_the_mean_with_the_virtual_rewards_and_divides_by_nothing(
    worth: float, anchor: float
) -> None:
    base = preset("dr-grpo+avspo").advantage
    assert isinstance(base, VirtualSampleAdvantage)
    stage = VirtualSampleAdvantage(scale=base.scale, epsilon=base.epsilon, anchor=anchor, threshold=0.4)
    made = group_of([worth] * 4, [1.0, 0.0, 0.0, 0.0])
    found = stage(made, {}).advantage_T
    number = 3  # ceil(4 sqrt(1/2))
    virtual = [1 - k / 4 if worth else anchor * (4 - k) / 3 for k in (1, 2, 3)]
    mean = (4 * worth + sum(virtual)) / (4 + number)
    assert found[:4].tolist() == pytest.approx([worth - mean] * 4)
    plain = GroupAdvantage(scale="none")(made, {}).advantage_T
    assert torch.equal(found[4:], plain[4:])
    assert found[4:].tolist() == pytest.approx([0.75, -0.25, -0.25, -0.25])


def test_repaired_groups_move_the_covariances_of_all_tokens() -> None:
    """A mini-batch of groups that are repaired alike has none; beside others the mean advantage is no longer 0."""

    def weights(made: Rollout, threshold: float) -> Tensor:
        advantage_T = VirtualSampleAdvantage(threshold=threshold)(made, {}).advantage_T
        logp_T = -torch.arange(1.0, 9.0, dtype=torch.float64)
        nowhere_T = torch.zeros(8, dtype=torch.bool)
        found = GaussianCovariance()(TokenWeightInputs(logp_T, advantage_T, nowhere_T, made.layout, Context()))
        assert found.weight_T is not None
        return found.weight_T

    assert weights(group_of([1.0] * 4, [1.0] * 4), 0.5).tolist() == [1.0] * 8
    beside = group_of([1.0] * 4, [1.0, 0.0, 1.0, 0.0])
    assert (weights(beside, 0.4) - weights(beside, 1.0)).abs().max() > 0.05
