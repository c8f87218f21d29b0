"""What a training run will do and need, before it is begun."""

from ..envs.settings import as_toml
from .config import CIRCUMSTANCES, TrainConfig
from .schedules import Schedule


def plan_as_text(config: TrainConfig) -> str:
    """The resolved settings, and the episodes and tokens of the run.

    Args:
        config: The settings.
    """
    episodes = config.groups * config.group_size
    steps = config.max_steps or {"alfworld": 50, "math_retry": 3}.get(config.env, 1)
    tokens = config.agent.max_tokens or (512 if config.env == "alfworld" else 1024)
    lines = [
        as_toml(config, leave_out=CIRCUMSTANCES).rstrip(),
        "",
        f"A round: {config.groups} tasks x {config.group_size} episodes = {episodes} episodes of at most {steps} turns "
        f"of at most {tokens:,} tokens: at most {episodes * steps * tokens:,} sampled tokens; {config.updates} "
        f"optimiser step{'s' if config.updates > 1 else ''}.",
        f"The run: {config.rounds:,} rounds, {config.rounds * episodes:,} episodes, {config.rounds * config.updates:,} "
        "optimiser steps.",
    ]
    if config.updates == 1:
        lines.append(
            "With one optimiser step a round every importance ratio is 1, so neither the clip nor p can matter: set "
            "updates to 2 or more to train with them."
        )
    exponent = config.method.aggregation.exponent
    if isinstance(exponent, Schedule) and exponent.rounds != config.rounds:
        lines.append(
            f"The schedule of p has {exponent.rounds} rounds and the run {config.rounds}: p ends at "
            f"{exponent.at(config.rounds):.2f}. method.aggregation.exponent.rounds={config.rounds} spans the run."
        )
    return "\n".join(lines)
