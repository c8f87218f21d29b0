"""Each published surrogate, written out token by token, against the one aggregation stage."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import Context, Schedule
from holdergym.training.aggregation import HolderAggregation
from holdergym.training.clipping import ClipRange
from holdergym.training.exponents import ClipFractionExponent, ConstantExponent, RewardExponent
from torch import Tensor

from .batches import even_batch, random_layout, single_turns

ROWS = [[0.3, -0.2, 0.05, 0.0, -0.6], [0.5], [-0.4, -0.3, 0.4], [0.1, 0.25, 0.3, 0.2], []]
SIGNS = [1.5, -0.7, -1.1, 0.8, 1.0]
HERE = Context(round=10)


def objective(
    aggregation: HolderAggregation, rows: list[list[float]] = ROWS, signs: list[float] = SIGNS
) -> list[float]:
    batch, logp_T = single_turns(rows, signs)
    return aggregation(batch, logp_T, HERE).objective_U.tolist()


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def ppo(ratio: float, advantage: float, low: float = 0.2, high: float = 0.2) -> float:
    return min(ratio * advantage, min(max(ratio, 1 - low), 1 + high) * advantage)


def power_mean(ratios: list[float], p: float) -> float:
    if not ratios:
        return 1.0
    if p == 0:
        return math.exp(mean([math.log(r) for r in ratios]))
    return mean([r**p for r in ratios]) ** (1 / p)


def each_row(term: Callable[[list[float], float], float]) -> list[float]:
    return [term([math.exp(d) for d in row], a) if row else 0.0 for row, a in zip(ROWS, SIGNS, strict=True)]


@pytest.mark.parametrize("p", [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
def test_sequence_clip_is_equation_2(p: float) -> None:
    expected = each_row(lambda ratios, a: ppo(power_mean(ratios, p), a))
    assert objective(HolderAggregation(exponent=ConstantExponent(p=p))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("p", [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0])
def test_token_clip_is_equation_11(p: float) -> None:
    def term(ratios: list[float], a: float) -> float:
        clip = [min(r, 1.2) if a > 0 else max(r, 0.8) for r in ratios]
        return power_mean(clip, p) * a

    aggregation = HolderAggregation(exponent=ConstantExponent(p=p), clip="token")
    assert objective(aggregation) == pytest.approx(each_row(term), rel=1e-12)


@pytest.mark.parametrize("p", [-2.0, 0.0, 1.0, 2.0])
def test_the_authors_third_clip(p: float) -> None:
    def term(ratios: list[float], a: float) -> float:
        return ppo(power_mean([min(max(r, 1 / 1.2), 1.2) for r in ratios], p), a)

    aggregation = HolderAggregation(exponent=ConstantExponent(p=p), clip="sequence_w_clip")
    assert objective(aggregation) == pytest.approx(each_row(term), rel=1e-12)


def test_grpo_is_p_1_with_token_clip() -> None:
    expected = each_row(lambda ratios, a: mean([ppo(r, a) for r in ratios]))
    aggregation = HolderAggregation(exponent=ConstantExponent(p=1.0), clip="token")
    assert objective(aggregation) == pytest.approx(expected, rel=1e-14)


def test_p_1_with_sequence_clip_is_not_grpo_once_something_clips() -> None:
    token = objective(HolderAggregation(exponent=ConstantExponent(p=1.0), clip="token"))
    sequence = objective(HolderAggregation(exponent=ConstantExponent(p=1.0), clip="sequence"))
    assert token != pytest.approx(sequence, abs=1e-3)
    small = [[d / 10 for d in row] for row in ROWS]
    assert objective(HolderAggregation(clip="token"), small) == pytest.approx(
        objective(HolderAggregation(clip="sequence"), small), rel=1e-12
    )


def test_the_direct_form_at_p_1_joins_the_power_means_beside_it() -> None:
    """p = 1 with token clip is summed without logarithms; p near 1 is not."""
    at = HolderAggregation(exponent=ConstantExponent(p=1.0), clip="token")
    beside = HolderAggregation(exponent=ConstantExponent(p=1.0 + 1e-9), clip="token")
    batch, logp_T = single_turns(ROWS, SIGNS)
    gradients = []
    for aggregation in (at, beside):
        leaf_T = logp_T.clone().requires_grad_()
        surrogate = aggregation(batch, leaf_T, HERE)
        gradients.append(torch.autograd.grad(surrogate.objective_U.sum(), leaf_T)[0])
        assert surrogate.objective_U.tolist() == pytest.approx(objective(at), rel=1e-7)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-7, atol=1e-12)


def test_gspo_is_p_0_with_sequence_clip_in_value_and_gradient() -> None:
    """GSPO's token form: s_t = sg[s] pi / sg[pi], clipped, averaged over tokens."""
    aggregation = HolderAggregation(exponent=ConstantExponent(p=0.0), clip_range=ClipRange(low=3e-4, high=4e-4))
    rows = [[1e-4, 3e-4, -1e-4], [4e-4, 9e-4], [-2e-3, -1e-3]]
    signs = [1.0, 1.0, -2.0]
    batch, logp_T = single_turns(rows, signs)
    ours_T = logp_T.clone().requires_grad_()
    ours_U = aggregation(batch, ours_T, HERE).objective_U
    theirs_T = logp_T.clone().requires_grad_()
    rows_of = batch.layout.rows
    log_s_U = rows_of.mean(theirs_T - batch.old_logp_T)
    s_T = (rows_of.spread(log_s_U).detach() + theirs_T - theirs_T.detach()).exp()
    a_T = batch.advantage_T
    theirs_U = rows_of.mean(torch.minimum(s_T * a_T, s_T.clamp(1 - 3e-4, 1 + 4e-4) * a_T))
    torch.testing.assert_close(ours_U, theirs_U)
    torch.testing.assert_close(
        torch.autograd.grad(ours_U.sum(), ours_T)[0], torch.autograd.grad(theirs_U.sum(), theirs_T)[0]
    )


