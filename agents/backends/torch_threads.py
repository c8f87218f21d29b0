"""How many processor threads a pass of a few tokens takes."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import torch
from transformers import PreTrainedModel

# Numbers of a weight matrix that a processor multiplies by a few tokens in about the time that it takes to wake another
# thread and wait for it.
_WORTH_A_THREAD = 100_000


def threads_for_few_tokens(model: PreTrainedModel) -> Callable[[], AbstractContextManager[None]]:
    """Makes a context in which a pass of a few tokens is computed with as many threads as help.

    On a CPU a small model's pass is hundreds of steps of some microseconds each. Sharing each of them with a second
    thread takes longer than doing it alone, much longer where another process holds that thread up. The setting is the
    calling thread's own, and is put back.

    Args:
        model: The model.
    """
    matrices = [weight.numel() for layer in model.modules() for weight in layer.parameters(False) if weight.dim() == 2]
    small = model.device.type == "cpu" and sum(matrices) < _WORTH_A_THREAD * len(matrices)
    return _one_thread if small else contextlib.nullcontext


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
