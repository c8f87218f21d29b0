"""AdamW, its rate over the steps, and the norm of the gradient."""

import math
from collections.abc import Mapping, Sequence

import torch

from .config import OptimiserSettings
from .processes import Layers


class Optimiser:
    """Moves parameters by their gradients.

    Args:
        parameters: What is trained.
        settings: How.
        steps: Optimiser steps of the whole run, for the decay.
        layers: Where the parameters are.

    Attributes:
        rate: The learning rate of the last step.
    """

    def __init__(
        self,
        parameters: Sequence[torch.nn.Parameter],
        settings: OptimiserSettings,
        steps: int,
        layers: Layers | None = None,
    ) -> None:
        self._layers = layers or Layers()
        self._parameters = list(parameters)
        self._settings = settings
        self._steps = steps
        self.rate = 0.0
        # Norms and biases have few numbers, and pulling them to 0 only makes them relearn their values.
        wide = [one for one in self._parameters if one.ndim > 1]
        narrow = [one for one in self._parameters if one.ndim <= 1]
        self._adam = torch.optim.AdamW(
            [{"params": wide, "weight_decay": settings.weight_decay}, {"params": narrow, "weight_decay": 0.0}],
            lr=settings.learning_rate,
            betas=(settings.beta1, settings.beta2),
            eps=settings.epsilon,
            foreach=self._layers.foreach,
        )

    def gradient_norm(self) -> float:
        """The norm of the gradient, which is then scaled down to the largest one allowed."""
        return self._layers.clip_gradient(self._parameters, self._settings.max_norm)

    def step(self, number: int) -> None:
        """Takes a step and forgets the gradient.

        Args:
            number: Number of the step in the whole run, from 1.
        """
        self.rate = rate_at(number, self._settings, self._steps)
        for group in self._adam.param_groups:
            group["lr"] = self.rate
        self._adam.step()
        self.forget_gradient()

    def forget_gradient(self) -> None:
        """Drops the gradient."""
        self._adam.zero_grad(set_to_none=True)

    def state(self) -> Mapping[str, object]:
        """What a resumed run needs, whole. Processes that share the parameters call it together."""
        found = self._adam.state_dict()
        found["state"] = {
            number: {name: self._layers.whole(one) for name, one in own.items()}
            for number, own in found["state"].items()
        }
        return found

    def restore(self, state: Mapping[str, object]) -> None:
        """Takes up the state of an earlier process."""
        whole = dict(state)
        ordered = [one for group in self._adam.param_groups for one in group["params"]]
        states = whole["state"]
        assert isinstance(states, Mapping)
        whole["state"] = {
            number: {
                name: self._layers.part(one, ordered[number]) if one.shape == ordered[number].shape else one
                for name, one in own.items()
            }
            for number, own in states.items()
        }
        whole["param_groups"] = [
            {**group, "foreach": self._layers.foreach}
            for group in whole["param_groups"]  # type: ignore[attr-defined]
        ]
        self._adam.load_state_dict(whole)


def rate_at(number: int, settings: OptimiserSettings, steps: int) -> float:
    """The learning rate of an optimiser step.

    Args:
        number: Number of the step, from 1.
        settings: Rate, warm-up and decay.
        steps: Steps of the whole run.
    """
    if number <= settings.warmup:
        return settings.learning_rate * number / settings.warmup
    share = min(1.0, (number - settings.warmup - 1) / max(1, steps - settings.warmup))
    match settings.decay:
        case "constant":
            return settings.learning_rate
        case "linear":
            return settings.learning_rate * (1 - share)
        case "cosine":
            return settings.learning_rate * (1 + math.cos(math.pi * share)) / 2
