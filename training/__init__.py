"""How agents improve: stage objects that together are a method, and the tensors that they work on.

A method (``Method``) is a handful of frozen stage objects, and ``preset(name)`` composes the published ones. All
tensors are flat: only response tokens are stored, one after another, so padding and packing cannot change a loss.

Shape suffixes:

| suffix | one entry for each |
|---|---|
| ``_T`` | response token |
| ``_B`` | row, which is one turn: a prompt and the response to it |
| ``_E`` | episode, which is one trajectory of rows |
| ``_P`` | group, which is the episodes of one prompt from one policy |
| ``_U`` | unit of aggregation, which is a turn or a trajectory |
| ``_V``, ``_H`` | word of the vocabulary, hidden channel |

Each name is loaded on first use; the room itself can be looked at without loading torch.
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..envs.errors import MissingExtraError

if find_spec("torch") is None:
    raise MissingExtraError("holdergym.training", "train", "torch")

if TYPE_CHECKING:
    from .advantages import GlobalAdvantage, GroupAdvantage, StepRowAdvantage
    from .batch import Context, PolicyTokens, Rollout, TokenBatch
    from .gigpo import GiGPOAdvantage
    from .holder import log_power_mean
    from .layout import Layout
    from .logprobs import token_logprobs
    from .loss import objective, prepare, token_gradients
    from .method import Method
    from .presets import preset, preset_names
    from .schedules import Schedule
    from .segments import Segments

__all__ = [
    "Context",
    "GiGPOAdvantage",
    "GlobalAdvantage",
    "GroupAdvantage",
    "Layout",
    "Method",
    "PolicyTokens",
    "Rollout",
    "Schedule",
    "Segments",
    "StepRowAdvantage",
    "TokenBatch",
    "log_power_mean",
    "objective",
    "prepare",
    "preset",
    "preset_names",
    "token_gradients",
    "token_logprobs",
]

_LAZY = {
    "Context": ".batch",
    "GiGPOAdvantage": ".gigpo",
    "GlobalAdvantage": ".advantages",
    "GroupAdvantage": ".advantages",
    "Layout": ".layout",
    "Method": ".method",
    "PolicyTokens": ".batch",
    "Rollout": ".batch",
    "Schedule": ".schedules",
    "Segments": ".segments",
    "StepRowAdvantage": ".advantages",
    "TokenBatch": ".batch",
    "log_power_mean": ".holder",
    "objective": ".loss",
    "prepare": ".loss",
    "preset": ".presets",
    "preset_names": ".presets",
    "token_gradients": ".loss",
    "token_logprobs": ".logprobs",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
