"""``holdergym quickstart``: two agents on the built-in games, from nothing to a table."""

import sys
import tempfile
from pathlib import Path

import click

from ..agents.registry import ExpertSettings, RandomSettings
from ..eval.config import EvalConfig
from ..eval.evaluation import evaluate
from ..leaderboards.rows import build_boards
from ..leaderboards.text import boards_as_text
from .paths import PATH
from .terminal import echo

PANEL = "builtin_valid"


@click.command()
@click.option("--out", type=PATH, help="Folder for the runs. [default: a new temporary one]")
@click.option("--limit", type=click.IntRange(min=1), help="Play only so many games. [default: all]")
def command(out: Path | None, limit: int | None) -> None:
    """Play the built-in games with two agents and print their table by task type. Needs no download.

    Given the same --out again it goes on where it was interrupted, and plays nothing twice.

    \b
    Example:
      holdergym quickstart --out runs/quickstart
    """
    folder = out or Path(tempfile.mkdtemp(prefix="holdergym-quickstart-"))
    runs = []
    for agent in (RandomSettings(), ExpertSettings()):
        config = EvalConfig(panel=PANEL, agent=agent, limit=limit, out=folder / agent.name)
        runs.append(evaluate(config, resume=True, progress=sys.stderr.isatty()))
    echo(boards_as_text(build_boards(runs)))
    echo(f"runs: {folder}; each episode, turn by turn: {folder / 'expert' / 'episodes.jsonl'}")
    echo("next: holdergym eval --help, holdergym play --help, holdergym doctor")
