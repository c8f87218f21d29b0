"""What computes a language model: one interface, three back ends, each loaded on first use."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .backend import (
        Backend,
        BackendError,
        BackendTimeout,
        ContextOverflow,
        FinishReason,
        Generation,
        Message,
        MessagePrompt,
        Request,
        Sampling,
        TokenPrompt,
    )
    from .openai_backend import OpenAIBackend
    from .settings import OpenAISettings, TransformersSettings, VllmSettings
    from .transformers_backend import TransformersBackend
    from .vllm_backend import VllmBackend, open_vllm

__all__ = [
    "Backend",
    "BackendError",
    "BackendTimeout",
    "ContextOverflow",
    "FinishReason",
    "Generation",
    "Message",
    "MessagePrompt",
    "OpenAIBackend",
    "OpenAISettings",
    "Request",
    "Sampling",
    "TokenPrompt",
    "TransformersBackend",
    "TransformersSettings",
    "VllmBackend",
    "VllmSettings",
    "open_vllm",
]

_LAZY = {
    "Backend": ".backend",
    "BackendError": ".backend",
    "BackendTimeout": ".backend",
    "ContextOverflow": ".backend",
    "FinishReason": ".backend",
    "Generation": ".backend",
    "Message": ".backend",
    "MessagePrompt": ".backend",
    "OpenAIBackend": ".openai_backend",
    "OpenAISettings": ".settings",
    "Request": ".backend",
    "Sampling": ".backend",
    "TokenPrompt": ".backend",
    "TransformersBackend": ".transformers_backend",
    "TransformersSettings": ".settings",
    "VllmBackend": ".vllm_backend",
    "VllmSettings": ".settings",
    "open_vllm": ".vllm_backend",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
