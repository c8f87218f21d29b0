"""``holdergym train --preset quick``: a tiny policy from nothing, and what training it further was worth."""

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..agents.backends.settings import TransformersSettings
from ..envs.errors import ConfigError
from ..envs.settings import as_toml, file_layer
from ..eval.compare import compare_runs
from ..eval.config import EvalConfig
from ..eval.evaluation import evaluate
from ..eval.run import MANIFEST, Run
from ..leaderboards.comparison_text import report_as_text
from .terminal import echo

if TYPE_CHECKING:
    from ..training.quick import Quick


def run_and_compare(out: Path | None, env: str, seed: int, *, short: bool = False, plan: bool = False) -> int:
    """Runs the recipe and compares the policy before and after on tasks that neither has seen.

    Given the same folder again it goes on where it was interrupted.

    Args:
        out: Folder of all steps; None takes a new temporary one.
        env: Environment.
        seed: Seed of all steps.
        short: Whether to run the short form, which shows that all steps work and little more.
        plan: Whether to print the settings and begin nothing.

    Returns:
        The exit code.

    Raises:
        HolderGymError: If a step cannot be begun or gone on with.
    """
    from ..training.quick import quick_settings, run_quick
    from .voice import round_line

    folder = out or (Path("OUT") if plan else Path(tempfile.mkdtemp(prefix="holdergym-quick-")))
    settings = quick_settings(folder, env, seed=seed, short=short)
    if plan:
        echo(_plan(settings))
        return 0
    steps = {"warm-start": settings.warm.rounds, "trained": settings.train.rounds}
    _require_folder(folder, env, {"policy", *steps, *(f"eval-{step}" for step in steps)})

    def tell(step: str, number: int, metrics: Mapping[str, float]) -> None:
        echo(f"{step}: {round_line(number, steps[step], metrics)}", err=True)

    try:
        models = run_quick(settings, say=lambda message: echo(message, err=True), each_round=tell)
        runs = [_evaluate(settings, model, folder / f"eval-{name}") for name, model in zip(steps, models, strict=True)]
    except KeyboardInterrupt:
        echo(f"interrupted: the same command with --out {folder} goes on", err=True)
        return 130
    echo(report_as_text(compare_runs(runs), 0), nl=False)
    if short:
        echo("This was the short form, which shows that all steps work; too little was played to learn much from it:")
        echo("holdergym train --preset quick takes some minutes, and does.")
    echo(f"folder: {folder}; curves: holdergym plot {folder / 'trained'}")
    echo(f"next: holdergym view {folder / 'eval-trained'}")
    return 0 if all(run.complete for run in runs) else 1


def _require_folder(folder: Path, env: str, own: Collection[str]) -> None:
    """Refuses a folder that holds something else than this recipe, whose own folders have these names."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    foreign = [name for name in names if name not in own]
    if foreign:
        raise ConfigError(
            f"{folder} is not empty (it holds {foreign[0]!r}) and is no folder of this recipe: choose another --out"
        )
    begun = folder / "warm-start" / "config.toml"
    if begun.is_file():
        there = file_layer(begun).values.get("env")
        if there != env:
            raise ConfigError(f"{folder} holds the recipe for {there}: give --env {there}, or choose another --out")


def _evaluate(settings: "Quick", model: Path, out: Path) -> Run:
    """Plays the held-out panel as the policy plays in training: sampled, several times each task."""
    train = settings.train
    agent = replace(train.agent, model=str(model), backend=TransformersSettings(max_batch=train.in_flight))
    config = EvalConfig(
        env=train.env,
        panel=settings.held_out,
        max_steps=train.max_steps,
        samples=settings.samples,
        agent=agent,
        seed=train.seed,
        workers=train.in_flight,
        out=out,
    )
    return evaluate(config, resume=(out / MANIFEST).exists(), say=lambda message: echo(message, err=True))


def _plan(settings: "Quick") -> str:
    from ..training.config import CIRCUMSTANCES

    parts = (
        ("1. A policy with random weights", as_toml(settings.size)),
        ("2. Warm start", as_toml(settings.warm, leave_out=CIRCUMSTANCES)),
        ("3. Training", as_toml(settings.train, leave_out=CIRCUMSTANCES)),
    )
    text = "\n\n".join(f"# {title}\n\n{body.rstrip()}" for title, body in parts)
    return (
        f"{text}\n\n# 4. Comparison\n\nThe policy after step 2 and after step 3 (its last round) plays "
        f"{settings.held_out}, {settings.samples} samples a task, and the two are compared task by task."
    )
