"""What a training run will do and need, before it is begun."""

from ..envs.settings import as_toml
from .composition import notes_of
from .config import CIRCUMSTANCES, TrainConfig
from .schedules import Schedule
from .sources import OnPolicy
from .variants.s2l import ExplorerMix


def plan_as_text(config: TrainConfig) -> str:
    """The resolved settings, and the episodes and tokens of the run.

    Args:
        config: The settings.
    """
    source = config.method.source
    oversample = source.oversample if isinstance(source, OnPolicy) else 1
    episodes = config.groups * config.group_size * oversample
    steps = config.max_steps or {"alfworld": 50, "math_retry": 3}.get(config.env, 1)
    tokens = config.agent.max_tokens or (512 if config.env == "alfworld" else 1024)
    lines = [
        as_toml(config, leave_out=CIRCUMSTANCES).rstrip(),
        "",
        f"A round: {config.groups} tasks x {config.group_size * oversample} episodes = {episodes} episodes of at most "
        f"{steps} turns of at most {tokens:,} tokens: at most {episodes * steps * tokens:,} sampled tokens; "
        f"{config.steps_a_round} optimiser step{'s' if config.steps_a_round > 1 else ''}.",
        f"The run: {config.rounds:,} rounds, {config.rounds * episodes:,} episodes, "
        f"{config.rounds * config.steps_a_round:,} "
        "optimiser steps.",
    ]
    if config.steps_a_round == 1:
        lines.append(
            "With one optimiser step a round every importance ratio is 1, so neither the clip nor p can matter: set "
            "updates or epochs to 2 or more to train with them."
        )
    exponent = config.method.aggregation.exponent
    if isinstance(exponent, Schedule) and exponent.rounds != config.rounds:
        lines.append(
            f"The schedule of p has {exponent.rounds} rounds and the run {config.rounds}: p ends at "
            f"{exponent.at(config.rounds):.2f}. method.aggregation.exponent.rounds={config.rounds} spans the run."
        )
    if config.explorer is not None and isinstance(source, ExplorerMix):
        mixes = [source.mix(number, config.rounds, config.group_size) for number in range(1, config.rounds + 1)]
        explored = sum(mix.explorer for mix in mixes) / sum(sum(mix) for mix in mixes)
        until = sum(mix.explorer > 0 for mix in mixes)
        lines.append(
            f"{config.explorer.model} plays {explored:.1%} of the episodes, all of them in rounds 1 to {until}."
        )
    if config.partner is not None:
        lines.append(f"{config.partner.model} learns from the same episodes, with an optimiser of its own.")
    return "\n".join([*lines, *notes_of(config.method)])
