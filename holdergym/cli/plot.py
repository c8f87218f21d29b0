"""``holdergym plot``: the curves of a training run."""

from pathlib import Path

import click

from .output import write_output
from .paths import OUTPUT, PATH
from .terminal import echo


@click.command()
@click.argument("run", type=PATH)
@click.option("--out", type=OUTPUT, help="Picture to write: .png, .svg or .pdf. [default: RUN/curves.png]")
def command(run: Path, out: Path | None) -> None:
    """Draw the curves of a training run: success, reward, p, entropy, KL, clipping.

    \b
    Example:
      holdergym plot DIR
    """
    from ..training.plotting import picture_of

    picture = out or run / "curves.png"
    write_output(picture, picture_of(run, picture))
    echo(f"curves: {picture}")
