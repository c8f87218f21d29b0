"""``holdergym list``: what there is to evaluate."""

import os
import textwrap
from collections.abc import Callable, Sequence

import click
from tabulate import tabulate

from ..agents.prompt import PROMPTS
from ..agents.registry import agent_entries
from ..envs.alfworld.games import BUILTIN_PANELS, find_data, panel_names
from ..envs.errors import HolderGymError, MissingExtraError, UnknownNameError
from ..envs.math.problems import BUILTIN_PANELS as MATH_PANELS
from ..envs.math.published import PUBLISHED
from ..eval.protocols import PROTOCOLS
from .paths import PATH_TEXT
from .terminal import echo

KINDS = ("environments", "panels", "agents", "prompts", "protocols", "recipes")

_WIDTH = 110


@click.command()
@click.argument("kind", required=False, metavar="[" + "|".join(KINDS) + "]")
@click.option(
    "--data", type=PATH_TEXT, help="Folder with json_2.1.1, or a packed file. [default: what ALFWORLD_DATA names]"
)
def command(kind: str | None, data: str | None) -> None:
    """List environments, panels, agents, prompts, protocols and training recipes.

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
        "prompts": _prompts,
        "protocols": _protocols,
        "recipes": _recipes,
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
        try:
            rows += [("alfworld", name, str(find_data(data))) for name in panel_names(data)]
        except HolderGymError as error:
            if data is not None:
                raise
            echo(f"note: {error}", err=True)  # the rest of the list does not need what ALFWORLD_DATA names
    official = len(rows) > len(BUILTIN_PANELS)
    rows += [("math", name, "generated, no download") for name in MATH_PANELS]
    rows += [
        ("math", name, f"{known.rows} problems, from --data or HOLDERGYM_MATH_DATA")
        for name, known in PUBLISHED.items()
    ]
    table = tabulate(rows, tablefmt="plain")
    if official:
        return table
    return f"{table}\nofficial panels: give --data or set ALFWORLD_DATA; `holdergym doctor` says more"


def _agents() -> str:
    rows = [(entry.name, ", ".join(entry.plays), entry.description) for entry in agent_entries()]
    return tabulate(rows, tablefmt="plain")


def _prompts() -> str:
    rows = [(name, summary) for name, summary in PROMPTS.items()]
    return tabulate(rows, tablefmt="plain")


def _protocols() -> str:
    blocks = []
    for protocol in PROTOCOLS:
        lines = [protocol.summary, f"source: {protocol.source}", f"outcomes: {protocol.outcomes}"]
        blocks.append(f"{protocol.name} ({', '.join(protocol.envs)})\n{textwrap.indent(_filled(lines), '  ')}")
    return "\n".join(blocks)


def _filled(lines: Sequence[str]) -> str:
    return "\n".join(textwrap.fill(line, _WIDTH, subsequent_indent="  ") for line in lines)


def _recipes() -> str:
    try:
        from ..training.recipes import QUICK, QUICK_SHORT, RECIPES
    except MissingExtraError as error:
        return f"({error})"
    quick = [
        (QUICK, "a tiny policy from nothing for alfworld or math, trained here in minutes, compared before and after"),
        (QUICK_SHORT, "the same, cut short: it shows that all steps work"),
    ]
    rows = [*quick, *((one.name, one.title) for one in RECIPES)]
    return tabulate(rows, tablefmt="plain")
