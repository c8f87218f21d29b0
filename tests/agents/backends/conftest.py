"""The small checkpoint in memory, and short ways to ask back ends."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from holdergym.agents.backends.backend import Generation, Request, Sampling, TokenPrompt
from holdergym.agents.checkpoints import find_checkpoint
from holdergym.agents.loading import load_model, load_tokenizer


@pytest.fixture(scope="session")
def tiny_model(tiny_checkpoint: Path):  # type: ignore[no-untyped-def]
    """The small checkpoint's model, float32."""
    return load_model(find_checkpoint(str(tiny_checkpoint)), "float32", "cpu")


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_checkpoint: Path):  # type: ignore[no-untyped-def]
    """Its tokenizer."""
    return load_tokenizer(find_checkpoint(str(tiny_checkpoint)))


@pytest.fixture
def ask() -> Callable[..., Request]:
    """Makes a request of token ids and settings of sampling."""

    def make(ids, timeout_s: float = 120.0, **sampling: object) -> Request:  # type: ignore[no-untyped-def]
        return Request(TokenPrompt(tuple(ids)), Sampling(**{"max_tokens": 24, **sampling}), timeout_s)  # type: ignore[arg-type]

    return make


@pytest.fixture
def true_logprobs() -> Callable[..., list[float]]:
    """Log-probabilities of a response by one fresh pass of the plain model over prompt and response."""
    import torch

    def compute(model, generation: Generation) -> list[float]:  # type: ignore[no-untyped-def]
        assert generation.prompt_ids is not None
        assert generation.response_ids is not None
        ids = torch.tensor([[*generation.prompt_ids, *generation.response_ids]])
        with torch.inference_mode():
            logp_T_V = model(input_ids=ids).logits[0].float().log_softmax(-1)
        start = len(generation.prompt_ids) - 1
        return [float(logp_T_V[start + at, token]) for at, token in enumerate(generation.response_ids)]

    return compute


@pytest.fixture
def assert_greedy() -> Callable[..., None]:
    """Checks that each token of a response is the most likely one, or as likely up to rounding."""
    import torch

    def check(model, generation: Generation) -> None:  # type: ignore[no-untyped-def]
        assert generation.prompt_ids is not None
        assert generation.response_ids is not None
        ids = torch.tensor([[*generation.prompt_ids, *generation.response_ids]])
        with torch.inference_mode():
            logits_T_V = model(input_ids=ids).logits[0, len(generation.prompt_ids) - 1 : -1].float()
        chosen_T = logits_T_V.gather(1, torch.tensor(generation.response_ids)[:, None]).squeeze(1)
        assert float((logits_T_V.amax(1) - chosen_T).max()) < 1e-3

    return check


@pytest.fixture(autouse=True)
def few_threads() -> Iterator[None]:
    """Small matrices are slower on many threads, and several tests may run at once."""
    try:
        import torch
    except ModuleNotFoundError:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
