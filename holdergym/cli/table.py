"""``holdergym table``: the papers' tables again, what was measured beside them, and what does not agree in them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from ..envs.errors import HolderGymError
from ..envs.files import replace_file
from ..leaderboards.audit.finding import SEVERITIES
from ..leaderboards.paper_tables import (
    PaperTable,
    Placed,
    as_csv,
    as_html,
    as_latex,
    as_markdown,
    as_text,
    paper_table,
    placed_below,
    placed_by,
)
from .output import write_output
from .paths import OUTPUT, PATH
from .terminal import echo

_FORMATS: dict[str, Callable[[Sequence[PaperTable]], str]] = {
    "text": as_text,
    "md": as_markdown,
    "latex": as_latex,
    "html": as_html,
    "csv": as_csv,
}
_SUFFIXES = {"text": "txt", "md": "md", "latex": "tex", "html": "html", "csv": "csv"}
_RUNS = click.option("--runs", type=PATH, help="Folder of runs; those at PAPER/TABLE/ROW/... in it belong to that row.")
_ROWS = click.option("--rows", type=PATH, help="TOML file that says which runs belong to which row.")
_OUT = click.option("--out", type=OUTPUT, help="File to write instead of standard output.")


class _Tables(click.Group):
    """A group whose command ``show`` need not be named: a name with a slash is a table."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and "/" in args[0]:
            args = ["show", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=_Tables)
def command() -> None:
    """Show published tables with our numbers beside them, and check what the papers print.

    \b
    Examples:
      holdergym table list
      holdergym table holderpo/2
      holdergym table holderpo/2 --runs runs --format latex --out table2.tex
      holdergym table audit
    """


@command.command("show")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@_RUNS
@_ROWS
@click.option("--format", "form", type=click.Choice(list(_FORMATS)), default="text", show_default=True)
@click.option("--standalone", is_flag=True, help="latex: a document that compiles as it is.")
@_OUT
def show(
    tables: tuple[str, ...], runs: Path | None, rows: Path | None, form: str, standalone: bool, out: Path | None
) -> None:
    """Show tables in the papers' layout: best bold, second underlined, footnotes for all that needs one.

    A row that was measured has three lines below it: the rate with its count, its 95% interval, and its difference to
    the published number with an interval. Which run belongs to which row is never guessed: runs lie where the commands
    of `holdergym table list` put them, or --rows names them.

    \b
    A file of rows:
      [[row]]
      table = "holderpo/2"
      row = "qwen2.5-math-7b_grpo_1"
      runs = ["runs/a", "runs/b"]

    \b
    Example:
      holdergym table holderpo/2 holderpo/3 --format html --out tables.html
    """
    if standalone and form != "latex":
        raise HolderGymError("--standalone belongs to --format latex: leave it out")
    placed = _placed(runs, rows)
    built = [paper_table(name, placed) for name in dict.fromkeys(tables)]
    _write(as_latex(built, standalone=True) if standalone else _FORMATS[form](built), out)


@command.command("list")
@click.argument("tables", nargs=-1, metavar="[TABLE...]")
@_RUNS
@_ROWS
def list_tables(tables: tuple[str, ...], runs: Path | None, rows: Path | None) -> None:
    """List the tables; with names, their rows and the commands that would produce what is missing.

    The name `all` stands for every table.

    \b
    Example:
      holdergym table list holderpo/3
    """
    from ..leaderboards.paper_tables.listing import overview_as_text, tables_as_text
    from ..leaderboards.published import TABLES

    placed = _placed(runs, rows)
    if not tables:
        echo(overview_as_text(placed), nl=False)
        return
    names = [table.id for table in TABLES] if tables == ("all",) else list(dict.fromkeys(tables))
    echo(tables_as_text(names, placed), nl=False)


