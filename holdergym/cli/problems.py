"""``holdergym problems``: list panels of mathematics problems and check problem files."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from tabulate import tabulate

from ..envs.errors import HolderGymError
from ..envs.math.check import FileReport, check_file
from ..envs.math.grader import Grader
from ..envs.math.problem import ProblemError
from ..envs.math.problems import BUILTIN_PANELS, open_problems, panel_names
from ..envs.math.published import PUBLISHED
from .paths import PATH
from .terminal import echo, visible

_SHOWN = 5
_CHARACTERS = 200
_TYPE_CHARACTERS = 22
_ALIGNED = ("left", "right", "left", "left")


@click.group()
def command() -> None:
    """List panels of mathematics problems and check problem files.

    \b
    Example:
      holdergym problems list
    """


@command.command("list")
@click.option("--data", type=PATH, help="Folder with problem files, or one file.")
@click.option("--panel", "panels", multiple=True, metavar="NAME", help="Only this panel; may be given several times.")
def list_(data: Path | None, panels: tuple[str, ...]) -> None:
    """Count the problems of each panel, with its hash and its largest types.

    \b
    Example:
      holdergym problems list --panel builtin_valid
    """
    names = panels or (panel_names(data) if data else BUILTIN_PANELS)
    rows, remarks, failed = [], [], []
    for name in names:
        try:
            problems = open_problems(name, None if name in BUILTIN_PANELS else data)
        except HolderGymError as error:
            failed.append(str(error))
            continue
        types = Counter(task.type for task in problems.panel.tasks)
        shown = visible(name)
        rows.append([shown, str(len(problems)), problems.panel.sha256[:16], _largest(types)])
        if name in PUBLISHED and PUBLISHED[name].remark:
            remarks.append(f"{shown}: {PUBLISHED[name].remark}")
    if rows:
        echo(tabulate(rows, ["panel", "problems", "sha256", "types"], disable_numparse=True, colalign=_ALIGNED))
    for remark in ["", *remarks] if remarks else []:
        echo(remark)
    for message in failed[:-1]:
        echo(message, err=True)
    if failed:
        raise ProblemError(failed[-1])


@command.command()
@click.argument("file", type=PATH)
@click.option(
    "--against",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="A file that FILE should share no problem with; may be given several times.",
)
@click.option("--all", "show_all", is_flag=True, help="Print every finding, not the first few of each kind.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes that judge the golds.")
def check(file: Path, against: tuple[Path, ...], show_all: bool, workers: int) -> int:
    """Report golds that are empty or cannot be graded, repeated problems, and problems of other files.

    Ends with code 1 if anything was found.

    \b
    Example:
      holdergym problems check train.jsonl --against math500.jsonl
    """
    with Grader(workers=workers, timeout_s=10) as grader:
        report = check_file(file, against, grader)
    _print(report, None if show_all else _SHOWN)
    return 0 if report.clean else 1


def _largest(types: Counter[str]) -> str:
    """The largest types with their counts, as many as a line of a terminal has room for."""
    parts = [f"{_short(visible(' '.join(kind.split())))} {count}" for kind, count in types.most_common(2)]
    others = len(types) - len(parts)
    return ", ".join(parts) + (f", {others} more" if others else "")


def _short(kind: str) -> str:
    return kind if len(kind) <= _TYPE_CHARACTERS else f"{kind[: _TYPE_CHARACTERS - 1].rstrip()}…"


def _print(report: FileReport, shown: int | None) -> None:
    echo(f"{report.path}: {report.rows:,} rows")
    _finding("empty golds", report.empty, shown)
    _finding("golds that say nothing (None, null)", report.absent, shown)
    ungradable = [f"{problem.id}: {_cut(problem.gold)!r}: {_cut(problem.reason)}" for problem in report.ungradable]
    _finding("golds that cannot be graded", ungradable, shown)
    _finding("repeated problems", [" = ".join(repeat.ids) for repeat in report.repeats], shown)
    apart = [" = ".join(repeat.ids) for repeat in report.repeats if not repeat.agree]
    _finding("repeated problems with different golds", apart, shown)
    for overlap in report.overlaps:
        same = [f"{here} = {there}" for here, there in overlap.same]
        _finding(f"rows that are problems of {overlap.against}", same, shown)
        alike = [f"{here} ~ {there}" for here, there in overlap.alike]
        _finding(f"rows that are problems of {overlap.against}, typeset differently", alike, shown)
    if report.overlaps:
        echo(f"rows that share no problem with the other files: {report.rows - report.overlapping:,}")
    if report.clean:
        echo("nothing found")


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}… ({len(text):,} characters)"


def _finding(what: str, found: Sequence[str], shown: int | None) -> None:
    """Prints a kind of finding with its count, then one line for each, the first few only."""
    if not found:
        return
    echo(f"{what}: {len(found):,}")
    listed = found[:shown]
    for line in listed:
        echo(f"  {line}")
    if len(found) > len(listed):
        echo(f"  and {len(found) - len(listed):,} more (--all shows them)")
