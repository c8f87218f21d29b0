"""What a training run will do and need, before it is begun."""

from typing import NamedTuple

from ..agents.language_model_settings import MAX_TOKENS
from ..envs.settings import as_toml
from .composition import notes_of
from .config import CIRCUMSTANCES, TrainConfig
from .playground import most_turns
from .schedules import Schedule
from .sources import OnPolicy
from .variants.s2l import ExplorerMix, Mix
from .variants.stored_sampling import check_stored_episodes


class _Play(NamedTuple):
    """Episodes of a task in each round: those of the explorer, and those of the policy."""

    mixes: list[Mix]

    @property
    def most(self) -> int:
        """Episodes of a task in the round with the most."""
        return max(sum(mix) for mix in self.mixes)

    @property
    def total(self) -> int:
        """Episodes of a task in all rounds."""
        return sum(sum(mix) for mix in self.mixes)


def plan_as_text(config: TrainConfig) -> str:
    """The resolved settings, and the episodes and tokens of the run.

    Args:
        config: The settings.

    Raises:
        ConfigError: If stored episodes were not sampled as the explorer would play.
    """
    play = _play(config)
    turns = most_turns(config)
    tokens = config.agent.max_tokens or MAX_TOKENS["alfworld" if config.env == "alfworld" else "math"]
    episodes = config.groups * play.most
    most = "" if play.total == play.most * config.rounds else "at most "
    lines = [
        as_toml(config, leave_out=CIRCUMSTANCES).rstrip(),
        "",
        f"A round: {_count(config.groups, 'task')} x {most}{_count(play.most, 'episode')} = "
        f"{_count(episodes, 'episode')} of at most {_count(turns, 'turn')} of at most {_count(tokens, 'token')}: "
        f"at most {_count(episodes * turns * tokens, 'sampled token')}; "
        f"{_count(config.steps_a_round, 'optimiser step')}.",
        f"The run: {_count(config.rounds, 'round')}, {_count(config.groups * play.total, 'episode')}, "
        f"{_count(config.rounds * config.steps_a_round, 'optimiser step')}.",
    ]
    if config.steps_a_round == 1:
        lines.append(
            "With one optimiser step a round every importance ratio is 1, so neither the clip nor p can matter: set "
            "updates or epochs to 2 or more to train with them."
        )
    if config.method.batches > 1:
        lines.append(
            f"A round plays further {config.groups} tasks until {config.groups} groups have successes and failures, at "
            f"most {config.method.batches} times as much as is said above."
        )
    exponent = config.method.aggregation.exponent
    if isinstance(exponent, Schedule) and exponent.rounds != config.rounds:
        lines.append(
            f"The schedule of p has {_count(exponent.rounds, 'round')} and the run {config.rounds}: p ends at "
            f"{exponent.at(config.rounds):.2f}. method.aggregation.exponent.rounds={config.rounds} spans the run."
        )
    if config.explorer is not None:
        lines.append(_explored(config.explorer.model, play))
        lines += [f"{line}." for line in check_stored_episodes(config)]
    if config.partner is not None:
        lines.append(f"{config.partner.model} learns from the same episodes, with an optimiser of its own.")
    return "\n".join([*lines, *notes_of(config.method)])


def _play(config: TrainConfig) -> _Play:
    source, size = config.method.source, config.group_size
    if isinstance(source, ExplorerMix):
        return _Play([source.mix(number, config.rounds, size) for number in range(1, config.rounds + 1)])
    oversample = source.oversample if isinstance(source, OnPolicy) else 1
    return _Play([Mix(0, size * oversample)] * config.rounds)


def _explored(model: str, play: _Play) -> str:
    """What the explorer plays."""
    explored, last = sum(mix.explorer for mix in play.mixes), sum(mix.explorer > 0 for mix in play.mixes)
    if not explored:
        return f"{model} plays no episode: its share is 0 in all rounds of the run."
    when = "in round 1" if last == 1 else f"in rounds 1 to {last}"
    return f"{model} plays {explored / play.total:.1%} of the episodes, all of them {when}."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
