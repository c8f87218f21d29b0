"""How much memory a run needs at least, from the number of its weights."""

from pathlib import Path

from ..agents.backends.settings import OpenAISettings, VllmServerSettings, VllmSettings
from ..agents.checkpoints import ModelError
from ..agents.language_model_settings import LanguageModelSettings
from .config import TrainConfig

_GIB = 2.0**30
_FLOAT32 = 4


def memory_needed(config: TrainConfig, parameters: float, model: LanguageModelSettings | None = None) -> float:
    """GiB for weights, gradients, AdamW's two moments, and the reference model.

    Activations, the cache of the rollouts and the fragments of the allocator come on top. With adapters the weights
    are counted alone, as the adapters are small beside them.

    Args:
        config: The settings.
        parameters: Weights of the model.
        model: The model that learns, where it is not the policy.
    """
    if config.lora is not None:
        return memory_to_play(model or config.agent, parameters)
    copies = 4 + int(config.method.needs_reference)
    return parameters * _FLOAT32 * copies / _GIB


def memory_to_play(model: LanguageModelSettings, parameters: float) -> float:
    """GiB for the weights of a model that learns nothing, 2 bytes each where the settings do not say float32.

    Args:
        model: How it plays.
        parameters: Its weights.
    """
    dtype = getattr(model.backend, "dtype", "auto")
    return parameters * (_FLOAT32 if dtype == "float32" else 2) / _GIB


def parameters_of(config: TrainConfig) -> float | None:
    """Weights of the policy that the settings name; see ``parameters_of_model``."""
    return parameters_of_model(config.agent.model)


def parameters_of_model(model: str) -> float | None:
    """Weights of a model, if it is a folder on this machine; tied ones count once.

    The tensors' shapes are read, not the tensors.

    Raises:
        ModelError: If a file of weights cannot be read.
    """
    folder = Path(model).expanduser()
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
    """Lines for a plan: one, and one more for each other model and each vLLM engine of the run, and their sum.

    Args:
        config: The settings.
        parameters: Weights of the policy; None if they are not known.

    Raises:
        ModelError: If a file of weights cannot be read.
    """
    lines = [_policy_as_text(config, parameters)]
    needed = [None if parameters is None else memory_needed(config, parameters)]
    if isinstance(config.agent.backend, VllmSettings | VllmServerSettings):
        needed.append(None if parameters is None else memory_to_play(config.agent, parameters))
        lines.append(f"The policy's vLLM: {_engine_as_text('agent', config.agent.backend, needed[-1])}")
    if config.explorer is not None and config.method.needs_explorer:
        lines.append(f"The explorer: {_explorer_as_text(config, config.explorer)}")
        needed.append(_of_explorer(config, config.explorer))
    if config.partner is not None:
        theirs = parameters_of_model(config.partner.model)
        what = "its frozen weights" if config.lora is not None else "the same of its own"
        needed.append(None if theirs is None else memory_needed(config, theirs, config.partner))
        lines.append(
            f"The partner: {_gib(needed[-1])}"
            + ("." if theirs is None else f" for {what}, {theirs / 1e6:,.0f} million weights.")
        )
        if isinstance(config.partner.backend, VllmSettings | VllmServerSettings):
            needed.append(None if theirs is None else memory_to_play(config.partner, theirs))
            lines.append(f"The partner's vLLM: {_engine_as_text('partner', config.partner.backend, needed[-1])}")
    known = [one for one in needed if one is not None]
    if len(needed) > 1 and len(known) == len(needed):
        lines.append(f"All models together: {sum(known):,.1f} GiB.")
    return "\n".join(lines)


def _gib(memory: float | None) -> str:
    return "not known, as the checkpoint is not here" if memory is None else f"{memory:,.1f} GiB"


def _of_explorer(config: TrainConfig, explorer: LanguageModelSettings) -> float | None:
    """GiB; None if not known."""
    if config.explorer_samples is not None or isinstance(explorer.backend, OpenAISettings):
        return 0.0
    parameters = parameters_of_model(explorer.model)
    return None if parameters is None else memory_to_play(explorer, parameters)


def _explorer_as_text(config: TrainConfig, explorer: LanguageModelSettings) -> str:
    if config.explorer_samples is not None:
        return "no memory, as its episodes come from a file."
    if isinstance(explorer.backend, OpenAISettings):
        return "no memory here, as a server computes it."
    memory = _of_explorer(config, explorer)
    if isinstance(explorer.backend, VllmSettings | VllmServerSettings):
        return _engine_as_text("explorer", explorer.backend, memory)
    return f"{_gib(memory)}{'' if memory is None else ' for its weights alone'}."


def _engine_as_text(name: str, backend: VllmSettings | VllmServerSettings, memory: float | None) -> str:
    """What an engine takes besides the trainer.

    Args:
        name: Whose it is, as the settings call it.
        backend: Its settings.
        memory: GiB of its weights; None if not known.
    """
    weights = f"{_gib(memory)}{'' if memory is None else ' for a copy of the weights of its own'}"
    visible = "CUDA_VISIBLE_DEVICES"
    key = f"{name}.backend.engine.gpu_memory_utilization"
    if isinstance(backend, VllmServerSettings) and visible in backend.environment:
        return f"{weights}, on the GPUs of {name}.backend.environment.{visible}={backend.environment[visible]}."
    given = [value for option, value in backend.engine.items() if option.replace("-", "_") == key.rpartition(".")[2]]
    if given:
        return f"{weights}; of a GPU, which it shares with the trainer, it takes the part {given[0]} ({key})."
    other = f", or give it another GPU by {name}.backend.environment.{visible}"
    return (
        f"{weights}; of a GPU, which it shares with the trainer, it takes more than 90 % unless told otherwise: set "
        f"{key} to the part that the trainer leaves{other if isinstance(backend, VllmServerSettings) else ''}."
    )


def _policy_as_text(config: TrainConfig, parameters: float | None) -> str:
    if parameters is None:
        return "Memory: not known, as the checkpoint is not here; 16 bytes a weight, and 4 more for a reference model."
    what = "the frozen weights" if config.lora is not None else "weights, gradients and AdamW"
    if config.method.needs_reference and config.lora is None:
        what = "weights, gradients, AdamW and the reference model"
    return (
        f"Memory: {memory_needed(config, parameters):,.1f} GiB for {what} of {parameters / 1e6:,.0f} million weights; "
        "activations and the cache of the rollouts come on top."
    )
