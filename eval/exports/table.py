"""A table with a row for each episode, as CSV and as Parquet."""

import csv
import importlib.util
import io
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...agents.trajectory import Outcome
from ...envs.errors import MissingExtraError
from ..results import Result
from ..run import Run

Cell = str | int | float | bool | None


class Column(NamedTuple):
    """A column: its name, its type in pandas, and what it takes from an episode."""

    name: str
    dtype: str
    cell: Callable[[Run, Result], Cell]


# Whole numbers that may be missing are pandas' Int64. Seconds are those of the machine that played.
COLUMNS = (
    Column("run", "string", lambda run, _: run.folder.resolve().name),
    Column("agent", "string", lambda run, _: run.manifest.agent),
    Column("agent_fingerprint", "string", lambda run, _: run.manifest.agent_fingerprint),
    Column("env", "string", lambda run, _: run.config.env),
    Column("panel", "string", lambda run, _: run.panel.label),
    Column("panel_sha256", "string", lambda run, _: run.panel.sha256),
    Column("config_sha256", "string", lambda run, _: run.manifest.config_sha256),
    Column("dialect", "string", lambda run, _: run.manifest.dialect),
    Column("task_id", "string", lambda _, result: result.task_id),
    Column("task_type", "string", lambda _, result: result.task_type),
    Column("sample", "Int64", lambda _, result: result.sample),
    Column("outcome", "string", lambda _, result: result.outcome.value),
    Column("finished", "bool", lambda _, result: result.outcome.finished),
    Column("won", "bool", lambda _, result: result.outcome is Outcome.WON),
    Column("steps", "Int64", lambda _, result: result.steps),
    Column("invalid_commands", "Int64", lambda _, result: result.invalid_commands),
    Column("shortest", "Int64", lambda _, result: result.shortest),
    Column("goal_condition_success_rate", "float64", lambda _, result: result.goal_condition_success_rate),
    Column("replies", "Int64", lambda _, result: result.replies),
    Column("unparsable_replies", "Int64", lambda _, result: result.unparsable_replies),
    Column("cut_replies", "Int64", lambda _, result: result.cut_replies),
    Column("prompt_tokens", "Int64", lambda _, result: result.usage.prompt if result.usage else None),
    Column("cached_tokens", "Int64", lambda _, result: result.usage.cached if result.usage else None),
    Column("generated_tokens", "Int64", lambda _, result: result.usage.generated if result.usage else None),
    Column("agent_seconds", "float64", lambda _, result: round(result.agent_seconds, 6)),
    Column("env_seconds", "float64", lambda _, result: round(result.env_seconds, 6)),
    Column("answer", "string", lambda _, result: result.answer),
    Column("verdict", "string", lambda _, result: result.verdict),
    Column("reason", "string", lambda _, result: result.reason),
)


def episodes_as_csv(run: Run) -> bytes:
    """The table as CSV in UTF-8; what is not known is empty.

    Texts are as the run has them, so one that begins with ``=`` is a formula to a spreadsheet: import it as text.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in COLUMNS)
    writer.writerows(["" if cell is None else cell for cell in row] for row in _rows(run))
    return out.getvalue().encode()


def episodes_as_parquet(run: Run) -> bytes:
    """The table as Parquet, with types and with missing values.

    Raises:
        MissingExtraError: If pyarrow is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtraError("--format parquet", "hub", "pyarrow")
    import pandas

    cells = zip(*_rows(run), strict=True) if run.results else [() for _ in COLUMNS]
    frame = pandas.DataFrame(
        {column.name: pandas.Series(list(of), dtype=column.dtype) for column, of in zip(COLUMNS, cells, strict=True)}
    )
    out = io.BytesIO()
    frame.to_parquet(out, engine="pyarrow", index=False)
    return out.getvalue()


def _rows(run: Run) -> Sequence[list[Cell]]:
    return [[_plain(column.cell(run, result)) for column in COLUMNS] for result in run.results]


def _plain(cell: Cell) -> Cell:
    """A cell that every file can carry: no NaN, and no half of a surrogate pair, which UTF-8 has no place for."""
    if isinstance(cell, float):
        return None if math.isnan(cell) else cell
    return cell.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(cell, str) else cell
