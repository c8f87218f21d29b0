"""EXPO / FG-ExPO: a KL coefficient that follows the accuracy, and tasks drawn by how well they are known
(arXiv 2605.09923 and 2605.11403).
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...envs.errors import ConfigError
from ...envs.panel import Panel
from ...envs.task import Task
from ..advantages import State
from ..batch import Context
from ..sampling import DrawInputs, GroupResult, Remembered, UniformSampler

# A narrow kernel is 0 far out, and a task of weight 0 could not be drawn even where all others are.
_LEAST = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyScale:
    """AKL: the KL coefficient is multiplied by rho(acc) = (tanh(acc) + 1) / 2, between 0.5 and 0.881.

    acc is the mean verifier reward of the round, correctness alone [X]. So the coefficient is always below its nominal
    value; an ablation needs a constant coefficient of about 0.73 of it beside the nominal one.

    Attributes:
        rho: ``tanh``, or ``one`` for a factor of 1, which turns the method off.
    """

    name: Literal["accuracy"] = "accuracy"
    rho: Literal["tanh", "one"] = "tanh"

    def __call__(self, context: Context) -> float:
        """The factor of a round."""
        return (math.tanh(context.accuracy) + 1) / 2 if self.rho == "tanh" else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianCurriculum:
    """GCS: tasks are drawn by w_q = exp(-(p_q - 0.5)^2 / (2 sigma^2)), p_q a running accuracy of the task.

    p_q <- (1 - rate) p_q + rate (mean verifier reward of the group), for tasks that the policy itself has played, from
    ``start`` on. A round draws without replacement [X]; where it has more tasks than the panel, every task comes as
    often as the panel fits and the rest are drawn [X].

    The log also shows the collapse rate that uniform drawing would have had, from the same groups weighed by 1 / w_q
    [X].

    Attributes:
        sigma: Width of the curriculum; infinity draws as ``uniform`` does.
        rate: Weight of the newest group.
        start: p of a task that was never played.

    Raises:
        ConfigError: If a setting is out of range.
    """

    name: Literal["gaussian_curriculum"] = "gaussian_curriculum"
    sigma: float = 0.35
    rate: float = 0.1
    start: float = 0.5

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise ConfigError(f"a curriculum of width {self.sigma}: it must be above 0")
        if not (0 < self.rate <= 1 and 0 <= self.start <= 1):
            raise ConfigError(
                f"a rate of {self.rate} from {self.start} on: give a rate up to 1 and a start within 0 and 1"
            )

    def weight(self, accuracy: float) -> float:
        """W of a task with this running accuracy."""
        if math.isinf(self.sigma):
            return 1.0
        return max(_LEAST, math.exp(-((accuracy - 0.5) ** 2) / (2 * self.sigma**2)))

    def __call__(self, inputs: DrawInputs, state: State) -> list[Task]:
        """The tasks of a round: a function of the round and of what is remembered."""
        if math.isinf(self.sigma):
            return UniformSampler()(inputs, state)
        weights = self._weights(inputs.panel, state)
        rng = random.Random(f"curriculum, seed {inputs.seed}, round {inputs.round}")
        drawn: list[Task] = []
        while len(drawn) < inputs.size + inputs.further:
            # The largest keys log(u) / w are a draw without replacement, each time with chances in proportion to w
            # (Efraimidis and Spirakis 2006).
            keys = {task.id: math.log(1 - rng.random()) / weights[task.id] for task in inputs.panel.tasks}
            order = sorted(inputs.panel.tasks, key=lambda task: keys[task.id], reverse=True)
            drawn += order[: inputs.size + inputs.further - len(drawn)]
        return drawn

    def remember(self, results: Sequence[GroupResult], state: State) -> Remembered:
        """Moves the running accuracies of the tasks of a round, in order."""
        if math.isinf(self.sigma):
            return Remembered(state)
        table = dict(state)
        weight = {one.task_id: self.weight(table.get(one.task_id, self.start)) for one in results}
        for one in results:
            before = table.get(one.task_id, self.start)
            table[one.task_id] = (1 - self.rate) * before + self.rate * one.accuracy
        shares = [1 / weight[one.task_id] for one in results]
        collapsed = [share for share, one in zip(shares, results, strict=True) if one.collapsed]
        metrics: dict[str, float] = {"curriculum/tasks": float(len(table))}
        if table:
            metrics["curriculum/accuracy"] = sum(table.values()) / len(table)
            metrics["curriculum/frontier"] = sum(0.25 <= value <= 0.75 for value in table.values()) / len(table)
        if shares:
            metrics["collapsed_groups_uniform"] = sum(collapsed) / sum(shares)
        return Remembered(table, metrics)

    def _weights(self, panel: Panel, state: State) -> Mapping[str, float]:
        return {task.id: self.weight(state.get(task.id, self.start)) for task in panel.tasks}
