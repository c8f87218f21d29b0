"""Paper tables as one CSV for programs: a line a cell, published and measured side by side, full precision."""

import csv
import io
import math
from collections.abc import Sequence

from ..numbers import plain
from ..published.layout import Column
from .records import Measured, PaperTable, TableCell, TableRow

_PUBLISHED = ("value", "qualifier", "sd", "unit", "n", "samples", "source", "evidence", "note")
COLUMNS = (
    "table",
    "row",
    "model",
    "label",
    "method",
    "setting",
    "benchmark",
    "metric",
    *(f"published_{name}" if name in ("value", "qualifier", "sd", "n", "samples") else name for name in _PUBLISHED),
    "rank",
    "measured",
    "measured_won",
    "measured_n",
    "interval_low",
    "interval_high",
    "interval_method",
    "delta",
    "delta_low",
    "delta_high",
    "delta_undefined",
    "published_taken_as_exact",
    "panel_sha256",
    "config_sha256",
    "agent",
    "run",
    "footnotes",
)


def as_csv(tables: Sequence[PaperTable]) -> str:
    """All cells of the tables. Published numbers are as printed; measured ones and deltas are shares."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for table in tables:
        for row in table.rows:
            for column, cell in zip(table.table.columns, row.cells, strict=True):
                if cell.published is not None or cell.measured is not None:
                    writer.writerow(map(_safe, _record(table, row, column, cell)))
    return out.getvalue()


def _record(table: PaperTable, row: TableRow, column: Column, cell: TableCell) -> list[str]:
    result = next(each.published for each in row.cells if each.published is not None)
    assert result is not None
    published = [str(getattr(cell.published, name)) if cell.published else "" for name in _PUBLISHED]
    notes = dict.fromkeys(
        [*row.notes, *cell.notes, *(row.measured_notes if cell.measured else ()), *cell.difference_notes]
    )
    return [
        table.table.id,
        row.name,
        result.model,
        result.label,
        result.method,
        result.setting,
        column.benchmark,
        cell.published.metric if cell.published else column.metric,
        *published,
        cell.rank,
        *_measured(cell.measured),
        " ".join(f"[{number}] {table.footnotes[number - 1]}" for number in notes),
    ]


def _measured(measured: Measured | None) -> list[str]:
    if measured is None:
        return [""] * 15
    runs = [source.run for source in measured.sources]
    return [
        _number(measured.value),
        "" if measured.won is None else str(measured.won),
        str(measured.total),
        _number(measured.interval.low),
        _number(measured.interval.high),
        measured.method,
        _number(measured.delta.value),
        _number(measured.delta_interval.low),
        _number(measured.delta_interval.high),
        measured.delta.cause,
        "yes" if measured.published_exact else "",
        " ".join(run.panel.sha256 for run in runs),
        " ".join(run.manifest.config_sha256 for run in runs),
        " ".join(dict.fromkeys(run.manifest.agent_fingerprint for run in runs)),
        " ".join(source.name for source in measured.sources),
    ]


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else ""


def _safe(text: str) -> str:
    """A text that a spreadsheet does not take for a formula; a number with its sign is none."""
    text = plain(text)
    try:
        float(text)
    except ValueError:
        return f"'{text}" if text.startswith(("=", "+", "-", "@")) and text != "-" else text
    return text
