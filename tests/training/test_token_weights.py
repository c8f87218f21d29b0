import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import Context, Layout
from holdergym.training.token_weights import ClipCov, KLCov, TokenWeightInputs, covariance_terms
from torch import Tensor

# The test vector of the covariance-aware variant's formula, which has the same covariance.
LOGP = torch.tensor([-0.1, -2.0, -0.5, -0.2, -0.05, -4.0], dtype=torch.float64)
ADVANTAGE = torch.tensor([1.0, 1, 1, -1, -1, -1], dtype=torch.float64)


def inputs(
    logp_T: Tensor, advantage_T: Tensor, clipped_T: Tensor | None = None, context: Context | None = None
) -> TokenWeightInputs:
    clipped_T = torch.zeros(len(logp_T), dtype=torch.bool) if clipped_T is None else clipped_T
    layout = Layout.of_single_turns([len(logp_T)], group_size=1)
    return TokenWeightInputs(logp_T, advantage_T, clipped_T, layout, context or Context())


def planted(tokens: int = 20_000) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(tokens, generator=generator) * 2, torch.randn(tokens, generator=generator)


def test_covariance() -> None:
    expected = [1.041667, -0.858333, 0.641667, -0.941667, -1.091667, 2.858333]
    assert covariance_terms(LOGP, ADVANTAGE).tolist() == pytest.approx(expected, abs=1e-6)


def test_clip_cov_takes_out_the_share_among_candidates_only() -> None:
    logp_T, advantage_T = planted()
    clipped_T = torch.zeros(20_000, dtype=torch.bool)
    clipped_T[::2] = True
    weight_T = ClipCov(share=2e-4)(inputs(logp_T, advantage_T, clipped_T)).weight_T
    assert weight_T is not None
    removed = (weight_T == 0).nonzero().flatten()
    assert len(removed) == 4  # floor(2e-4 * 20,000)
    covariance_T = covariance_terms(logp_T, advantage_T)
    assert ((covariance_T[removed] > 1) & (covariance_T[removed] < 5)).all()
    assert not clipped_T[removed].any()
    assert set(weight_T.tolist()) == {0.0, 1.0}


def test_clip_cov_takes_at_least_one_and_at_most_the_candidates() -> None:
    weight_T = ClipCov(share=1e-9)(inputs(LOGP, ADVANTAGE)).weight_T
    assert weight_T is not None
    assert weight_T.sum() == 5
    everything = ClipCov(share=1.0)(inputs(LOGP, ADVANTAGE)).weight_T
    assert everything is not None
    assert everything.tolist() == [0, 1, 1, 1, 1, 0]
    nothing = ClipCov(share=1.0)(inputs(LOGP, torch.ones(6))).weight_T
    assert nothing is not None
    assert (nothing == 1).all()


def test_clip_cov_draws_by_seed_and_update_alone() -> None:
    logp_T, advantage_T = planted()
    stage = ClipCov(share=1e-3)

    def draw(seed: int, update: int) -> Tensor:
        torch.rand(3)  # the global generator has no say
        weight_T = stage(inputs(logp_T, advantage_T, context=Context(seed=seed, update=update))).weight_T
        assert weight_T is not None
        return weight_T

    assert torch.equal(draw(0, 1), draw(0, 1))
    assert not torch.equal(draw(0, 1), draw(0, 2))
    assert not torch.equal(draw(0, 1), draw(1, 1))


def test_kl_cov_selects_the_largest() -> None:
    weights = KLCov(share=0.34)(inputs(LOGP, ADVANTAGE))
    assert weights.weight_T is None
    assert weights.kl_weight_T is not None
    assert weights.kl_weight_T.tolist() == [1, 0, 0, 0, 0, 1]
    at_least_one = KLCov(share=1e-9)(inputs(LOGP, ADVANTAGE)).kl_weight_T
    assert at_least_one is not None
    assert at_least_one.tolist() == [0, 0, 0, 0, 0, 1]


def test_bad_settings() -> None:
    for share in (0.0, 1.5):
        with pytest.raises(ConfigError, match="share of tokens"):
            KLCov(share=share)
    with pytest.raises(ConfigError, match="covariance range"):
        ClipCov(low=5.0, high=1.0)