def test_gmpo_is_p_0_with_its_own_token_clip() -> None:
    def term(ratios: list[float], a: float) -> float:
        logs = [min(math.log(r), 0.4) if a >= 0 else max(math.log(r), -0.4) for r in ratios]
        return a * math.exp(mean(logs))

    aggregation = HolderAggregation(
        exponent=ConstantExponent(p=0.0), clip="token", clip_range=ClipRange(low=0.4, high=0.4, log=True)
    )
    assert objective(aggregation) == pytest.approx(each_row(term), rel=1e-12)


def test_hmpo_is_the_harmonic_mean_of_clipped_ratios() -> None:
    def term(ratios: list[float], a: float) -> float:
        clipped = [min(r, math.exp(0.4)) if a >= 0 else max(r, math.exp(-0.4)) for r in ratios]
        return a * len(clipped) / sum(1 / r for r in clipped)

    aggregation = HolderAggregation(
        exponent=ConstantExponent(p=-1.0), clip="token", clip_range=ClipRange(low=0.4, high=0.4, log=True)
    )
    assert objective(aggregation) == pytest.approx(each_row(term), rel=1e-12)


def test_apmpo_is_a_token_clip_because_the_power_mean_is_homogeneous() -> None:
    """J = sign(A) M_p(|min(r A, clip(r) A)|) = A M_p(one-sided clip of r)."""
    context = Context(accuracy=0.6, accuracy_std=0.5)
    p, high = math.exp(-0.8 * 0.6), 0.2 + 0.2 * math.tanh(0.6 / (0.5 + 1e-6))

    def term(ratios: list[float], a: float) -> float:
        return math.copysign(power_mean([abs(ppo(r, a, 0.2, high)) for r in ratios], p), a)

    from holdergym.training import preset

    batch, logp_T = single_turns(ROWS, SIGNS)
    result = preset("apmpo").aggregation(batch, logp_T, context).objective_U.tolist()
    assert result == pytest.approx(each_row(term), rel=1e-12)
    assert preset("apmpo").aggregation.exponent == RewardExponent(decay=0.8)


