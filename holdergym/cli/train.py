"""``holdergym train``: train a policy by a method."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..envs.errors import ConfigError, UnknownNameError
from ..envs.settings import Layer, assignment_layer, file_layer, resolve
from .paths import PATH
from .terminal import echo
from .voice import Voice

if TYPE_CHECKING:
    from ..training.processes import Processes
    from ..training.run import RunSettings


@click.group(invoke_without_command=True)
@click.option(
    "--preset",
    metavar="NAME",
    help="A recipe: `quick`, which needs nothing else, or a paper's; `holdergym list recipes` names them.",
)
@click.option("--env", help="alfworld, math or math_retry. [default: alfworld]")
@click.option("--panel", help="Panel whose tasks are drawn. [default: builtin_train]")
@click.option("--data", help="Games or problems, as for eval.")
@click.option("--model", help="Checkpoint to begin with: smollm2-135m, a folder, or a hub id.")
@click.option("--prompt", help="What the policy reads: chat, window, react, tiny, free, or a file.")
@click.option("--method", help="Training method; `holdergym methods list` names them. [default: holderpo]")
@click.option("--rounds", type=int, help="Rounds of rollouts and updates. [default: 100]")
@click.option("--groups", type=int, help="Tasks a round. [default: 16]")
@click.option("--group-size", type=int, help="Episodes a task. [default: 8]")
@click.option("--learning-rate", type=float, help="Learning rate after the warm-up. [default: 1e-6]")
@click.option("--max-steps", type=int, help="Actions after which an episode ends. [default: 50 in alfworld]")
@click.option("--seed", type=int, help="Seed of the run. [default: 0]")
@click.option("--out", type=PATH, help="Folder of the run.")
@click.option(
    "--log-to",
    multiple=True,
    metavar="NAME",
    help="Log the rounds to tensorboard, wandb, trackio or mlflow too; may be given several times.",
)
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
@click.pass_context
def command(
    context: click.Context,
    /,
    preset: str | None,
    config: Path | None,
    assignments: tuple[str, ...],
    resume: bool,
    plan: bool,
    **options: str | int | float | Path | tuple[str, ...] | None,
) -> int:
    """Train a policy on an environment by a published method, and keep the best checkpoint.

    The folder gets config.toml, metrics.jsonl with a line a round, and checkpoints, each an ordinary model that eval
    plays with. A run that was interrupted in whatever way goes on with --resume.

    `--preset quick` makes a tiny policy, warms it up with demonstrations, trains it with HölderPO, and compares the two
    on tasks that neither has seen; it needs no model and no download.

    \b
    Examples:
      holdergym train --preset quick --out runs/quick
      holdergym train --preset quick --env math --out runs/quick-math
      holdergym train --preset holderpo-alfworld-qwen2.5-1.5b --plan
      holdergym train --model smollm2-135m --env math --method holderpo --rounds 2 --groups 2 --out runs/math --plan
      holdergym train sft --model smollm2-135m --out runs/warm --plan
    """
    if context.invoked_subcommand is not None:
        _refuse_before_subcommand(context)
        return 0
    from ..training.processes import open_processes

    with open_processes() as processes:
        return _train(context, processes, preset, config, assignments, resume, plan, options)


def _train(
    context: click.Context,
    processes: "Processes",
    preset: str | None,
    config: Path | None,
    assignments: Sequence[str],
    resume: bool,
    plan: bool,
    options: Mapping[str, object],
) -> int:
    from ..training.recipes import QUICK, QUICK_SHORT, find_recipe, recipe_as_text

    if preset in (QUICK, QUICK_SHORT):
        if processes.count > 1:
            raise ConfigError(f"--preset {preset} is for one process: leave out the launcher")
        return _quick(context, preset == QUICK_SHORT, plan, options)
    from ..training.config import TrainConfig
    from ..training.needs import needs_as_text, parameters_of
    from ..training.planning import plan_as_text
    from ..training.run import train

    recipe = None if preset is None else find_recipe(preset)
    given = [
        _option_layer(name, value) for name, value in options.items() if value not in (None, ()) and name != "method"
    ]
    layers = _layers(config, given, assignments, options["out"] if resume else None)
    method = options["method"]
    if recipe is not None:
        own = dict(recipe.settings)
        if method not in (None, recipe.method):
            own.pop("method", None)  # another method has other settings
        layers = [Layer(f"--preset {recipe.name}", own), *layers]
        method = method or recipe.method
    settings = resolve(TrainConfig, [_defaults(method, layers), *layers])
    if plan and processes.leads:
        parameters = parameters_of(settings)
        if recipe is not None:
            echo(f"{recipe_as_text(recipe)}\n")
            if parameters is None and settings.agent.model == recipe.model:
                parameters = recipe.parameters
        echo(plan_as_text(settings))
        echo(needs_as_text(settings, parameters))
    if plan:
        return 0
    return _run(
        settings,
        processes,
        lambda voice: train(
            settings,
            resume=resume,
            say=voice.say,
            each_round=voice.each_round,
            each_episode=voice.each_episode,
            processes=processes,
        ),
        "eval",
    )


def _run(settings: "RunSettings", processes: "Processes", train: Callable[[Voice], Path], following: str) -> int:
    """Trains, says what came of it and which command follows, and returns the exit code."""
    try:
        with closing(Voice(settings.rounds, processes.leads)) as voice:
            best = train(voice)
    except KeyboardInterrupt:
        processes.fail()
        echo(f"interrupted: {settings.out} goes on from its last checkpoint with --resume", err=True)
        return 130
    if processes.leads:
        validated = settings.validation.every > 0
        echo(f"{'best' if validated else 'last'} checkpoint: {best}")
        echo(f"next: holdergym {following} --model {best} --out DIR")
    return 0


def _refuse_before_subcommand(context: click.Context) -> None:
    """What stands before ``sft`` would be lost without a word."""
    for option in _given(context):
        raise ConfigError(f"{option} stands before {context.invoked_subcommand!r}: write it behind")


def _given(context: click.Context, leave_out: Collection[str] = ()) -> list[str]:
    """The options that were given, as they are written."""
    return [
        "--set" if name == "assignments" else f"--{name.replace('_', '-')}"
        for name in context.params
        if name not in leave_out and context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    ]


def _quick(context: click.Context, short: bool, plan: bool, options: Mapping[str, object]) -> int:
    """The recipe that makes its own model. It goes on with what its folder holds, with --resume or without."""
    from .quick_run import run_and_compare

    for option in _given(context, leave_out=("preset", "env", "seed", "out", "resume", "plan")):
        raise ConfigError(f"--preset {context.params['preset']} fixes its settings: leave out {option}, or the preset")
    out, env, seed = options["out"], options["env"], options["seed"]
    assert out is None or isinstance(out, Path)
    return run_and_compare(out, str(env or "alfworld"), int(str(seed or 0)), short=short, plan=plan)


def _option_layer(name: str, value: object) -> Layer:
    shown = f"--{name.replace('_', '-')}"
    if isinstance(value, tuple):
        return Layer(shown, {name: list(value)})
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


def _layers(config: Path | None, given: Sequence[Layer], assignments: Sequence[str], resumed: object) -> list[Layer]:
    """What is set, in the order in which it wins: a run that is gone on with, a file, options, ``--set``."""
    from ..training.run import CIRCUMSTANCES_FILE, CONFIG

    saved = [] if not isinstance(resumed, Path) else [resumed / name for name in (CONFIG, CIRCUMSTANCES_FILE)]
    saved = [path for path in saved if path.is_file()]
    files = [file_layer(path) for path in (*saved, *([config] if config else []))]
    return [*files, *given, assignment_layer(assignments)]


@command.command("sft")
@click.option("--env", help="alfworld, math or math_retry. [default: alfworld]")
@click.option("--panel", help="Panel on whose tasks demonstrations are given. [default: builtin_train]")
@click.option("--data", help="Games or problems, as for eval.")
@click.option("--model", help="Checkpoint to begin with: smollm2-135m, a folder, or a hub id.")
@click.option("--prompt", help="What the policy reads: chat, window, react, tiny, free, or a file.")
@click.option(
    "--agent", help="Who demonstrates: searching or expert; in math oracle or scratchpad. [default: the former]"
)
@click.option("--samples", type=int, help="Demonstrations of each task. [default: 1]")
@click.option("--rounds", type=int, help="Rounds. [default: 10]")
@click.option("--updates", type=int, help="Optimiser steps a round. [default: 50]")
@click.option("--step-tokens", type=int, help="Tokens of an optimiser step, prompts included. [default: 1024]")
@click.option("--learning-rate", type=float, help="Learning rate after the warm-up. [default: 1e-5]")
@click.option("--max-steps", type=int, help="Actions after which an episode ends. [default: 50 in alfworld]")
@click.option("--seed", type=int, help="Seed of the run. [default: 0]")
@click.option("--out", type=PATH, help="Folder of the run.")
@click.option(
    "--log-to",
    multiple=True,
    metavar="NAME",
    help="Log the rounds to tensorboard, wandb, trackio or mlflow too; may be given several times.",
)
@click.option("--config", type=PATH, help="TOML file with any of these settings.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any setting, for example demonstrations.detours=0.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in --out.")
@click.option("--plan", is_flag=True, help="Print the settings, and begin nothing.")
def sft(
    config: Path | None,
    assignments: tuple[str, ...],
    resume: bool,
    plan: bool,
    **options: str | int | float | Path | tuple[str, ...] | None,
) -> int:
    """Warm a policy up: it learns to say what another agent would say in its place.

    Demonstrations are played first, with the very prompts that the policy will read; those that were won are imitated.
    The loss is on the commands alone. The checkpoints are ordinary models, for train and for eval.

    \b
    Examples:
      holdergym train sft --model smollm2-135m --out runs/warm
      holdergym train sft --env math --model smollm2-135m --rounds 2 --out runs/warm-math
    """
    from ..training.processes import open_processes

    with open_processes() as processes:
        return _sft(processes, config, assignments, resume, plan, options)


def _sft(
    processes: "Processes",
    config: Path | None,
    assignments: Sequence[str],
    resume: bool,
    plan: bool,
    options: Mapping[str, object],
) -> int:
    from ..envs.settings import as_toml
    from ..training.config import CIRCUMSTANCES
    from ..training.sft import SftConfig, warm_start

    given = [_sft_layer(name, value) for name, value in options.items() if value not in (None, ())]
    layers = _layers(config, given, assignments, options["out"] if resume else None)
    agent = {"name": "llm", "backend": {"name": "transformers"}}
    settings = resolve(SftConfig, [Layer("the default", {"agent": agent}), *layers])
    if plan:
        if processes.leads:
            echo(as_toml(settings, leave_out=CIRCUMSTANCES).rstrip())
        return 0
    return _run(
        settings,
        processes,
        lambda voice: warm_start(
            settings,
            resume=resume,
            say=voice.say,
            each_round=voice.each_round,
            each_episode=voice.each_episode,
            processes=processes,
        ),
        "train",
    )


def _sft_layer(name: str, value: object) -> Layer:
    if name in ("agent", "samples"):
        return Layer(f"--{name}", {"demonstrations": {name: value}})
    return _option_layer(name, value)


@command.command("tiny")
@click.option("--env", default="alfworld", show_default=True, help="alfworld or math: whose words it knows.")
@click.option("--layers", type=click.IntRange(1, 64), default=3, show_default=True, help="Number of layers.")
@click.option("--width", type=click.IntRange(8, 4096), default=128, show_default=True, help="Numbers for a token.")
@click.option("--heads", type=click.IntRange(1, 64), default=8, show_default=True, help="Heads of attention.")
@click.option("--inner", type=click.IntRange(8, 16384), default=256, show_default=True, help="Width inside the MLP.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the weights.")
@click.option("--out", type=PATH, required=True, help="Folder of the checkpoint.")
def tiny(env: str, layers: int, width: int, heads: int, inner: int, seed: int, out: Path) -> None:
    """Make a tiny policy that knows nothing yet: a Llama whose tokens are the words of an environment.

    It is an ordinary checkpoint. Warm it up with `holdergym train sft`, in alfworld with --prompt tiny.

    \b
    Examples:
      holdergym train tiny --out runs/tiny
      holdergym train tiny --env math --width 96 --inner 192 --out runs/tiny-math
    """
    from ..training.tiny.making import TinySize, make_tiny_policy

    if env not in ("alfworld", "math"):
        raise UnknownNameError("world of a tiny policy", env, ("alfworld", "math"))
    if width % (2 * heads):
        raise ConfigError(f"a width of {width} cannot be shared by {heads} heads: take a multiple of {2 * heads}")
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise ConfigError(f"{out} is there already and not empty: choose another --out")
    size = TinySize(layers=layers, width=width, heads=heads, inner=inner)
    weights = make_tiny_policy(out, "math" if env == "math" else "alfworld", size=size, seed=seed)
    echo(f"{out}: a policy of {weights:,} weights")
