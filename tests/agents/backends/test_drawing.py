"""Draws against the distributions that transformers' own processors make, and against arithmetic."""

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from holdergym.agents.backends.backend import Sampling  # noqa: E402
from holdergym.agents.backends.drawing import TokenDraws, draw_tokens  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from scipy.stats import chisquare  # noqa: E402
from transformers import (  # noqa: E402
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

pytestmark = pytest.mark.llm


def _expected(logits_V: "torch.Tensor", sampling: Sampling) -> "torch.Tensor":
    """The distribution that ``generate`` draws from with these settings."""
    processors = LogitsProcessorList([TemperatureLogitsWarper(sampling.temperature)])
    if sampling.top_k:
        processors.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p < 1.0:
        processors.append(TopPLogitsWarper(sampling.top_p))
    return processors(torch.zeros(1, 1, dtype=torch.long), logits_V[None].double())[0].softmax(-1)


@pytest.mark.parametrize("top_k", [0, 1, 3, 8, 500])
@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.5, 1e-6])
@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_draws_follow_the_distribution_of_generate(temperature: float, top_p: float, top_k: int) -> None:
    logits_V = torch.randn(12, generator=torch.Generator().manual_seed(4)) * 1.5
    sampling = Sampling(max_tokens=1, temperature=temperature, top_p=top_p, top_k=top_k, seed=11)
    expected_V = _expected(logits_V, sampling)
    draws, count = TokenDraws(sampling), 3000
    drawn_V = torch.bincount(torch.tensor([draws.draw(logits_V) for _ in range(count)]), minlength=12)
    allowed_V = expected_V > 0
    assert int(drawn_V[~allowed_V].sum()) == 0
    if int(allowed_V.sum()) > 1:
        # Seeded, so this holds always or never.
        assert chisquare(drawn_V[allowed_V].numpy(), (expected_V[allowed_V] * count).numpy()).pvalue > 1e-3


@settings(max_examples=200, deadline=None)
@given(
    logits=st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=40),
    temperature=st.floats(0.05, 10),
    top_p=st.floats(1e-9, 1.0),
    top_k=st.integers(0, 50),
    seed=st.integers(0, 2**31 - 1),
)
def test_a_draw_is_repeatable_and_among_what_is_left(
    logits: list[float], temperature: float, top_p: float, top_k: int, seed: int
) -> None:
    sampling = Sampling(max_tokens=1, temperature=temperature, top_p=top_p, top_k=top_k, seed=seed)
    logits_V = torch.tensor(logits)
    token = TokenDraws(sampling).draw(logits_V)
    assert token == TokenDraws(sampling).draw(logits_V)
    # Only top-k's own number of tokens is left, also among equals.
    assert int((logits_V > logits_V[token]).sum()) < (top_k or len(logits))
    weights_V = (logits_V.double() / temperature).softmax(0)
    kept = weights_V.sort(descending=True).values[: top_k or None]
    above = float(weights_V[weights_V > weights_V[token]].sum())
    assert above < top_p * float(kept.sum()) + 1e-9 or token == int(logits_V.argmax()) or above == 0.0


def test_logprobs_are_of_the_models_own_distribution() -> None:
    logits_B_V = torch.tensor([[0.0, math.log(3.0)], [math.log(7.0), 0.0]])
    greedy = TokenDraws(Sampling(max_tokens=1))
    hot = TokenDraws(Sampling(max_tokens=1, temperature=50.0, top_k=1))
    first, second = draw_tokens(logits_B_V, [greedy, hot])
    assert (first.token, second.token) == (1, 0)
    assert (first.logprob, second.logprob) == pytest.approx((math.log(0.75), math.log(0.875)))


def test_greedy_takes_the_first_of_equals_and_half_precision_is_drawn_from_as_well() -> None:
    greedy = TokenDraws(Sampling(max_tokens=1))
    assert greedy.draw(torch.tensor([1.0, 5.0, 5.0])) == 1
    [draw] = draw_tokens(torch.tensor([[1.0, 2.0]], dtype=torch.bfloat16), [greedy])
    assert draw.logprob == pytest.approx(math.log(math.e / (1 + math.e)))


def test_rounding_of_the_logits_changes_hardly_a_draw() -> None:
    """The same response has to come in every batch, and batches differ by rounding. Here most weight is in the tail."""
    generator = torch.Generator().manual_seed(0)
    logits_V = torch.randn(50_000, generator=generator)
    noise_V = torch.randn(50_000, generator=generator) * 1e-5
    first, second = (TokenDraws(Sampling(max_tokens=1, temperature=1.0, seed=5)) for _ in range(2))
    same = sum(first.draw(logits_V) == second.draw(logits_V + noise_V) for _ in range(400))
    assert same >= 399
