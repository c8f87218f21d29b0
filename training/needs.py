"""How much memory a run needs at least, from the number of its weights."""

from pathlib import Path

from ..agents.checkpoints import ModelError
from .config import TrainConfig

_GIB = 2.0**30
_FLOAT32 = 4


def memory_needed(config: TrainConfig, parameters: float) -> float:
    """GiB for weights, gradients, AdamW's two moments, and the reference model.

    Activations, the cache of the rollouts and the fragments of the allocator come on top. With adapters the weights
    are counted alone, as the adapters are small beside them.

    Args:
        config: The settings.
        parameters: Weights of the model.
    """
    if config.lora is not None:
        dtype = getattr(config.agent.backend, "dtype", "auto")
        return parameters * (_FLOAT32 if dtype == "float32" else 2) / _GIB
    copies = 4 + int(config.method.needs_reference)
    return parameters * _FLOAT32 * copies / _GIB


def parameters_of(config: TrainConfig) -> float | None:
    """Weights of the model that the settings name, if it is a folder on this machine; tied ones count once.

    The tensors' shapes are read, not the tensors.

    Raises:
        ModelError: If a file of weights cannot be read.
    """
    folder = Path(config.agent.model).expanduser()
    files = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    if not files:
        return None
    return float(sum(_weights(file) for file in files))


def _weights(file: Path) -> int:
    import math

    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy") as tensors:
            return sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelError(f"cannot read {file}: {error}: copy the checkpoint again") from None


def needs_as_text(config: TrainConfig, parameters: float | None) -> str:
    """One line for a plan.

    Args:
        config: The settings.
        parameters: Weights of the model; None if they are not known.
    """
    if parameters is None:
        return "Memory: not known, as the checkpoint is not here; 16 bytes a weight, and 4 more for a reference model."
    what = "the frozen weights" if config.lora is not None else "weights, gradients and AdamW"
    if config.method.needs_reference and config.lora is None:
        what = "weights, gradients, AdamW and the reference model"
    return (
        f"Memory: {memory_needed(config, parameters):,.1f} GiB for {what} of {parameters / 1e6:,.0f} million weights; "
        "activations and the cache of the rollouts come on top."
    )
