"""What computes a policy's rollouts: the trainer's own model, or a vLLM engine or server that gets its weights."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from safetensors import SafetensorError

from ..agents.backends.backend import Backend, BackendError
from ..agents.backends.settings import (
    BackendSettings,
    OpenAISettings,
    TransformersSettings,
    VllmServerSettings,
    VllmSettings,
)
from ..agents.backends.transformers_backend import TransformersBackend
from ..agents.backends.vllm_backend import open_vllm
from ..agents.checkpoints import Checkpoint, ModelError
from ..envs.errors import ConfigError, HolderGymError
from .probe import Difference, Probe
from .processes import ALONE, Processes
from .scoring import Scorer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# Two implementations of float32 differ by 1e-5 or so where the weights are the same, and by far more after an update.
FLOAT32_LARGEST = 1e-3
# Numbers of 16 bits differ by some hundredths a token between implementations, and by far more where the weights are
# not of the same model. An update of a usual size is smaller than that and cannot be told from rounding.
SIXTEEN_BITS_MEAN = 0.05
_PROBE_SECONDS = 600.0


TrainingSettings = TransformersSettings | VllmSettings | VllmServerSettings
"""Settings of the back ends that can be given weights."""


class ServingError(HolderGymError):
    """What plays is not what is trained, or cannot be made so."""


class Trained(NamedTuple):
    """The policy, as far as what serves it must know it.

    Attributes:
        model: The model, with adapters in its layers if there are any.
        tokenizer: Its tokenizer.
        checkpoint: What both were loaded from.
        save: Writes the present weights as an ordinary checkpoint, adapters merged.
    """

    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"
    checkpoint: Checkpoint
    save: Callable[[Path], None]


class Serving(Protocol):
    """Computes the rollouts of a policy."""

    @property
    def backend(self) -> Backend:
        """The back end, the same one for as long as this is open."""

    @property
    def in_each_process(self) -> bool:
        """Whether each process of the run has a back end of its own and lets its share play; else one plays for all."""

    def update(self) -> None:
        """Goes on with the policy's present weights, and forgets what was computed with those before.

        Raises:
            HolderGymError: If a response is on its way, or what would play is not what is trained.
        """

    def close(self) -> None:
        """Ends the back end."""


class SharedModel:
    """The trainer's own model plays: there is nothing to hand over.

    Args:
        trained: The policy.
        settings: How it plays.
        in_flight: Most episodes at once.
    """

    in_each_process = True

    def __init__(self, trained: Trained, settings: TransformersSettings, in_flight: int) -> None:
        self.backend = TransformersBackend(
            trained.model,
            trained.tokenizer,
            max_batch=max(settings.max_batch, in_flight),
            cache_gib=settings.cache_gib,
            max_context=settings.max_context,
        )

    def update(self) -> None:
        """Forgets what was computed with the weights before."""
        self.backend.forget()

    def close(self) -> None:
        """Ends the back end."""
        self.backend.close()


class PlayedElsewhere:
    """Another process of the run has the engine, and lets it play for all."""

    in_each_process = False

    @property
    def backend(self) -> Backend:
        """There is none here: nobody asks for it."""
        raise LookupError("the back end is in the process that leads")

    def update(self) -> None:
        """The other process sees to it."""

    def close(self) -> None:
        """The other process sees to it."""


class TakesWeights(Backend, Protocol):
    """A back end that can go on with other weights of the same model."""

    @property
    def context_length(self) -> int:
        """Most tokens of prompt and response."""

    @property
    def dtype(self) -> str:
        """Form of the numbers, as in the settings."""

    @property
    def scratch(self) -> Path | None:
        """A folder for weights that are to be taken, which is removed with the back end; None where there is none."""

    def take_weights(self, folder: Path, timeout_s: float) -> None:
        """Goes on with the weights of an ordinary checkpoint, and forgets what was computed before."""


class VllmEngine:
    """A vLLM engine plays, in this process or behind a server of its own.

    It is started with the weights that training begins with, and gets those of each update. They go through files, as
    the engine's workers are processes of their own: set TMPDIR to a file system in memory if the disk is slow. Every
    time, and once at the start, the engine's log-probabilities of a few tokens are compared with the trainer's own.
    Tried with vLLM's build for CPUs; how a GPU's workers take weights is said in ``agents/backends/vllm_weights.py``.
    Trainer and engine share a GPU, so leave room with ``agent.backend.engine.gpu_memory_utilization``; a server gets
    another with ``agent.backend.environment.CUDA_VISIBLE_DEVICES``.

    Args:
        trained: The policy.
        settings: How it plays.

    Raises:
        HolderGymError: If the engine does not start, or computes another model than the trainer does.
    """

    in_each_process = False

    def __init__(self, trained: Trained, settings: VllmSettings | VllmServerSettings) -> None:
        self._trained = trained
        self._settings = settings
        self._scorer = Scorer(trained.model)
        self.backend: TakesWeights = _open_vllm(trained, settings)
        self._probe = Probe(len(trained.tokenizer), self.backend.context_length, _PROBE_SECONDS)
        try:
            self.check()
        except BaseException:  # also Ctrl-C
            self.close()
            raise

    def update(self) -> None:
        """Gives the engine the policy's weights, and checks that it computes with them."""
        try:
            with tempfile.TemporaryDirectory(prefix="holdergym-weights-", dir=self.backend.scratch) as folder:
                self._trained.save(Path(folder))
                self.backend.take_weights(Path(folder), self._settings.start_s)
        except (BackendError, ModelError) as error:
            raise ServingError(str(error)) from None
        except (OSError, SafetensorError) as error:
            raise ServingError(
                f"cannot write the weights for vLLM: {' '.join(str(error).split())[:200]}; set TMPDIR to a folder with "
                "room for a checkpoint"
            ) from None
        self.check()

    def check(self) -> Difference:
        """Compares the engine's log-probabilities with the trainer's.

        Returns:
            How far they are apart.

        Raises:
            ServingError: If they are further apart than rounding explains, or the engine does not answer.
        """
        try:
            found = self._probe.compare(self.backend, self._scorer)
        except (BackendError, ModelError) as error:
            raise ServingError(f"vLLM does not answer a probe: {error}") from None
        exact = self.backend.dtype == "float32" and str(self._trained.model.dtype) == "torch.float32"
        off, bound = (found.largest, FLOAT32_LARGEST) if exact else (found.mean, SIXTEEN_BITS_MEAN)
        if not off <= bound:
            raise ServingError(
                f"vLLM does not play with the weights that are trained: log-probabilities of a probe are off by "
                f"{off:.2g}, more than {bound:g}; set agent.backend.name=transformers, or try "
                "agent.backend.dtype=float32, agent.backend.engine.enforce_eager=true or another version of vLLM"
            )
        return found

    def close(self) -> None:
        """Ends the engine."""
        self.backend.close()


