"""Several processes: what they send each other, over torch.distributed, set up by Hugging Face Accelerate."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

from ..envs.errors import ConfigError, MissingExtraError
from .processes import Item, Layers, Processes, ProcessesError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_BUCKET = 2**24  # numbers that are added up at once: 64 MiB of float32
_TOLD = "holdergym/failed"
_GRACE_S = 1.0


class ProcessGroup(Processes):
    """The processes that a launcher has started.

    Records and tensors of the CPU go over gloo, which notices at once when another process ends; gradients go over
    what suits their device.

    Args:
        timeout_s: Longest wait for another process.

    Attributes:
        failed: Whether this process is ending early.
    """

    def __init__(self, timeout_s: float) -> None:
        self.rank, self.count = dist.get_rank(), dist.get_world_size()
        self._timeout_s = timeout_s
        self.failed = False
        self._in_step = False
        self._records = dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout_s))

    def fail(self) -> None:
        """See ``Processes``."""
        if self.failed:
            return
        self.failed = True
        if not _is_first_to_fail():
            time.sleep(_GRACE_S)  # the launcher ends all as soon as one has ended, and the first is still speaking
            _fall_silent()

    def gather(self, item: Item) -> list[Item]:
        """See ``Processes``."""
        found: list[Item | None] = [None] * self.count
        with self.waiting():
            dist.all_gather_object(found, item, group=self._records)
        return cast(list[Item], found)

    def sum(self, values_T: Tensor) -> Tensor:
        """See ``Processes``."""
        total_T = values_T.clone()
        with self.waiting():
            dist.all_reduce(total_T, group=self._records)
        return total_T

    def sum_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """See ``Processes``. A parameter that no process has a gradient of keeps none: the optimiser passes it over."""
        own = [one for one in parameters if not isinstance(one, DTensor)]  # the others' are, as each pass ends
        reached = self.sum(torch.tensor([int(one.grad is not None) for one in own]))
        trained = [one for one, count in zip(own, reached.tolist(), strict=True) if count]
        gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in trained]
        for bucket in _buckets(gradients):
            flat = torch.cat([one.flatten() for one in bucket])
            with self.waiting():
                dist.all_reduce(flat)
            totals = torch.split(flat, [one.numel() for one in bucket])
            for one, total in zip(bucket, totals, strict=True):
                one.copy_(total.view_as(one))
        for one, gradient in zip(trained, gradients, strict=True):
            one.grad = gradient

    def shard(self, model: "PreTrainedModel") -> Layers:
        """See ``Processes``."""
        from .sharding import ShardedLayers

        self._in_step = True
        return ShardedLayers(model, self)

    def idle(self, passes: int) -> int:
        """See ``Processes``. Spread layers are put together by all processes at once."""
        return max(self.gather(passes)) - passes if self._in_step else 0

    def begin_alike(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """See ``Processes``."""
        for one in parameters:
            with self.waiting():
                dist.broadcast(one.data, src=0)

    def require_alike(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """See ``Processes``. Sums tell weights apart that have drifted: not all that could differ."""
        sums = torch.stack([one.detach().double().sum() for one in parameters])
        self.require_same("the weights (by their sum)", float(sums.sum()))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """See ``Processes``."""
        try:
            yield
        except RuntimeError as error:  # all that torch.distributed raises when a peer is gone or late
            raise ProcessesError(
                f"another process of the run has ended or has not answered for {self._timeout_s:g} s "
                f"({' '.join(str(error).split())[:120]}): see what it said, and go on with --resume"
            ) from None


@contextmanager
def join(timeout_s: float) -> Iterator[ProcessGroup]:
    """Joins the processes that the launcher has started, and leaves them at the end.

    Raises:
        ConfigError: If the launcher asks for what there is not.
        MissingExtraError: If accelerate is not installed.
        ProcessesError: If the processes do not find each other.
    """
    try:
        from accelerate import PartialState
    except ImportError:
        raise MissingExtraError("several processes", "accelerate", "train") from None
    _refuse_other_plugins()
    try:
        PartialState(timeout=timedelta(seconds=timeout_s))
        group = ProcessGroup(timeout_s)
    except (RuntimeError, ValueError) as error:
        raise ProcessesError(
            f"the processes of the run do not find each other: {' '.join(str(error).split())[:200]}; start them with "
            "torchrun or accelerate launch"
        ) from None
    try:
        yield group
    except BaseException:
        group.fail()
        raise
    if not group.failed:  # else the others may wait in it, and it ends with this process
        dist.destroy_process_group()


def _refuse_other_plugins() -> None:
    for variable, name in (("ACCELERATE_USE_FSDP", "FSDP"), ("ACCELERATE_USE_DEEPSPEED", "DeepSpeed")):
        if os.environ.get(variable, "false").lower() in ("1", "true"):
            raise ConfigError(
                f"the launcher asks for {name}: leave it out of the launch, and set shard=true to spread the policy "
                "over the processes (FSDP2)"
            )


def _is_first_to_fail() -> bool:
    """Whether no other process has failed before. Where the place to ask is gone, this one speaks."""
    try:
        return bool(dist.distributed_c10d._get_default_store().add(_TOLD, 1) == 1)
    except RuntimeError:
        return True


def _fall_silent() -> None:
    sys.stderr.flush()
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Neighbours of one type, up to a size."""
    bucket: list[Tensor] = []
    for one in tensors:
        if bucket and (one.dtype != bucket[0].dtype or sum(other.numel() for other in bucket) + one.numel() > _BUCKET):
            yield bucket
            bucket = []
        bucket.append(one)
    if bucket:
        yield bucket
