"""Boards as one CSV file for programs: full precision, an empty cell for an undefined number."""

import csv
import io
import math
from collections.abc import Sequence

from ..eval.metrics import Metrics
from .numbers import plain
from .rows import Board, Row, sorted_types


def boards_as_csv(boards: Sequence[Board]) -> str:
    """One row a run; the panel's columns tell the boards apart. Rates are shares in [0, 1]."""
    types = sorted_types({task_type for board in boards for task_type in board.types})
    rows = [_record(board, row, types) for board in boards for row in board.rows]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _record(board: Board, row: Row, types: Sequence[str]) -> dict[str, str]:
    overall = row.overall
    record = {
        "env": _name(board.env),
        "panel": _name(board.panel),
        "panel_sha256": board.panel_sha256,
        "tasks": str(board.size),
        "dialect": _name(board.dialect),
        "agent": _name(row.agent),
        "agent_fingerprint": _name(row.agent_fingerprint),
        "run": _name(row.run),
        "config_sha256": row.config_sha256,
        "expected": str(overall.expected),
        **_counts(overall),
        "errors": str(overall.errors),
        "timeouts": str(overall.timeouts),
        "missing": str(overall.missing),
        "interval_low": _number(overall.interval.low),
        "interval_high": _number(overall.interval.high),
        "success_rate_failed_as_lost": _number(overall.success_rate_failed_as_lost.value),
        "mean_steps": _number(overall.mean_steps.value),
        "invalid_command_rate": _number(overall.invalid_command_rate.value),
        "path_efficiency": _number(overall.path_efficiency.value),
        "goal_condition_success_rate": _number(overall.goal_condition_success_rate.value),
    }
    for task_type in types:
        metrics = row.by_type.get(task_type)
        for name, value in (_counts(metrics) if metrics else dict.fromkeys(_COUNTED, "")).items():
            record[f"{_name(task_type)}.{name}"] = value
    record["notes"] = "; ".join(row.notes)
    return record


_COUNTED = ("finished", "won", "success_rate")


def _counts(metrics: Metrics) -> dict[str, str]:
    values = (str(metrics.finished), str(metrics.won), _number(metrics.success_rate.value))
    return dict(zip(_COUNTED, values, strict=True))


def _number(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def _name(text: str) -> str:
    """A name that a spreadsheet does not take for a formula."""
    text = plain(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
