import math
from typing import NamedTuple

import pytest
import torch
from holdergym.training import token_logprobs
from holdergym.training.logprobs import Tile
from torch import Tensor

TOKENS, WORDS, HIDDEN = 7, 11, 5


class Scores(NamedTuple):
    logp_T: Tensor
    entropy_T: Tensor


def plain(hidden: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None, temperature: float) -> Scores:
    logits = hidden @ weight.t() + (0 if bias is None else bias)
    logp = torch.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature, 1)
    return Scores(logp.gather(1, target[:, None]).squeeze(1), -(logp.exp() * logp).sum(1))


def tensors(dtype: torch.dtype, *, trained: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(TOKENS, HIDDEN, generator=generator).to(dtype).requires_grad_()
    weight = torch.randn(WORDS, HIDDEN, generator=generator).to(dtype).requires_grad_(trained)
    bias = torch.randn(WORDS, generator=generator).to(dtype).requires_grad_(trained)
    return hidden, weight, torch.randint(WORDS, (TOKENS,), generator=generator), bias


@pytest.mark.parametrize("tile", [Tile(1, 1), Tile(3, 4), Tile(7, 11), Tile(100, 100), Tile(2, 100), None])
@pytest.mark.parametrize("trained", [True, False], ids=["trained", "frozen"])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("entropy_gradient", [True, False])
def test_equals_the_plain_form_with_its_gradients(
    tile: Tile | None, trained: bool, with_bias: bool, temperature: float, entropy_gradient: bool
) -> None:
    hidden, weight, target, bias = tensors(torch.float64, trained=trained)
    given = bias if with_bias else None
    ours = token_logprobs(
        hidden, weight, target, bias_V=given, temperature=temperature, tile=tile, entropy_gradient=entropy_gradient
    )
    theirs = plain(hidden, weight, target, given, temperature)
    torch.testing.assert_close(ours.logp_T, theirs.logp_T)
    torch.testing.assert_close(ours.entropy_T, theirs.entropy_T)
    assert ours.entropy_T.requires_grad == entropy_gradient

    inputs = [tensor for tensor in (hidden, weight, given) if tensor is not None and tensor.requires_grad]
    along = torch.linspace(-1, 2, TOKENS, dtype=torch.float64)
    across = torch.linspace(1, -1, TOKENS, dtype=torch.float64)

    def gradients(scores: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
        loss = (along * scores[0]).sum()
        return torch.autograd.grad(loss + (across * scores[1]).sum() if entropy_gradient else loss, inputs)

    for got, expected in zip(gradients(ours), gradients(theirs), strict=True):
        torch.testing.assert_close(got, expected)


def test_gradcheck() -> None:
    hidden, weight, target, bias = tensors(torch.float64, trained=True)

    def scores(hidden: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        return tuple(token_logprobs(hidden, weight, target, bias_V=bias, temperature=1.3, tile=Tile(3, 4)))  # type: ignore[return-value]

    assert torch.autograd.gradcheck(scores, (hidden, weight, bias))


@pytest.mark.parametrize("trained", [True, False], ids=["trained", "frozen"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_gives_single_precision_results(dtype: torch.dtype, trained: bool) -> None:
    hidden, weight, target, bias = tensors(dtype, trained=trained)
    ours = token_logprobs(hidden, weight, target, bias_V=bias, tile=Tile(3, 4))
    theirs = plain(hidden, weight, target, bias, 1.0)
    assert ours.logp_T.dtype == torch.float32
    torch.testing.assert_close(ours.logp_T, theirs.logp_T, atol=0.05, rtol=0.02)
    (ours.logp_T.sum() + ours.entropy_T.sum()).backward()
    exact, *_ = tensors(torch.float64, trained=False)
    reference = plain(exact, weight.detach().double(), target, bias.detach().double(), 1.0)
    (gradient,) = torch.autograd.grad(reference.logp_T.sum() + reference.entropy_T.sum(), exact)
    assert hidden.grad is not None
    assert hidden.grad.dtype == dtype
    torch.testing.assert_close(hidden.grad.double(), gradient, atol=0.1, rtol=0.05)


def test_large_logits_do_not_overflow() -> None:
    hidden = torch.tensor([[1000.0], [-1000.0], [0.0]], requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0], [0.5], [0.0]])
    for tile in (Tile(1, 1), Tile(2, 3), Tile(3, 4)):
        scores = token_logprobs(hidden, weight, torch.tensor([0, 0, 3]), tile=tile)
        assert scores.logp_T.tolist() == pytest.approx([0, -2000, -math.log(4)])
        assert scores.entropy_T.tolist() == pytest.approx([0, 0, math.log(4)], abs=1e-6)
        (gradient,) = torch.autograd.grad(scores.logp_T.sum() + scores.entropy_T.sum(), hidden)
        assert gradient.isfinite().all()


def test_no_tokens() -> None:
    hidden = torch.empty(0, 5, requires_grad=True)
    scores = token_logprobs(hidden, torch.randn(11, 5), torch.empty(0, dtype=torch.int64))
    assert scores.logp_T.shape == (0,)
    scores.logp_T.sum().backward()


def test_without_gradients_nothing_is_kept() -> None:
    hidden, weight, target, _ = tensors(torch.float64, trained=True)
    with torch.no_grad():
        scores = token_logprobs(hidden, weight, target)
    assert not scores.logp_T.requires_grad
    torch.testing.assert_close(scores.logp_T, plain(hidden, weight, target, None, 1.0).logp_T.detach())


def test_bad_arguments() -> None:
    hidden, weight, target, _ = tensors(torch.float64, trained=True)
    with pytest.raises(ValueError, match="do not fit"):
        token_logprobs(hidden, weight, target[:-1])
    with pytest.raises(ValueError, match="temperature"):
        token_logprobs(hidden, weight, target, temperature=0.0)
