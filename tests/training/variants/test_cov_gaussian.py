import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import Context, Layout, Segments
from holdergym.training.token_weights import TokenWeightInputs, covariance_terms
from holdergym.training.variants.cov_gaussian import GaussianCovariance
from torch import Tensor

LOGP = torch.tensor([-0.1, -2.0, -0.5, -0.2, -0.05, -4.0], dtype=torch.float64)
ADVANTAGE = torch.tensor([1.0, 1, 1, -1, -1, -1], dtype=torch.float64)
WEIGHTS = [1.097110, 1.196688, 1.297729, 1.152745, 1.068307, 0.187421]
COVARIANCE = [1.041667, -0.858333, 0.641667, -0.941667, -1.091667, 2.858333]
# Before they are made 1 on average.
KERNEL = [0.762900, 0.832144, 0.902405, 0.801587, 0.742871, 0.130327]


def weights(logp_T: Tensor, advantage_T: Tensor, layout: Layout | None = None, **settings: object) -> Tensor:
    layout = layout or Layout.of_single_turns([len(logp_T)], group_size=1)
    nothing_T = torch.zeros(len(logp_T), dtype=torch.bool)
    stage = GaussianCovariance(**settings)  # type: ignore[arg-type]
    found = stage(TokenWeightInputs(logp_T, advantage_T, nothing_T, layout, Context())).weight_T
    assert found is not None
    return found


def test_the_published_formula_on_six_tokens() -> None:
    found = weights(LOGP, ADVANTAGE)
    assert found.tolist() == pytest.approx(WEIGHTS, abs=1e-6)
    kernel = torch.tensor(KERNEL, dtype=torch.float64)
    assert (found / found[0]).tolist() == pytest.approx((kernel / kernel[0]).tolist(), abs=2e-6)
    covariance_T = covariance_terms(LOGP, ADVANTAGE)
    assert covariance_T.tolist() == pytest.approx(COVARIANCE, abs=1e-6)
    assert covariance_T.std(correction=0).item() == pytest.approx(1.415882, abs=1e-6)
    assert kernel.tolist() == pytest.approx((-(covariance_T**2) / (2 * 1.415882**2)).exp().tolist(), abs=1e-6)
    # sigma is that of the formula: given by hand it changes nothing.
    assert weights(LOGP, ADVANTAGE, sigma=1.415882).tolist() == pytest.approx(WEIGHTS, abs=1e-6)


def test_how_much_extreme_tokens_weigh() -> None:
    # With sigma = 1 the covariances of these tokens are 1, 2 and 3 times sigma, on both sides.
    logp_T = torch.tensor([1.0, 2.0, 3.0, -1.0, -2.0, -3.0], dtype=torch.float64)
    advantage_T = torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0, -1.0], dtype=torch.float64)
    found = weights(logp_T, advantage_T, sigma=1.0)
    assert (found[1] / found[0]).item() == pytest.approx(0.1353 / 0.6065, rel=1e-3)
    assert (found[2] / found[0]).item() == pytest.approx(0.0111 / 0.6065, rel=1e-2)


def test_the_scale_of_advantages_does_not_matter() -> None:
    assert weights(LOGP, 7 * ADVANTAGE).tolist() == pytest.approx(WEIGHTS, abs=1e-6)


def test_equal_advantages_leave_grpo() -> None:
    assert weights(LOGP, torch.full((6,), 0.3, dtype=torch.float64)).tolist() == [1.0] * 6


def test_planted_outliers_lose_their_weight_and_the_rest_keep_theirs() -> None:
    generator = torch.Generator().manual_seed(0)
    logp_T = -1 - 0.3 * torch.randn(2000, generator=generator, dtype=torch.float64).abs()
    advantage_T = torch.randn(2000, generator=generator, dtype=torch.float64)
    planted = torch.arange(0, 2000, 200)
    logp_T[planted], advantage_T[planted] = -9.0, -3.0
    found = weights(logp_T, advantage_T)
    assert found.mean().item() == pytest.approx(1)
    assert found[planted].max() < 0.01
    others = torch.ones(2000, dtype=torch.bool)
    others[planted] = False
    assert found[others].min() > 0.8
    assert found[others].mean() > 1


def test_statistics_of_the_group_or_of_the_mini_batch() -> None:
    """Two groups far from each other: within each nothing is extreme, in the batch everything is."""
    layout = Layout(Segments.from_lengths([3, 3]), Segments.from_lengths([1, 1]), Segments.from_lengths([1, 1]))
    logp_T = torch.cat([LOGP[:3], LOGP[:3] - 5])
    advantage_T = torch.tensor([0.5, -0.5, 1.0, 0.5, -0.5, 1.0], dtype=torch.float64)
    by_group = weights(logp_T, advantage_T, layout, scope="group")
    alone = weights(logp_T[:3], advantage_T[:3])
    assert by_group.tolist() == pytest.approx([*alone.tolist(), *alone.tolist()], abs=1e-12)
    assert by_group[:3].mean().item() == pytest.approx(1)
    assert (weights(logp_T, advantage_T, layout) - by_group).abs().max() > 0.05


def test_covariances_that_are_all_far_from_zero_give_finite_weights() -> None:
    """Two answers of one token, one right and one wrong: all c are about 1, apart from what rounding makes of them."""
    logp_T = torch.tensor([-1.0, -3.0000002, -1.0, -3.0], dtype=torch.float64)
    advantage_T = torch.tensor([1.0, -1, 1, -1], dtype=torch.float64)
    for settings in ({}, {"sigma": 1e-3}):
        found = weights(logp_T, advantage_T, **settings)
        assert torch.isfinite(found).all()
        assert found.mean().item() == pytest.approx(1)


@pytest.mark.parametrize("logp_T", [torch.tensor([-3.0]), torch.tensor([-3.0, -1.0]), torch.tensor([-1e4, -1.0])])
def test_one_or_two_tokens_weigh_alike(logp_T: Tensor) -> None:
    """Of two tokens both covariances are the same number."""
    assert weights(logp_T, logp_T / 3).tolist() == [1.0] * len(logp_T)


def test_infinite_width_is_off() -> None:
    layout = Layout.of_single_turns([6], group_size=1)
    inputs = TokenWeightInputs(LOGP, ADVANTAGE, torch.zeros(6, dtype=torch.bool), layout, Context())
    assert GaussianCovariance(sigma=float("inf"))(inputs).weight_T is None
    with pytest.raises(ConfigError, match="width"):
        GaussianCovariance(sigma=0.0)
