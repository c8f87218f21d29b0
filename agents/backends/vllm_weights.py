"""Other weights for an engine that runs: what vLLM's workers are taught for it.

A server's workers import a copy of this file by itself, in an environment that need not have holdergym: nothing else of
the package may be imported here.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor, nn

EXTENSION = f"{__name__}.TakesWeights"
"""Value of vLLM's engine argument ``worker_extension_cls``."""


class _Model(Protocol):
    def load_weights(self, weights: "Iterable[tuple[str, Tensor]]") -> object: ...

    def modules(self) -> "Iterator[nn.Module]": ...


class _Runner(Protocol):
    def get_model(self) -> _Model: ...


class _Configuration(Protocol):
    @property
    def dtype(self) -> object: ...


class TakesWeights:
    """Methods that vLLM adds to the workers of an engine, in whatever process they run.

    On a GPU the weights are written over the old ones by the model's own ``load_weights``, which is the usual way
    (verl's, TRL's) and what graphs that have been captured need; it could not be tried here. On a CPU vLLM has packed
    them when it loaded them, and ``load_weights`` fails; ``reload_weights`` packs them again, except for an output
    layer that shares the embeddings' weights, which would go on with the old ones.
    """

    model_runner: _Runner
    model_config: _Configuration

    def holdergym_dtype(self) -> str:
        """Form of the numbers that the engine computes with, for example ``float32``."""
        return str(self.model_config.dtype).removeprefix("torch.")

    def holdergym_take_weights(self, folder: str) -> None:
        """Takes the weights of an ordinary checkpoint of the same model.

        Args:
            folder: A folder with ``*.safetensors`` files that this process can read.
        """
        from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
        from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead
        from vllm.model_executor.model_loader.weight_utils import safetensors_weights_iterator
        from vllm.platforms import current_platform

        files = sorted(str(path) for path in Path(folder).glob("*.safetensors"))
        weights = safetensors_weights_iterator(files, use_tqdm_on_load=False)
        model = self.model_runner.get_model()
        if not current_platform.is_cpu():
            model.load_weights(weights)
            return
        self.reload_weights(weights_iterator=weights)  # type: ignore[attr-defined]  # of the worker that this is added to
        for layer in model.modules():
            if isinstance(layer, ParallelLMHead):
                dispatch_cpu_unquantized_gemm(layer, remove_weight=False)
