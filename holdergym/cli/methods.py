"""``holdergym methods``: training methods and what they are made of."""

import tomllib

import click
from tabulate import tabulate

from .terminal import echo


@click.group()
def command() -> None:
    """List training methods and show their settings.

    \b
    Example:
      holdergym methods show holderpo
    """


@command.command("list")
def list_methods() -> None:
    """List the methods.

    \b
    Example:
      holdergym methods list
    """
    from ..training.presets import preset_names, preset_title

    echo(tabulate([(name, preset_title(name)) for name in preset_names()], tablefmt="plain"))


@command.command("show")
@click.argument("name")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change a setting before showing.")
def show(name: str, assignments: tuple[str, ...]) -> None:
    """Show a method's settings, and p over the rounds where it has a schedule.

    \b
    Example:
      holdergym methods show holderpo --set aggregation.exponent.rounds=150
    """
    from ..envs.settings import Layer, as_toml, assignment_layer, resolve
    from ..training.describe import describe
    from ..training.method import Method
    from ..training.presets import preset, preset_title

    settings = Layer(f"the preset {name}", tomllib.loads(as_toml(preset(name))))
    method = resolve(Method, [settings, assignment_layer(assignments)])
    echo(f"# {preset_title(name)}\n\n{describe(method)}")