def require_serving(settings: BackendSettings, processes: Processes = ALONE) -> TrainingSettings:
    """Refuses a back end that cannot be given weights, or cannot be started.

    Args:
        settings: ``agent.backend``.
        processes: Who shares the work. The one that leads starts the server, so it alone needs vLLM.

    Raises:
        ConfigError: If it is a server that was started elsewhere, or there is no vLLM to start one.
    """
    if isinstance(settings, OpenAISettings):
        raise ConfigError(
            "a server that was started elsewhere cannot be given the weights that are trained: set agent.backend.name "
            "to transformers, vllm, or vllm_server, which starts one"
        )
    if isinstance(settings, VllmServerSettings) and processes.leads:
        from ..agents.backends.vllm_server import require_vllm

        require_vllm(settings)
    return settings


def open_serving(trained: Trained, settings: TrainingSettings, in_flight: int, processes: Processes = ALONE) -> Serving:
    """Opens what computes the rollouts of a policy.

    Args:
        trained: The policy.
        settings: ``agent.backend``.
        in_flight: Most episodes at once.
        processes: Who shares the work. A server is started by the one that leads, which plays for all.

    Raises:
        HolderGymError: If it cannot be opened, or computes another model than the trainer does.
    """
    if isinstance(settings, TransformersSettings):
        return SharedModel(trained, settings, in_flight)
    if not processes.leads:
        return PlayedElsewhere()
    return VllmEngine(trained, settings)


def _open_vllm(trained: Trained, settings: VllmSettings | VllmServerSettings) -> TakesWeights:
    folder, tokenizer = trained.checkpoint.folder, trained.tokenizer
    if isinstance(settings, VllmSettings):
        return open_vllm(folder, settings, tokenizer, takes_weights=True)
    from ..agents.backends.vllm_server import open_vllm_server

    return open_vllm_server(folder, settings, tokenizer)
