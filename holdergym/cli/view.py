"""``holdergym view``: one HTML file in which the episodes of a run are read."""

from pathlib import Path

import click

from ..eval.run import folder_of
from ..eval.viewer.page import viewer_page
from .output import write_output
from .paths import OUTPUT, PATH
from .terminal import echo


@click.command()
@click.argument("run", type=PATH, metavar="RUN")
@click.option("--compare", type=PATH, metavar="RUN2", help="A second run, shown beside the first.")
@click.option("--out", type=OUTPUT, help="File to write. [default: view.html in the run folder]")
@click.option(
    "--tokenizer",
    metavar="MODEL",
    help="Where the tokenizer is that makes texts of tokens: a folder, or a model in the hub's cache. "
    "[default: that of the run's model]",
)
def command(run: Path, compare: Path | None, out: Path | None, tokenizer: str | None) -> None:
    """Write a page that shows a run episode by episode, turn by turn.

    It is one file that opens from disk in any browser: search it, filter it, walk through it with j and k, and press
    ? for the other keys. With --compare each task is shown in two runs side by side. A link that ends in
    #task=ID&sample=0 opens that episode.

    \b
    Examples:
      holdergym eval --agent random --limit 6 --out runs/a
      holdergym eval --agent expert --limit 6 --out runs/b
      holdergym view runs/a
      holdergym view runs/a --compare runs/b --out compared.html
    """
    page = viewer_page([run] if compare is None else [run, compare], tokenizer)
    target = out or folder_of(run) / "view.html"
    write_output(target, page.encode())
    echo(f"{target}: {len(page) / 1e6:.1f} MB")
