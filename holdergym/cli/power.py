"""``holdergym power``: how many tasks a comparison needs."""

import math

import click

from ..envs.errors import ConfigError
from ..eval.power import (
    ALPHA,
    POWER,
    discordant_share,
    paired_power,
    paired_size,
    unpaired_power,
    unpaired_size,
    visible_effect,
)
from .terminal import echo

# Below it rates can no longer be told from each other in the numbers of a computer.
_SMALLEST = 1e-6
_INSIDE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.option("--baseline", type=_INSIDE, required=True, help="Success rate of the first agent.")
@click.option(
    "--effect",
    type=click.FloatRange(-1, 1, min_open=True, max_open=True),
    help="Difference to see: the second agent's rate minus the first's.",
)
@click.option("--tasks", type=click.IntRange(1, 1_000_000), help="Tasks that there are.")
@click.option("--power", type=_INSIDE, default=POWER, show_default=True, help="Chance of seeing the difference.")
@click.option("--alpha", type=_INSIDE, default=ALPHA, show_default=True, help="Level of the two-sided test.")
@click.option(
    "--correlation",
    type=click.FloatRange(-1, 1),
    default=0.0,
    show_default=True,
    help="Correlation of the two agents' outcomes over tasks; 0 is the cautious choice.",
)
def command(
    baseline: float, effect: float | None, tasks: int | None, power: float, alpha: float, correlation: float
) -> None:
    """Say how many tasks a comparison needs, or what it can see with the tasks that there are.

    Paired means that both agents play the same tasks, once each (exact McNemar test); unpaired that each plays tasks of
    its own. The more alike the outcomes are over tasks, the fewer paired tasks are needed: agents tend to find the
    same tasks hard, so give --correlation if you know it from earlier runs.

    \b
    Example:
      holdergym power --baseline 0.908 --effect 0.03
      holdergym power --baseline 0.908 --effect 0.03 --tasks 134
      holdergym power --baseline 0.908 --tasks 134
    """
    if effect is None and tasks is None:
        raise ConfigError("give --effect to learn how many tasks it takes, or --tasks to learn what they can show")
    if effect is not None:
        if 0.0 < abs(effect) < _SMALLEST:
            raise ConfigError(f"an effect of {effect:g} is too small to plan for: give at least {_SMALLEST:f}")
        if effect == 0.0 or not 0.0 < baseline + effect < 1.0:
            raise ConfigError(
                f"a baseline of {baseline:g} and an effect of {effect:g} give a second rate of {baseline + effect:g}: "
                "it must be another one and inside (0, 1)"
            )
        discordant = _discordant(baseline, baseline + effect, correlation)
        echo(f"{_percent(baseline)} against {_percent(baseline + effect)}, two-sided test at {_percent(alpha)}")
        if tasks is None:
            _print_sizes(baseline, effect, discordant, power, alpha)
        else:
            _print_powers(baseline, effect, discordant, tasks, alpha)
    if tasks is not None:
        _print_visible(baseline, tasks, correlation, power, alpha)


def _discordant(first: float, second: float, correlation: float) -> float:
    try:
        return discordant_share(first, second, correlation)
    except ValueError as error:
        raise ConfigError(f"{error}: give another --correlation") from None


def _print_sizes(baseline: float, effect: float, discordant: float, power: float, alpha: float) -> None:
    paired = paired_size(effect, discordant, power=power, alpha=alpha)
    unpaired = unpaired_size(baseline, baseline + effect, power=power, alpha=alpha)
    echo(f"for {_percent(power)} power:")
    echo(f"  paired    {paired:>9,} tasks, played once by both ({_percent(discordant)} of them discordant)")
    echo(f"  unpaired  {unpaired:>9,} tasks for each agent")


def _print_powers(baseline: float, effect: float, discordant: float, tasks: int, alpha: float) -> None:
    paired = paired_power(effect, discordant, tasks, alpha=alpha)
    unpaired = unpaired_power(baseline, baseline + effect, tasks, alpha=alpha)
    echo(f"with {tasks:,} tasks:")
    echo(f"  paired    {_percent(paired):>9} power ({_percent(discordant)} of the tasks discordant)")
    echo(f"  unpaired  {_percent(unpaired):>9} power, {tasks:,} tasks for each agent")


def _print_visible(baseline: float, tasks: int, correlation: float, power: float, alpha: float) -> None:
    echo(
        f"smallest gain over {_percent(baseline)} that {tasks:,} tasks show with {_percent(power)} power "
        f"(two-sided test at {_percent(alpha)}):"
    )
    for name, assumed in (("paired", correlation), ("unpaired", None)):
        gain = visible_effect(baseline, tasks, correlation=assumed, power=power, alpha=alpha)
        shown = "none" if math.isnan(gain) else f"{100 * gain:.1f} points"
        echo(f"  {name:8}  {shown}")


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"
