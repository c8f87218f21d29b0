"""Boards as one CSV file for programs: full precision, an empty cell for an undefined number."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import fields

from ..eval.intervals import Interval
from ..eval.metrics import Metrics
from ..eval.repeated import Estimate
from ..eval.spending import Spending
from ..eval.value import Value
from .columns import is_household
from .numbers import plain
from .rows import Board, Row, sorted_types


def boards_as_csv(boards: Sequence[Board]) -> str:
    """One row a run; the panel's columns tell the boards apart. Rates are shares in [0, 1]."""
    types = sorted_types({task_type for board in boards for task_type in board.types})
    at_k = list(dict.fromkeys(name for board in boards for row in board.rows for name in _names_at_k(row)))
    rows = [_record(board, row, types, at_k) for board in boards for row in board.rows]
    if not any(is_household(board.env) for board in boards):
        rows = [{name: cell for name, cell in row.items() if name not in _OF_GAMES} for row in rows]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _names_at_k(row: Row) -> list[str]:
    return [name for at in row.overall.at_k for name in at.estimates]


def _record(board: Board, row: Row, types: Sequence[str], at_k: Sequence[str]) -> dict[str, str]:
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
        "interval_method": overall.method,
        "success_rate_failed_as_lost": _number(overall.success_rate_failed_as_lost.value),
        "mean_steps": _number(overall.mean_steps.value),
        "invalid_command_rate": _number(overall.invalid_command_rate.value),
        "unparsable_reply_rate": _number(overall.unparsable_reply_rate.value),
        "cut_reply_rate": _number(overall.cut_reply_rate.value),
        "path_efficiency": _number(overall.path_efficiency.value),
        "goal_condition_success_rate": _number(overall.goal_condition_success_rate.value),
    }
    for field in fields(Spending):
        record[field.name] = _number(getattr(row.spending, field.name).value)
    if not is_household(board.env):
        record |= dict.fromkeys(_OF_GAMES, "")
    found = {name: estimate for at in overall.at_k for name, estimate in at.estimates.items()}
    for name in at_k:
        estimate = found.get(name, _ABSENT)
        record[name] = _number(estimate.value.value)
        record[f"{name}.interval_low"] = _number(estimate.interval.low)
        record[f"{name}.interval_high"] = _number(estimate.interval.high)
    for task_type in types:
        metrics = row.by_type.get(task_type)
        for name, value in (_counts(metrics) if metrics else dict.fromkeys(_COUNTED, "")).items():
            record[f"{_name(task_type)}.{name}"] = value
    record["notes"] = "; ".join(row.notes)
    return record


# What problems of mathematics have no use for.
_OF_GAMES = ("invalid_command_rate", "path_efficiency", "goal_condition_success_rate")
_COUNTED = ("finished", "won", "success_rate", "interval_low", "interval_high")
_ABSENT = Estimate(Value.undefined("not measured"), Interval(math.nan, math.nan, "not measured"))


def _counts(metrics: Metrics) -> dict[str, str]:
    ends = _number(metrics.interval.low), _number(metrics.interval.high)
    values = (str(metrics.finished), str(metrics.won), _number(metrics.success_rate.value), *ends)
    return dict(zip(_COUNTED, values, strict=True))


def _number(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def _name(text: str) -> str:
    """A name that a spreadsheet does not take for a formula."""
    text = plain(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
