"""Comparisons as text for a terminal."""

import shlex
from collections.abc import Sequence

from ..eval.compare import Comparison, Discordant, Report
from .comparison_words import (
    counts,
    discordant_line,
    evidence,
    legend,
    letter,
    panels,
    places,
    rate_of,
    split,
    type_row,
    verdict,
    warnings,
)
from .numbers import plain
from .rows import sorted_types, type_label
from .text import heading

SHOWN = 10


def report_as_text(report: Report, shown: int = SHOWN) -> str:
    """The runs, then each pair with its verdict, its task types and its discordant tasks.

    Args:
        report: What was compared.
        shown: Most discordant tasks to list on each side.
    """
    pairs = len(report.comparisons)
    parts = [_runs(report), *(_comparison(report, comparison, pairs, shown) for comparison in report.comparisons)]
    return "\n\n".join(parts) + "\n"


def _runs(report: Report) -> str:
    from tabulate import tabulate

    rows = [[*names, *rate_of(run)] for names, run in zip(legend(report), report.runs, strict=True)]
    table = tabulate(
        rows,
        ["", "agent", "run", "won", "rate %", "95% interval"],
        disable_numparse=True,
        colalign=("left", "left", "left", "right", "right", "right"),
    )
    titles = [
        heading(run.config.env, run.panel.label, len(run.panel.tasks), run.panel.sha256) for run in panels(report)
    ]
    return "\n".join([*titles, "", table])


def _comparison(report: Report, comparison: Comparison, pairs: int, shown: int) -> str:
    first, second = letter(comparison.first), letter(comparison.second)
    overall = comparison.overall
    lines = [f"{first} and {second}", "", verdict(overall, first, second)]
    if overall.paired.p.defined:
        lines += [f"{evidence(overall, pairs)}.", f"Tasks: {counts(overall.paired, first, second)}."]
    lines += warnings(comparison, first, second)
    lines += ["", _types(comparison, first, second)]
    lines += _discordant(report, comparison, shown)
    return "\n".join(lines)


def _types(comparison: Comparison, first: str, second: str) -> str:
    from tabulate import tabulate

    headers = [
        "type", "tasks", f"{first} %", f"{second} %", f"{second} - {first}", "95% interval", f"{first} better",
        f"{second} better", "p", "p (Holm)", "",
    ]  # fmt: skip
    rows = [type_row(type_label(kind), comparison.by_type[kind]) for kind in sorted_types(comparison.by_type)]
    return tabulate(rows, headers, disable_numparse=True, colalign=("left", *["right"] * (len(headers) - 2), "left"))


def _discordant(report: Report, comparison: Comparison, shown: int) -> list[str]:
    lines: list[str] = []
    for number, found in zip((comparison.first, comparison.second), split(comparison.discordant), strict=True):
        if found:
            lines += ["", f"Tasks with which {letter(number)} did better: {len(found)}"]
            lines += _listed(report, comparison, found, shown)
    if lines:
        folders = (plain(shlex.quote(str(report.runs[n].folder))) for n in (comparison.first, comparison.second))
        lines += ["", "Side by side: holdergym view {} --compare {}".format(*folders)]
    return lines


def _listed(report: Report, comparison: Comparison, found: Sequence[Discordant], shown: int) -> list[str]:
    first, second = letter(comparison.first), letter(comparison.second)
    lines = []
    for task in found[:shown]:
        name, did_first, did_second = discordant_line(task)
        lines += [
            f"  {name}",
            f"    {first} {did_first}  {places(report.runs[comparison.first], task.first)}",
            f"    {second} {did_second}  {places(report.runs[comparison.second], task.second)}",
        ]
    if len(found) > shown:
        more = f"and {len(found) - shown} more" if shown else "not listed"
        lines.append(f"  {more}: --discordant {len(found)} or --format json lists them all")
    return lines
