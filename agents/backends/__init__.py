"""What computes a language model: one interface, four back ends, each loaded on first use."""

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
    from .settings import OpenAISettings, TransformersSettings, VllmServerSettings, VllmSettings
    from .transformers_backend import TransformersBackend
    from .vllm_backend import VllmBackend, open_vllm
    from .vllm_server import VllmServerBackend, open_vllm_server

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
    "VllmServerBackend",
    "VllmServerSettings",
    "VllmSettings",
    "open_vllm",
    "open_vllm_server",
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
    "VllmServerBackend": ".vllm_server",
    "VllmServerSettings": ".settings",
    "VllmSettings": ".settings",
    "open_vllm": ".vllm_backend",
    "open_vllm_server": ".vllm_server",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
