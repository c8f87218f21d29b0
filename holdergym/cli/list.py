"""``holdergym list``: what there is to evaluate."""

import os
import textwrap
from collections.abc import Callable

import click
from tabulate import tabulate

from ..agents.registry import agent_entries
from ..envs.alfworld.games import BUILTIN_PANELS, find_data, panel_names
from ..envs.errors import UnknownNameError
from .terminal import echo

KINDS = ("environments", "panels", "agents")


@click.command()
@click.argument("kind", required=False, metavar="[environments|panels|agents]")
@click.option("--data", help="Folder with json_2.1.1, or a packed file. [default: what ALFWORLD_DATA names]")
def command(kind: str | None, data: str | None) -> None:
    """List environments, panels and agents.

    \b
    Example:
      holdergym list agents
    """
    if kind is not None and kind not in KINDS:
        raise UnknownNameError("kind of list", kind, KINDS)
    sections: dict[str, Callable[[], str]] = {
        "environments": _environments,
        "panels": lambda: _panels(data),
        "agents": _agents,
    }
    if kind is not None:
        echo(sections[kind]())
        return
    echo("\n\n".join(f"{name}\n{textwrap.indent(section(), '  ')}" for name, section in sections.items()))


def _environments() -> str:
    import gymnasium

    from ..envs import registration

    registration.register()
    names = sorted(name for name in gymnasium.registry if name.startswith("holdergym/"))
    return "\n".join(names)


def _panels(data: str | None) -> str:
    rows = [("alfworld", name, "generated, no download") for name in BUILTIN_PANELS]
    if data is not None or os.environ.get("ALFWORLD_DATA"):
        path = find_data(data)
        rows += [("alfworld", name, str(path)) for name in panel_names(data)]
    table = tabulate(rows, tablefmt="plain")
    if len(rows) > len(BUILTIN_PANELS):
        return table
    return f"{table}\nofficial panels: give --data or set ALFWORLD_DATA; `holdergym doctor` says more"


def _agents() -> str:
    return tabulate(agent_entries(), tablefmt="plain")