def test_dual_clip() -> None:
    aggregation = HolderAggregation(clip="token", clip_range=ClipRange(dual=3.0))
    assert objective(aggregation, [[2.0, 0.0]], [-1.0]) == pytest.approx([-(3 + 1) / 2])


def test_no_clip() -> None:
    expected = each_row(lambda ratios, a: a * power_mean(ratios, 2))
    assert objective(HolderAggregation(exponent=ConstantExponent(p=2.0), clip="none")) == pytest.approx(expected)


def test_which_tokens_lose_their_gradient() -> None:
    """A whole sequence, or single tokens, on the side that the sign names."""
    batch, logp_T = single_turns([[0.5, 0.1], [0.5, 0.1], [-0.5, -0.1], [-0.5, -0.1]], [1.0, -1.0, 1.0, -1.0])
    for clip, expected in (
        ("sequence", [0, 0, 1, 1, 1, 1, 0, 0]),
        ("token", [0, 1, 1, 1, 1, 1, 0, 1]),
        ("sequence_w_clip", [0, 1, 0, 1, 0, 1, 0, 1]),
        ("none", [1] * 8),
    ):
        leaf_T = logp_T.clone().requires_grad_()
        aggregation = HolderAggregation(exponent=ConstantExponent(p=0.0), clip=clip)  # type: ignore[arg-type]
        surrogate = aggregation(batch, leaf_T, HERE)
        (gradient_T,) = torch.autograd.grad(surrogate.objective_U.sum(), leaf_T)
        assert (gradient_T != 0).long().tolist() == expected, clip
        assert surrogate.metrics["clip_share"].value == pytest.approx(1 - sum(expected) / 8), clip


def test_the_third_clip_never_lets_the_sequence_clip_act_below() -> None:
    for p in (-50.0, 0.0, 50.0):
        aggregation = HolderAggregation(exponent=ConstantExponent(p=p), clip="sequence_w_clip")
        assert objective(aggregation, [[-3.0, -2.0]], [-1.0]) == pytest.approx([-1 / 1.2])


def test_p_does_not_matter_before_the_policy_has_moved() -> None:
    batch, _ = single_turns(ROWS, SIGNS)
    gradients = []
    for p in (-2.0, 0.0, 1.0, 3.0, math.inf):
        leaf_T = batch.old_logp_T.clone().requires_grad_()
        surrogate = HolderAggregation(exponent=ConstantExponent(p=p))(batch, leaf_T, HERE)
        gradients.append(torch.autograd.grad(surrogate.objective_U.sum(), leaf_T)[0])
        assert surrogate.metrics["ratio_moved_share"].value == 0
    for gradient_T in gradients:
        torch.testing.assert_close(gradient_T, gradients[0])


def test_units_are_turns_or_trajectories() -> None:
    layout = random_layout(0, least=1)
    generator = torch.Generator().manual_seed(1)
    tokens = len(layout.rows.index)
    old_logp_T = -torch.rand(tokens, generator=generator, dtype=torch.float64)
    log_ratio_T = 0.1 * torch.randn(tokens, generator=generator, dtype=torch.float64)
    advantage_E = torch.randn(layout.episodes.count, generator=generator, dtype=torch.float64)
    batch = even_batch(layout, old_logp_T, layout.units("trajectory").spread(advantage_E))
    aggregation = HolderAggregation(exponent=ConstantExponent(p=-2.0), clip="none", per="trajectory")
    objective_U = aggregation(batch, old_logp_T + log_ratio_T, HERE).objective_U
    for episode in range(layout.episodes.count):
        ratios = log_ratio_T[layout.units("trajectory").index == episode].exp().tolist()
        expected = advantage_E[episode].item() * power_mean(ratios, -2.0)
        assert objective_U[episode].item() == pytest.approx(expected)
    assert replace(aggregation, per="turn")(batch, old_logp_T, HERE).objective_U.shape == (layout.rows.count,)


