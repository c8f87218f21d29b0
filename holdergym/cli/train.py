"""``holdergym train``: train a policy by a method."""

from collections.abc import Mapping
from pathlib import Path

import click

from ..envs.settings import Layer, assignment_layer, file_layer, resolve
from .paths import PATH
from .terminal import echo


@click.command()
@click.option("--env", help="alfworld, math or math_retry. [default: alfworld]")
@click.option("--panel", help="Panel whose tasks are drawn. [default: builtin_train]")
@click.option("--data", help="Games or problems, as for eval.")
@click.option("--model", help="Checkpoint to begin with: smollm2-135m, a folder, or a hub id.")
@click.option("--prompt", help="What the policy reads: chat, window, react, free, or a file.")
@click.option("--method", help="Training method; `holdergym methods list` names them. [default: holderpo]")
@click.option("--rounds", type=int, help="Rounds of rollouts and updates. [default: 100]")
@click.option("--groups", type=int, help="Tasks a round. [default: 16]")
@click.option("--group-size", type=int, help="Episodes a task. [default: 8]")
@click.option("--learning-rate", type=float, help="Learning rate after the warm-up. [default: 1e-6]")
@click.option("--max-steps", type=int, help="Actions after which an episode ends. [default: 50 in alfworld]")
@click.option("--seed", type=int, help="Seed of the run. [default: 0]")
@click.option("--out", type=PATH, help="Folder of the run.")
@click.option("--config", type=PATH, help="TOML file with any of these settings.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any setting, for example method.kl.coefficient=0.01.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in --out.")
@click.option("--plan", is_flag=True, help="Print the settings and what a round needs, and begin nothing.")
def command(
    config: Path | None,
    assignments: tuple[str, ...],
    resume: bool,
    plan: bool,
    **options: str | int | float | Path | None,
) -> int:
    """Train a policy on an environment by a published method, and keep the best checkpoint.

    The folder gets config.toml, metrics.jsonl with a line a round, and checkpoints, each an ordinary model that eval
    plays with. A run that was interrupted in whatever way goes on with --resume.

    \b
    Examples:
      holdergym train --model smollm2-135m --env math --method holderpo --rounds 2 --groups 2 --out runs/math --plan
    """
    from ..training.config import TrainConfig
    from ..training.planning import plan_as_text
    from ..training.run import train

    given = [_option_layer(name, value) for name, value in options.items() if value is not None and name != "method"]
    layers = [*([file_layer(config)] if config else []), *given, assignment_layer(assignments)]
    if resume and isinstance(options["out"], Path):
        layers = [*_saved(options["out"]), *layers]
    settings = resolve(TrainConfig, [_defaults(options["method"], layers), *layers])
    if plan:
        echo(plan_as_text(settings))
        return 0
    try:
        best = train(
            settings,
            resume=resume,
            say=lambda message: echo(message, err=True),
            each_round=lambda number, metrics: echo(_line(number, settings.rounds, metrics), err=True),
        )
    except KeyboardInterrupt:
        echo(f"interrupted: {settings.out} goes on from its last checkpoint with --resume", err=True)
        return 130
    echo(f"best checkpoint: {best}")
    echo(f"next: holdergym eval --model {best} --out DIR")
    return 0


def _option_layer(name: str, value: object) -> Layer:
    shown = f"--{name.replace('_', '-')}"
    if name in ("model", "prompt"):
        return Layer(shown, {"agent": {name: value}})
    if name == "learning_rate":
        return Layer(shown, {"optimiser": {name: value}})
    return Layer(shown, {name: str(value) if isinstance(value, Path) else value})


def _defaults(method: object, layers: list[Layer]) -> Layer:
    """What is not given: the method's preset, and the names of alternatives."""
    import tomllib

    from ..envs.settings import as_toml, merge
    from ..training.presets import preset

    given = merge(layers)
    named = given.get("method")
    name = method or (named.get("name") if isinstance(named, Mapping) else None) or "holderpo"
    agent = {"name": "llm", "backend": {"name": "transformers"}}
    return Layer(f"--method {name}", {"agent": agent, "method": tomllib.loads(as_toml(preset(str(name))))})


def _saved(out: Path) -> list[Layer]:
    from ..training.run import CONFIG

    return [file_layer(out / CONFIG)] if (out / CONFIG).is_file() else []


def _line(number: int, rounds: int, metrics: Mapping[str, float]) -> str:
    """One line a round for the terminal."""
    parts = [f"round {number}/{rounds}"]
    for key, label, form in (
        ("success", "success", ".1%"),
        ("reward", "reward", ".3f"),
        ("p", "p", ".2f"),
        ("entropy", "entropy", ".2f"),
        ("clip_share", "clipped", ".1%"),
        ("gradient_norm", "gradient", ".2g"),
        ("validation/success", "validation", ".1%"),
    ):
        if key in metrics:
            parts.append(f"{label} {metrics[key]:{form}}")
    return "  ".join(parts)
