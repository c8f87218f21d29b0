"""Comparisons as Markdown."""

from collections.abc import Sequence

from ..envs.wording import counted
from ..eval.compare import Comparison, Discordant, Report
from ..eval.run import Run
from .comparison_words import (
    counts,
    discordant_line,
    evidence,
    legend,
    letter,
    panels,
    places,
    rate_of,
    type_row,
    verdict,
    warnings,
)
from .markdown import escape
from .rows import sorted_types, type_label


def report_as_markdown(report: Report, shown: int) -> str:
    """The runs as a table, then each pair under a heading.

    Args:
        report: What was compared.
        shown: Most discordant tasks to list.
    """
    pairs = len(report.comparisons)
    rows = [
        [names[0], escape(names[1]), escape(names[2]), *rate_of(run)]
        for names, run in zip(legend(report), report.runs, strict=True)
    ]
    lines = [
        *map(_title, panels(report)),
        "",
        *_table(["", "Agent", "Run", "Won", "Success %", "95% interval"], rows, left=3),
    ]
    for comparison in report.comparisons:
        lines += ["", *_comparison(report, comparison, pairs, shown)]
    return "\n".join(lines) + "\n"


def _title(run: Run) -> str:
    panel = run.panel
    named = f"**{escape(run.config.env)}, panel {escape(panel.label)}**"
    return f"{named}: {counted(len(panel.tasks), 'task')}, sha256 `{panel.sha256[:12]}`"


def _comparison(report: Report, comparison: Comparison, pairs: int, shown: int) -> list[str]:
    first, second = letter(comparison.first), letter(comparison.second)
    overall = comparison.overall
    lines = [f"### {first} and {second}", "", f"**{verdict(overall, first, second)}**"]
    if overall.paired.p.defined:
        lines.append(f"{evidence(overall, pairs)}. Tasks: {counts(overall.paired, first, second)}.")
    found = warnings(comparison, first, second)
    lines += ["", *(f"- {escape(warning)}" for warning in found)] if found else []
    headers = ["Type", "Tasks", f"{first} %", f"{second} %", f"{second} - {first}", "95% interval"]
    headers += [f"{first} better", f"{second} better", "p", "p (Holm)", "Verdict"]
    kinds = sorted_types(comparison.by_type)
    rows = [type_row(escape(type_label(kind)), comparison.by_type[kind]) for kind in kinds]
    lines += ["", *_table(headers, rows, left=1)]
    if comparison.discordant:
        lines += ["", *_discordant(report, comparison, comparison.discordant, shown)]
    return lines


def _discordant(report: Report, comparison: Comparison, found: Sequence[Discordant], shown: int) -> list[str]:
    if not shown:
        return [f"Discordant tasks: {len(found)}, not listed."]
    first, second = letter(comparison.first), letter(comparison.second)
    rows = []
    for task in found[:shown]:
        name, did_first, did_second = discordant_line(task)
        rows.append(
            [
                escape(name),
                _link(did_first, places(report.runs[comparison.first], task.first)),
                _link(did_second, places(report.runs[comparison.second], task.second)),
            ]
        )
    lines = _table([f"Discordant tasks ({len(found)})", first, second], rows, left=3)
    if len(found) > shown:
        lines += ["", f"{len(found) - shown} more are not listed."]
    return lines


def _link(text: str, place: str) -> str:
    """What happened, with the file and line of the episode."""
    return f"{text} ({escape(place)})"


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    rule = ["---" if number < left else "---:" for number in range(len(headers))]
    return [f"| {' | '.join(cells)} |" for cells in (headers, rule, *rows)]