def test_token_weights_form_the_combined_surrogate() -> None:
    weights = torch.tensor([1.5, 0.5, 1.0, 0.0, 2.0, 0.7, 1.0, 1.0, 0.4, 1.2, 0.8, 1.0, 1.0], dtype=torch.float64)
    batch, logp_T = single_turns(ROWS, SIGNS)
    weighted = replace(batch, weight_T=weights)
    ratio_T = (logp_T - batch.old_logp_T).exp()
    rows = batch.layout.rows

    # p = 1 without clipping: (1/n) sum w r A.
    plain = HolderAggregation(exponent=ConstantExponent(p=1.0), clip="none")
    torch.testing.assert_close(
        plain(weighted, logp_T, HERE).objective_U, rows.mean(weights * ratio_T * batch.advantage_T)
    )
    # Any p, in words of the formula.
    for p in (-1.0, 2.0):
        v_T = weights / rows.spread(rows.sum(weights).clamp(min=1e-300))
        mean_U = rows.sum(v_T * ratio_T**p) ** (1 / p)
        advantage_U = torch.tensor(SIGNS, dtype=torch.float64)
        clipped_U = torch.minimum(mean_U * advantage_U, mean_U.clamp(0.8, 1.2) * advantage_U)
        expected_U = torch.where(rows.sizes > 0, rows.mean(weights) * clipped_U, 0)
        aggregation = HolderAggregation(exponent=ConstantExponent(p=p))
        torch.testing.assert_close(aggregation(weighted, logp_T, HERE).objective_U, expected_U)
    # At ratio 1 the gradient of a token is its weight over n, whatever p.
    for p in (-2.0, 0.0, 3.0):
        leaf_T = batch.old_logp_T.clone().requires_grad_()
        aggregation = HolderAggregation(exponent=ConstantExponent(p=p))
        (gradient_T,) = torch.autograd.grad(aggregation(weighted, leaf_T, HERE).objective_U.sum(), leaf_T)
        torch.testing.assert_close(gradient_T, weights / rows.spread(rows.sizes) * batch.advantage_T)
    # Weights of 1 are no weights, to the last bit.
    for aggregation in (plain, HolderAggregation(), HolderAggregation(clip="token", exponent=ConstantExponent(p=0.3))):
        ones = aggregation(replace(batch, weight_T=torch.ones_like(weights)), logp_T, HERE).objective_U
        assert torch.equal(ones, aggregation(batch, logp_T, HERE).objective_U)


def test_at_p_1_the_advantage_may_vary_inside_a_unit_and_elsewhere_its_mean_counts() -> None:
    batch, logp_T = single_turns([[0.1, 0.5, -0.3]], [0.0])
    batch = replace(batch, advantage_T=torch.tensor([1.0, 2.0, -1.5], dtype=torch.float64))
    grpo = HolderAggregation(exponent=ConstantExponent(p=1.0), clip="token")(batch, logp_T, HERE).objective_U
    expected = mean([ppo(math.exp(d), a) for d, a in ((0.1, 1.0), (0.5, 2.0), (-0.3, -1.5))])
    assert grpo.item() == pytest.approx(expected)
    gmpo = HolderAggregation(exponent=ConstantExponent(p=0.0), clip="none")(batch, logp_T, HERE).objective_U
    assert gmpo.item() == pytest.approx(0.5 * math.exp(0.1))


