"""``holdergym eval``: play a panel into a run folder."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from ..envs.settings import Layer, assignment_layer, file_layer, merge, resolve
from ..eval.config import EvalConfig
from ..eval.evaluation import evaluate
from ..eval.protocols import protocol_layers
from ..leaderboards.text import run_as_text
from .paths import PATH, PATH_TEXT
from .resuming import resumed_layers
from .terminal import echo


@click.command()
@click.option("--env", help="alfworld, math, math_retry or math_python. [default: alfworld]")
@click.option("--protocol", help="Preset that fixes settings; `holdergym list protocols` explains them.")
@click.option("--panel", help="Panel to play. [default: builtin_valid, or the only panel of --data]")
@click.option(
    "--data",
    type=PATH_TEXT,
    help="Games: a folder with json_2.1.1, or a packed file. Problems: a folder or a file. "
    "[default: what ALFWORLD_DATA or HOLDERGYM_MATH_DATA names]",
)
@click.option("--agent", help="Who plays; `holdergym list agents` names them. [default: random]")
@click.option("--task-type", help="Play only the tasks of this type.")
@click.option("--limit", type=int, help="Play only so many tasks, spread evenly over the panel.")
@click.option("--engine", help="native, or textworld: ALFWorld's stock engine. [default: native]")
@click.option("--max-steps", type=int, help="Actions after which an episode ends. [default: 50 in alfworld]")
@click.option("--samples", type=int, help="Times that each task is played. [default: 1]")
@click.option("--seed", type=int, help="Seed of the run. [default: 0]")
@click.option("--model", help="A language model plays: smollm2-135m, a folder, a hub id, or its name at a server.")
@click.option(
    "--backend", help="What computes the model: transformers, vllm, vllm_server or openai. [default: transformers]"
)
@click.option("--prompt", help="What it reads: chat, window, react, free, or a file. [default: chat]")
@click.option("--workers", type=int, help="Environments played at once. [default: 16 for a language model, else 1]")
@click.option("--out", type=PATH_TEXT, help="Run folder to write.")
@click.option("--config", type=PATH, help="TOML file with any of these settings.")
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Any setting, for example agent.path=FILE."
)
@click.option(
    "--resume", is_flag=True, help="Go on with the run in --out. With settings it begins one where there is none."
)
@click.option("--quiet", is_flag=True, help="No progress bar and no table.")
def command(
    config: Path | None, assignments: tuple[str, ...], resume: bool, quiet: bool, **options: str | int | None
) -> int:
    """Play every task of a panel once and report success rates by task type.

    Options win over --config, and --set wins over both. The run folder gets config.toml, manifest.json,
    episodes.jsonl and summary.json; a run that was interrupted in whatever way goes on with --resume, which needs only
    --out.
    The exit code is 1 when episodes ended as error or timeout, which --resume plays again.

    \b
    Examples:
      holdergym eval --agent expert --limit 6 --out runs/example
      holdergym eval --panel valid_unseen --data DIR --agent expert --out runs/expert
      holdergym eval --model smollm2-135m --limit 6 --max-steps 10 --out runs/smol
      holdergym eval --env math --agent oracle --out runs/oracle
      holdergym eval --resume --out runs/example
    """
    layers = [Layer("--model", {"agent": {"name": "llm"}})] if options["model"] is not None else []
    layers += [file_layer(config)] if config else []
    layers += [_option_layer(name, value) for name, value in options.items() if value is not None]
    layers.append(assignment_layer(assignments))
    layers = [*protocol_layers(layers), *layers]
    if resume:
        layers = resumed_layers(layers, lambda message: echo(message, err=True))
    settings = resolve(EvalConfig, [*_default_backend(layers), *layers])
    try:
        run = evaluate(
            settings,
            resume=resume,
            progress=not quiet and sys.stderr.isatty(),
            say=lambda message: echo(message, err=True),
        )
    except KeyboardInterrupt:
        echo(f"interrupted: what was played is in {settings.out}; --resume goes on from there", err=True)
        return 130
    if not quiet:
        echo(run_as_text(run))
        echo(f"run folder: {settings.out}")
    return 0 if run.complete else 1


def _default_backend(layers: Sequence[Layer]) -> list[Layer]:
    """The back end of a language model for which none is named, so that its settings can be given all the same."""
    agent = merge(layers).get("agent")
    is_model = isinstance(agent, Mapping) and agent.get("name") == "llm"
    return [Layer("the default", {"agent": {"backend": {"name": "transformers"}}})] if is_model else []


def _option_layer(name: str, value: str | int) -> Layer:
    """An option as a layer of its own, so that an error message can name it."""
    values: dict[str, object] = {name: value}
    if name == "agent":
        values = {"agent": {"name": value}}
    elif name in ("model", "prompt"):
        values = {"agent": {name: value}}
    elif name == "backend":
        values = {"agent": {"backend": {"name": value}}}
    return Layer(f"--{name.replace('_', '-')}", values)
