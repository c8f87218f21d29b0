"""The processes of a run: this one alone, or several that share its work and come to the same weights.

All of them know the same: every process has all episodes of a round, all advantages and all that the stages remember,
and works them out alike. What is shared is what costs time: each plays some of the episodes (the first plays all where
it has started a server for them, see ``serving``), scores some of the sequences, and computes the gradient of some
units of aggregation. Shares of the loss are those of the whole mini-batch (see ``objective``), so gradients are added
up over processes.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from ..envs.errors import ConfigError, HolderGymError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Item = TypeVar("Item")

# Longest wait for another process: one may play a whole round for all. Of one that has ended gloo knows at once.
TIMEOUT_S = 24 * 3600.0


class ProcessesError(HolderGymError):
    """Another process of the run has ended, does not answer, or has come to something else."""


class Layers:
    """Where the weights of a policy are: whole in this process.

    Attributes:
        foreach: Whether AdamW steps many tensors at once; None leaves it to torch.
    """

    foreach: bool | None = None

    def spread(self) -> None:
        """Leaves each process its part of every layer, for an update."""

    def gather(self) -> None:
        """Gives each process all layers whole.

        Raises:
            ProcessesError: If another process has ended or does not answer.
        """

    def whole(self, tensor: Tensor) -> Tensor:
        """A tensor of the optimiser, whole. All processes call it together.

        Raises:
            ProcessesError: As in ``gather``.
        """
        return tensor

    def part(self, whole: Tensor, like: Tensor) -> Tensor:
        """What this process holds of a tensor.

        Args:
            whole: The tensor.
            like: A parameter that is held in the same way.
        """
        return whole

    def clip_gradient(self, parameters: Sequence[torch.nn.Parameter], largest: float) -> float:
        """The norm of the gradient, which is then scaled down to the largest one allowed."""
        return float(torch.nn.utils.clip_grad_norm_(parameters, largest))

    def weights(self, model: "PreTrainedModel") -> Mapping[str, Tensor] | None:
        """What is saved of a model whose layers are whole; None for what the model says itself."""
        return None


class Processes:
    """A run of one process: nothing is shared, and what is gathered is what there is.

    Attributes:
        rank: Number of this process, from 0.
        count: Number of processes.
    """

    rank: int = 0
    count: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes the run's files and speaks."""
        return self.rank == 0

    def fail(self) -> None:
        """To be called before this process ends early: the first of all speaks, the others say nothing from here on."""

    def share(self, items: Sequence[Item]) -> list[Item]:
        """This process's share of some items: every ``count``-th."""
        return list(items[self.rank :: self.count])

    def deal(self, costs: Sequence[int], together: Sequence[int]) -> list[int]:
        """This process's share of items that are bound to each other, the costs spread evenly.

        Args:
            costs: What each item costs.
            together: A key for each item; those with equal keys go to one process.

        Returns:
            Numbers of this process's items, in rising order.
        """
        bonds: dict[int, list[int]] = {}
        for number, key in enumerate(together):
            bonds.setdefault(key, []).append(number)
        cost = {key: sum(costs[number] for number in numbers) for key, numbers in bonds.items()}
        loads = [0] * self.count
        mine: list[int] = []
        for key in sorted(bonds, key=lambda key: (-cost[key], key)):
            least = loads.index(min(loads))
            loads[least] += cost[key]
            if least == self.rank:
                mine += bonds[key]
        return sorted(mine)

    def gather(self, item: Item) -> list[Item]:
        """What every process has, by rank; the same list on all of them.

        Raises:
            ProcessesError: If another process has ended or does not answer.
        """
        return [item]

    def require_same(self, what: str, value: object) -> None:
        """Checks that a value is the same on all processes.

        Args:
            what: Its name, for the message.
            value: Anything that can be compared.

        Raises:
            ProcessesError: If it is not, or as in ``gather``.
        """
        values = self.gather(value)
        for rank, other in enumerate(values):
            if other != values[0]:
                raise ProcessesError(
                    f"the processes of the run do not agree on {what}: {values[0]!r} in process 0 and {other!r} in "
                    f"process {rank}; start all with the same command and files, on machines of one kind"
                )

    def sum(self, values_T: Tensor) -> Tensor:
        """The sum of a tensor over the processes, on the CPU.

        Raises:
            ProcessesError: As in ``gather``.
        """
        return values_T

    def sum_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Adds the gradients of all processes up, in place.

        Raises:
            ProcessesError: As in ``gather``.
        """

    def waiting(self) -> AbstractContextManager[None]:
        """While another process is waited for; see ``gather``."""
        return nullcontext()

    def shard(self, model: "PreTrainedModel") -> Layers:
        """Spreads the layers of a model over the processes."""
        return Layers()

    def idle(self, passes: int) -> int:
        """How many passes other processes make that this one has no work for, where all must make as many.

        It is asked before the first pass: processes with less to do wait in a pass of the others.

        Args:
            passes: How many this one makes.
        """
        return 0

    def begin_alike(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Gives all processes the weights of the first, in place.

        Raises:
            ProcessesError: As in ``gather``.
        """

    def require_alike(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Checks that all processes have the same weights.

        Raises:
            ProcessesError: If they have not, or as in ``gather``.
        """


ALONE = Processes()


@contextmanager
def open_processes(timeout_s: float = TIMEOUT_S) -> Iterator[Processes]:
    """The processes that ``accelerate launch`` or ``torchrun`` has started, or this one alone.

    A failure of one process ends them all. The first to fail speaks; the others end without a word.

    Args:
        timeout_s: Longest wait for another process.

    Raises:
        ConfigError: If the launcher asks for what there is not.
        ProcessesError: If the processes do not find each other.
    """
    size = os.environ.get("WORLD_SIZE", "1")
    if not (size.isascii() and size.isdigit()):
        raise ConfigError(f"the variable WORLD_SIZE is {size!r}: leave it out, or start with torchrun")
    if int(size) < 2:
        yield ALONE
        return
    from .process_group import join

    with join(timeout_s) as group:
        yield group
