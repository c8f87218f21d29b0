"""The policy that is trained: its weights, its reference, and the agent that plays with it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ..agents.checkpoints import Checkpoint, find_checkpoint
from ..agents.language_model import LanguageModelAgent
from ..agents.loading import load_model, load_tokenizer, quiet_transformers
from ..agents.making import make_language_model
from ..agents.rollout import EpisodeJob
from ..envs.errors import ConfigError
from .config import LoraSettings, TrainConfig
from .processes import ALONE, Layers, Processes
from .scoring import Scorer, require_plain_head
from .serving import Trained, open_serving, require_serving

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class Policy:
    """A model in training.

    The model stays in evaluation mode: dropout would make the policy that is trained another one than that which
    played.

    Args:
        config: The settings.
        processes: Who shares the work.

    Attributes:
        model: The model, with its adapters if there are any.
        tokenizer: Its tokenizer.
        checkpoint: What it was loaded from.
        scorer: Scores tokens at the sampling temperature.
        updates: Optimiser steps that the weights have behind them.
        layers: Where the weights are.

    Raises:
        HolderGymError: If it cannot be loaded.
    """

    def __init__(self, config: TrainConfig, processes: Processes = ALONE) -> None:
        settings = config.agent
        backend = require_serving(settings.backend, processes)
        self.checkpoint: Checkpoint = find_checkpoint(settings.model, settings.revision)
        self.tokenizer: PreTrainedTokenizerBase = load_tokenizer(self.checkpoint)
        device = backend.device if backend.name == "transformers" else "auto"
        # Weights in 16 bits lose updates of the size of a usual learning rate.
        model = load_model(self.checkpoint, "float32" if config.lora is None else backend.dtype, device)
        self.model: PreTrainedModel = model if config.lora is None else _with_adapters(model, config.lora)
        self.has_adapters = config.lora is not None
        if config.lora is None:
            self.model.requires_grad_(True)
        self._checkpointing = config.gradient_checkpointing
        if self._checkpointing:
            _without_dropout(self.model)
            self.model.enable_input_require_grads()
            self.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        self.temperature = settings.temperature or 1.0
        # The model inside: adapters are put into its layers, so it is the policy with or without them.
        self._inner: PreTrainedModel = self.model.base_model.model if self.has_adapters else self.model
        self.scorer = Scorer(self._inner, self.temperature)
        require_plain_head(self._inner)
        self._reference: PreTrainedModel | None = None
        if config.method.needs_reference and not self.has_adapters:
            self._reference = deepcopy(self.model).requires_grad_(False)
        self.updates = 0
        self.layers = Layers()
        trained = Trained(self._inner, self.tokenizer, self.checkpoint, self.save)
        self._serving = open_serving(trained, backend, config.in_flight, processes)
        self._processes = processes
        self._config = config
        self._agents: dict[tuple[str, bool], LanguageModelAgent] = {}

    @property
    def trained(self) -> list[torch.nn.Parameter]:
        """The parameters that are trained."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def share(self, jobs: Sequence[EpisodeJob]) -> list[EpisodeJob]:
        """The episodes that this process plays: its share, or all or none where one process plays for all."""
        if self._serving.in_each_process:
            return self._processes.share(jobs)
        return list(jobs) if self._processes.leads else []

    def agent(self, kind: str, *, greedy: bool = False) -> LanguageModelAgent:
        """The agent that plays with the present weights, in a process that has episodes to play.

        Args:
            kind: ``alfworld`` or ``math``.
            greedy: Whether it takes the most likely tokens.
        """
        if (kind, greedy) not in self._agents:
            settings = replace(self._config.agent, temperature=0.0 if greedy else self.temperature)
            # The files that the model was loaded from: a name of the hub may mean others by now.
            settings = replace(settings, model=str(self.checkpoint.folder), revision=None)
            self._agents[kind, greedy] = make_language_model(settings, kind, backend=self._serving.backend)
        return self._agents[kind, greedy]

    def shard(self, processes: Processes) -> None:
        """Spreads the layers over processes; they stay so until ``layers.gather``."""
        self.layers = processes.shard(self.model)

    @contextmanager
    def updating(self) -> Iterator[None]:
        """While the model is trained: transformers drops and recomputes activations in training mode only."""
        self.layers.spread()
        if self._checkpointing:
            self.model.train()
        try:
            yield
        finally:
            self.model.eval()
        self.layers.gather()  # not after a failure: the others may not come

    def weights_changed(self, updates: int) -> None:
        """Lets the agents play with the present weights.

        Args:
            updates: Optimiser steps that they have behind them.

        Raises:
            HolderGymError: If a response is on its way, or what would play is not what is trained.
        """
        self._serving.update()
        self.updates = updates

    @contextmanager
    def reference(self) -> Iterator[Scorer]:
        """Scores tokens by the model that training began with."""
        if self.has_adapters:
            with self.model.disable_adapter():
                yield self.scorer
            return
        assert self._reference is not None
        yield Scorer(self._reference, self.temperature)

    def save(self, folder: Path) -> None:
        """Writes an ordinary checkpoint, with the adapters merged in, which the evaluator loads."""
        model = self.model
        if self.has_adapters:
            model = deepcopy(model).merge_and_unload()
        with quiet_transformers():
            model.save_pretrained(folder, state_dict=self.layers.weights(self.model))
            self.tokenizer.save_pretrained(folder)

    def close(self) -> None:
        """Ends the back end."""
        self._serving.close()


def _without_dropout(model: torch.nn.Module) -> None:
    """Refuses a model whose training mode is another function than its evaluation mode."""
    for name, module in model.named_modules():
        probability = getattr(module, "p", 0.0) if isinstance(module, torch.nn.Dropout) else 0.0
        probability = max(probability, float(getattr(module, "attention_dropout", 0.0) or 0.0))
        if probability:
            raise ConfigError(
                f"gradient_checkpointing needs the model in training mode, and its layer {name!r} has a dropout of "
                f"{probability:g} there: set the dropouts in config.json to 0, or leave gradient_checkpointing out"
            )


def _with_adapters(model: "PreTrainedModel", settings: LoraSettings) -> "PreTrainedModel":
    from peft import LoraConfig, get_peft_model

    targets = "all-linear" if settings.targets == "all" else ["q_proj", "k_proj", "v_proj", "o_proj"]
    config = LoraConfig(
        r=settings.rank, lora_alpha=settings.alpha, target_modules=targets, lora_dropout=0.0, task_type="CAUSAL_LM"
    )
    adapted: PreTrainedModel = get_peft_model(model, config)
    return adapted.eval()
