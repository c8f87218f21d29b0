"""``holdergym methods``: training methods and what they are made of."""

import tomllib

import click
from tabulate import tabulate

from .terminal import echo


@click.group()
def command() -> None:
    """List training methods, show their settings, and check which go together.

    Names joined by + are one method: any method with any variants.

    \b
    Examples:
      holdergym methods show holderpo
      holdergym methods check holderpo+cov_gaussian+expo
    """


@command.command("list")
def list_methods() -> None:
    """List the methods.

    \b
    Example:
      holdergym methods list
    """
    from ..training.composition import VARIANTS
    from ..training.presets import preset_names, preset_title

    for title, variants in (("Methods", False), ("Variants, to be added to a method with +", True)):
        names = [name for name in preset_names() if (name in VARIANTS) == variants]
        echo(f"{title}:\n{tabulate([(name, preset_title(name)) for name in names], tablefmt='plain')}")


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


@command.command("check")
@click.argument("name")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change a setting before checking.")
def check(name: str, assignments: tuple[str, ...]) -> None:
    """Check whether methods go together, and show what each stage reads.

    Those that do not are refused with the reason, and exit code 2.

    \b
    Example:
      holdergym methods check dapo+s2l-po+expo
    """
    from ..envs.settings import Layer, as_toml, assignment_layer, resolve
    from ..training.composition import identities_of, notes_of, stages_of
    from ..training.method import Method
    from ..training.presets import preset, preset_title

    settings = Layer(f"the preset {name}", tomllib.loads(as_toml(preset(name))))
    method = resolve(Method, [settings, assignment_layer(assignments)])
    echo(preset_title(name))
    echo(tabulate(stages_of(method), headers=("stage", "filled by", "reads"), tablefmt="plain"))
    for title, lines in (("To be known", notes_of(method)), ("Turned off by", identities_of(method))):
        if lines:
            echo(f"\n{title}:\n" + "\n".join(f"- {line}" for line in lines))
