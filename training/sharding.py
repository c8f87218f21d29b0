"""Weights, gradients and optimiser states spread over the processes of a run, by PyTorch's FSDP2 (``fully_shard``).

While a policy plays, scores and is saved, every process has it whole, as any program may use it. While it is updated,
each process holds only its part of every layer; a layer is put together when a pass comes to it. AdamW's state, the
larger part of what training holds, is spread all the time. Embeddings, the last norm and the output layer are not.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from ..envs.errors import ConfigError
from .processes import Layers, Processes

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class ShardedLayers(Layers):
    """A model whose layers are spread over processes.

    It begins spread: an optimiser that is made then holds parts.

    Args:
        model: The model.
        processes: The processes, at least two.

    Raises:
        ConfigError: If the model does not say what its layers are.
    """

    foreach: bool | None = False  # parts and whole tensors cannot be stepped together

    def __init__(self, model: "PreTrainedModel", processes: Processes) -> None:
        kinds = set(model._no_split_modules or ())
        mesh = init_device_mesh(model.device.type, (processes.count,))
        self._processes = processes
        self._layers: list[FSDPModule] = []
        for module in list(model.modules()):
            if type(module).__name__ in kinds:
                layer = fully_shard(module, mesh=mesh)
                # Losses are shares of one loss: their gradients are added up, not averaged.
                layer.set_gradient_divide_factor(1.0)
                layer.set_force_sum_reduction_for_comms(True)
                self._layers.append(layer)
        if not self._layers:
            raise ConfigError(f"shard does not know the layers of a {type(model).__name__}: leave it out")

    def spread(self) -> None:
        """See ``Layers``."""
        for layer in self._layers:
            layer.set_reshard_after_forward(True)
            layer.reshard()

    def gather(self) -> None:
        """See ``Layers``."""
        with self._processes.waiting():
            for layer in self._layers:
                layer.set_reshard_after_forward(False)
                layer.unshard()

    def whole(self, tensor: Tensor) -> Tensor:
        """See ``Layers``."""
        if not isinstance(tensor, DTensor):
            return tensor
        with self._processes.waiting():
            return tensor.full_tensor()

    def part(self, whole: Tensor, like: Tensor) -> Tensor:
        """See ``Layers``."""
        if not isinstance(like, DTensor):
            return whole
        # Every process has the whole, so nothing is sent.
        return distribute_tensor(whole.to(like.device), like.device_mesh, like.placements, src_data_rank=None)

    def clip_gradient(self, parameters: Sequence[torch.nn.Parameter], largest: float) -> float:
        """See ``Layers``."""
        gradients = [one.grad for one in parameters if one.grad is not None]
        common, own = torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
        for one in gradients:
            local = one.to_local() if isinstance(one, DTensor) else one
            square = local.double().square().sum().cpu()
            if isinstance(one, DTensor):
                own += square
            else:
                common += square
        norm = float((common + self._processes.sum(own)).sqrt())
        scale = min(1.0, largest / (norm + 1e-6))
        for one in gradients:
            one.mul_(scale)
        return norm

    def weights(self, model: "PreTrainedModel") -> Mapping[str, Tensor] | None:
        """See ``Layers``. ``state_dict`` would spread the layers, and in this process alone."""
        named = {name: one.detach() for name, one in model.named_parameters(remove_duplicate=False)}
        return named | dict(model.named_buffers()) if _has_kept_buffers(model) else named


def _has_kept_buffers(model: "PreTrainedModel") -> bool:
    return any(set(module._buffers) - module._non_persistent_buffers_set for module in model.modules())