def test_ratios_to_the_behaviour_policy() -> None:
    batch, logp_T = single_turns([[0.3, -0.2]], [1.0])
    aggregation = HolderAggregation(exponent=ConstantExponent(p=0.0), clip="none", denominator="behaviour")
    behaviour = replace(batch, behaviour_logp_T=batch.old_logp_T - 0.1)
    assert aggregation(behaviour, logp_T, HERE).objective_U.item() == pytest.approx(math.exp(0.15))
    with pytest.raises(ValueError, match="no behaviour_logp_T"):
        aggregation(batch, logp_T, HERE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("clip", ["sequence", "token", "sequence_w_clip", "none"])
@pytest.mark.parametrize("p", [-math.inf, -50.0, -1.0, 0.0, 1.0, 50.0, math.inf])
def test_everything_stays_finite(p: float, clip: str, dtype: torch.dtype) -> None:
    rows = [[80.0, -80.0, 1.0], [], [100.0], [-100.0], [80.0, 80.0], [-80.0, -80.0], [0.0]]
    for sign in (1.0, -1.0, 0.0):
        batch, logp_T = single_turns(rows, [sign] * len(rows))
        batch = replace(batch, old_logp_T=batch.old_logp_T.to(dtype), advantage_T=batch.advantage_T.to(dtype))
        leaf_T = logp_T.to(dtype).requires_grad_()
        aggregation = HolderAggregation(exponent=ConstantExponent(p=p), clip=clip)  # type: ignore[arg-type]
        surrogate = aggregation(batch, leaf_T, HERE)
        surrogate.objective_U.sum().backward()
        assert surrogate.objective_U.isfinite().all()
        assert leaf_T.grad is not None
        assert leaf_T.grad.isfinite().all()
        assert all(math.isfinite(average.value) for name, average in surrogate.metrics.items() if name != "p")


@pytest.mark.parametrize("clip", ["sequence", "token", "sequence_w_clip", "none"])
@pytest.mark.parametrize(
    "exponent", [ConstantExponent(p=-1.0), ConstantExponent(p=1.0), ConstantExponent(p=0.0), Schedule()]
)
def test_gradients(clip: str, exponent: ConstantExponent | Schedule) -> None:
    batch, logp_T = single_turns(ROWS, SIGNS)
    aggregation = HolderAggregation(exponent=exponent, clip=clip)  # type: ignore[arg-type]

    def surrogate(leaf_T: Tensor) -> Tensor:
        return aggregation(batch, leaf_T, HERE).objective_U

    assert torch.autograd.gradcheck(surrogate, (logp_T.clone().requires_grad_(),))


def test_an_adapted_exponent_is_a_constant_of_the_gradient() -> None:
    aggregation = HolderAggregation(
        exponent=ClipFractionExponent(), clip="token", clip_range=ClipRange(low=0.1, high=0.1, log=True)
    )
    batch, logp_T = single_turns([[0.3, -0.2, 0.05]], [1.0])
    leaf_T = logp_T.clone().requires_grad_()
    surrogate = aggregation(batch, leaf_T, HERE)
    p = surrogate.metrics["p"].value
    fixed = HolderAggregation(
        exponent=ConstantExponent(p=p), clip="token", clip_range=ClipRange(low=0.1, high=0.1, log=True)
    )
    fixed_T = logp_T.clone().requires_grad_()
    torch.testing.assert_close(
        torch.autograd.grad(surrogate.objective_U.sum(), leaf_T)[0],
        torch.autograd.grad(fixed(batch, fixed_T, HERE).objective_U.sum(), fixed_T)[0],
    )


def test_metrics() -> None:
    batch, logp_T = single_turns([[0.3, -0.2, 0.05, 0.0, -0.6], []], [1.0, 1.0])
    metrics = HolderAggregation(exponent=ConstantExponent(p=-2.0))(batch, logp_T, HERE).metrics
    assert metrics["p"].value == -2
    assert metrics["ratio_moved_share"].value == pytest.approx(0.8)
    assert metrics["weight_entropy_share"].value == pytest.approx(1.410436 / math.log(5), abs=1e-6)
    assert metrics["weight_ess_share"].value == pytest.approx(0.829563**2 / 0.200352 / 5, rel=1e-5)


def test_bad_settings() -> None:
    with pytest.raises(ConfigError, match="counts clipped tokens"):
        HolderAggregation(exponent=ClipFractionExponent(), clip="sequence")
    with pytest.raises(ConfigError, match="log_ratio_limit"):
        HolderAggregation(log_ratio_limit=100.0)
