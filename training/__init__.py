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
"""

from importlib.util import find_spec

from ..envs.errors import MissingExtraError

if find_spec("torch") is None:
    raise MissingExtraError("holdergym.training", "train", "torch")

from .advantages import GlobalAdvantage, GroupAdvantage, StepRowAdvantage
from .batch import Context, PolicyTokens, Rollout, TokenBatch
from .gigpo import GiGPOAdvantage
from .holder import log_power_mean
from .layout import Layout
from .logprobs import token_logprobs
from .method import Method
from .objective import objective, prepare, token_gradients
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
