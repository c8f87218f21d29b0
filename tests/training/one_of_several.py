"""What the processes of a test compute: gradients and rounds, by one process or by several."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from holdergym.training.config import LoraSettings
from holdergym.training.experience import Experience
from holdergym.training.kl import EntropyBonus, KLPenalty
from holdergym.training.method import Method
from holdergym.training.models import open_models
from holdergym.training.presets import preset, preset_names
from holdergym.training.processes import Processes, open_processes
from holdergym.training.trainer import Progress, Trainer
from transformers import AutoModelForCausalLM

from .test_updating import VARIANTS, conversation, gradients, groups, windows
from .word_game import LETTERS, play, settings


class Found(NamedTuple):
    """A loss, its gradient, and what the log says."""

    loss: float
    gradient: torch.Tensor
    metrics: dict[str, float]


def every_gradient(checkpoint: Path, processes: Processes, *, shard: bool = False) -> dict[str, Found]:
    """The gradient of every preset, and of every unit of aggregation, with parts that fit and parts that do not."""
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    if shard:
        processes.shard(model)
    # Layers that are spread do not know of methods, and each pass puts all of them together.
    methods = {name: (preset(name), windows) for name in (["holderpo"] if shard else preset_names())}
    terms = {"kl": KLPenalty(coefficient=0.05), "entropy": EntropyBonus(coefficient=0.02)}
    for name, aggregation in VARIANTS.items():
        methods[name] = (Method(name="m", aggregation=aggregation, **terms), conversation)
    made = {}
    for name, (method, kind) in methods.items():
        experience = Experience.of(groups(kind))
        # The last mini-batch is one episode: all but one process have nothing to do.
        for case, budget, episodes in (("fits", 100_000, None), ("cut", 40, None), ("one", 100_000, [4])):
            found, gradient = gradients(model, method, experience, budget, episodes, processes)
            values = {metric: average.value for metric, average in found.metrics.items()}
            made[f"{name}/{case}"] = Found(found.loss, gradient, values)
    return made


class Played(NamedTuple):
    """What the log says of a round, and how often a layer was computed for a gradient in this process."""

    metrics: dict[str, float]
    passes: int


def one_round(checkpoint: Path, processes: Processes, **changes: object) -> Played:
    """A round of a game, everything included; a step follows, so the second step's ratios are not 1."""
    config = settings(checkpoint, preset("holderpo"), rounds=1, **changes)
    for_gradients: list[bool] = []
    with open_models(config, processes) as models:
        layer = models.policy.model.model.layers[0].mlp
        layer.register_forward_pre_hook(lambda *_: for_gradients.append(torch.is_grad_enabled()))
        report = Trainer(config, models, LETTERS, processes).round(Progress())
    return Played(report.metrics, sum(for_gradients))


def main(checkpoint: Path, out: Path, *, shard: bool) -> None:
    """What each process does; the first writes what came of it."""
    with open_processes(timeout_s=60) as processes:
        gradients_found = every_gradient(checkpoint, processes, shard=shard)
        plain = one_round(checkpoint, processes, shard=shard)
        recomputed = one_round(checkpoint, processes, shard=shard, gradient_checkpointing=True)
        passes = processes.gather((plain.passes, recomputed.passes))
        # Adapters begin at random: that they stay alike in all processes is checked after each round.
        adapted = settings(checkpoint, preset("grpo"), rounds=2, lora=LoraSettings(rank=2))
        reports, weights = play(replace(adapted, updates=1), processes=processes)
        sums = processes.gather({name: float(one.double().sum()) for name, one in weights.items()})
        if processes.leads:
            same = all(other == sums[0] for other in sums)
            record = {
                "count": processes.count,
                "gradients": {name: tuple(found) for name, found in gradients_found.items()},
                "round": plain.metrics,
                "recomputed": recomputed.metrics,
                "passes": passes,
                "adapters": {"alike": same, "gradient_norm": reports[-1].metrics["gradient_norm"]},
            }
            torch.save(record, out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), shard="shard" in sys.argv[3:])