@command.command("all")
@_RUNS
@_ROWS
@click.option("--out", type=PATH, required=True, help="Folder to write.")
@click.option(
    "--format",
    "forms",
    type=click.Choice(list(_FORMATS)),
    multiple=True,
    help="Forms to write; can be given several times. [default: all]",
)
def all_tables(runs: Path | None, rows: Path | None, out: Path, forms: tuple[str, ...]) -> None:
    """Write every table in every form, the audit and the bibliography, into a folder.

    The same runs give the same bytes. Files of the same names are replaced; others are left alone.

    \b
    Example:
      holdergym table all --out tables
    """
    from ..leaderboards.audit import audit
    from ..leaderboards.audit.report import findings_as_markdown
    from ..leaderboards.published import TABLES
    from ..leaderboards.published.bibliography import bibliography

    findings = audit()
    placed = _placed(runs, rows)
    built = [paper_table(table.id, placed, findings) for table in TABLES]
    files: dict[str, str] = {}
    for form in forms or tuple(_FORMATS):
        for table in built:
            files[f"{table.table.paper}-{table.table.name}.{_SUFFIXES[form]}"] = _FORMATS[form]([table])
        files[f"all.{_SUFFIXES[form]}"] = as_latex(built, standalone=True) if form == "latex" else _FORMATS[form](built)
    files["audit.md"] = findings_as_markdown(findings)
    files["results.bib"] = bibliography()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            # A link of this name is replaced, not followed: nothing outside the folder is written.
            replace_file(out / name, text.encode())
    except OSError as error:
        raise HolderGymError(f"cannot write into {out}: {error.strerror}: give another --out") from None
    echo(f"{len(built)} tables, {len(files)} files in {out}")


@command.command("audit")
@click.argument("tables", nargs=-1, metavar="[TABLE...]")
@click.option("--format", "form", type=click.Choice(["text", "md", "json"]), default="text", show_default=True)
@click.option(
    "--severity", type=click.Choice(SEVERITIES), default="note", show_default=True, help="The mildest to show."
)
@click.option("--strict", is_flag=True, help="Exit with 1 where anything is found.")
@_OUT
def audit_tables(tables: tuple[str, ...], form: str, severity: str, strict: bool, out: Path | None) -> int:
    """Look for what does not agree in the published numbers.

    Averages that are not the mean of their row, rates that no count of won problems gives, one cell with two values,
    rows that are equal in two papers or under two names, deltas and gains that the rows do not give, claims that noise
    could have made. An error cannot be; a warning misleads or is very probably wrong; a note is explained by rounding
    or quoting, and a reader should know it. The exit code is 0, and with --strict 1 where something is found.

    \b
    Examples:
      holdergym table audit
      holdergym table audit holderpo/6 --severity warning --strict
    """
    from ..leaderboards.audit import audit
    from ..leaderboards.audit.report import findings_as_json, findings_as_markdown, findings_as_text
    from ..leaderboards.published import find_table

    names = {find_table(name).id for name in tables}
    worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
    found = [
        finding
        for finding in audit()
        if finding.severity in worst and (not names or names & {cell.table for cell in finding.cells})
    ]
    written = {"text": findings_as_text, "md": findings_as_markdown, "json": findings_as_json}[form](found)
    _write(written, out)
    return 1 if strict and found else 0


@command.command("bib")
@_OUT
def bib(out: Path | None) -> None:
    """Write the papers of the tables, methods and benchmarks as BibTeX.

    \b
    Example:
      holdergym table bib --out results.bib
    """
    from ..leaderboards.published.bibliography import bibliography

    _write(bibliography(), out)


@command.command("hf")
@click.argument("table")
@click.argument("row")
@_RUNS
@_ROWS
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    required=True,
    metavar="COLUMN=OWNER/NAME[:TASK]",
    help="Benchmark dataset of the hub for a column, and its task where it is not the panel's name.",
)
@click.option("--source", metavar="URL", help="Where the episodes or a paper can be read.")
@click.option("--out", type=OUTPUT, required=True, help="File to write.")
def hub(
    table: str,
    row: str,
    runs: Path | None,
    rows: Path | None,
    datasets: tuple[str, ...],
    source: str | None,
    out: Path,
) -> None:
    """Write a measured row as .eval_results/*.yaml for a model repository of the Hugging Face hub.

    \b
    Example:
      holdergym table hf holderpo/2 ROW --runs runs --dataset AIME24=OWNER/NAME --out eval.yaml
    """
    from ..eval.exports.hf_results import Target
    from ..leaderboards.paper_tables.hub import row_as_hub_results

    targets = {}
    for given in datasets:
        column, found, rest = given.partition("=")
        if not found or column in targets:
            raise HolderGymError(f"--dataset {given!r}: give COLUMN=OWNER/NAME, each column once")
        dataset, _, task = rest.partition(":")
        targets[column] = Target(dataset, task or None, None, source)
    write_output(out, row_as_hub_results(paper_table(table, _placed(runs, rows), findings=()), row, targets))
    echo(f"{len(targets)} entries in {out}" if len(targets) > 1 else f"1 entry in {out}")


def _placed(runs: Path | None, rows: Path | None) -> list[Placed]:
    found = [] if runs is None else placed_below(runs)
    return found if rows is None else [*found, *placed_by(rows)]


def _write(text: str, out: Path | None) -> None:
    if out is None:
        echo(text, nl=False)
        return
    write_output(out, text.encode())
