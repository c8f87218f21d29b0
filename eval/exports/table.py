"""A table with a row for each episode, as CSV and as Parquet."""

import csv
import importlib.util
import io
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...agents.trajectory import Outcome
from ...agents.usage import Prices
from ...envs.errors import MissingExtraError
from ..results import Result
from ..run import Run

Cell = str | int | float | bool | None


class Row(NamedTuple):
    """What a row is made of: an episode with its run, and what the tokens of its model cost if that is known."""

    run: Run
    result: Result
    prices: Prices | None


class Column(NamedTuple):
    """A column: its name, its type in pandas, and what it takes from an episode."""

    name: str
    dtype: str
    cell: Callable[[Row], Cell]


# Whole numbers that may be missing are pandas' Int64. Seconds are those of the machine that played.
COLUMNS = (
    Column("run", "string", lambda row: row.run.folder.resolve().name),
    Column("agent", "string", lambda row: row.run.manifest.agent),
    Column("agent_fingerprint", "string", lambda row: row.run.manifest.agent_fingerprint),
    Column("env", "string", lambda row: row.run.config.env),
    Column("panel", "string", lambda row: row.run.panel.label),
    Column("panel_sha256", "string", lambda row: row.run.panel.sha256),
    Column("config_sha256", "string", lambda row: row.run.manifest.config_sha256),
    Column("dialect", "string", lambda row: row.run.manifest.dialect),
    Column("task_id", "string", lambda row: row.result.task_id),
    Column("task_type", "string", lambda row: row.result.task_type),
    Column("sample", "Int64", lambda row: row.result.sample),
    Column("outcome", "string", lambda row: row.result.outcome.value),
    Column("finished", "bool", lambda row: row.result.outcome.finished),
    Column("won", "bool", lambda row: row.result.outcome is Outcome.WON),
    Column("steps", "Int64", lambda row: row.result.steps),
    Column("invalid_commands", "Int64", lambda row: row.result.invalid_commands),
    Column("shortest", "Int64", lambda row: row.result.shortest),
    Column("goal_condition_success_rate", "float64", lambda row: row.result.goal_condition_success_rate),
    Column("replies", "Int64", lambda row: row.result.replies),
    Column("unparsable_replies", "Int64", lambda row: row.result.unparsable_replies),
    Column("cut_replies", "Int64", lambda row: row.result.cut_replies),
    Column("prompt_tokens", "Int64", lambda row: row.result.usage.prompt if row.result.usage else None),
    Column("cached_tokens", "Int64", lambda row: row.result.usage.cached if row.result.usage else None),
    Column("generated_tokens", "Int64", lambda row: row.result.usage.generated if row.result.usage else None),
    Column("agent_seconds", "float64", lambda row: round(row.result.agent_seconds, 6)),
    Column("env_seconds", "float64", lambda row: round(row.result.env_seconds, 6)),
    Column("cost", "float64", lambda row: _cost(row.result, row.prices)),
    Column("answer", "string", lambda row: row.result.answer),
    Column("verdict", "string", lambda row: row.result.verdict),
    Column("reason", "string", lambda row: row.result.reason),
)


def episodes_as_csv(run: Run, prices: Prices | None = None) -> bytes:
    """The table as CSV in UTF-8; what is not known is empty.

    Texts are as the run has them, so one that begins with ``=`` is a formula to a spreadsheet: import it as text.

    Args:
        run: The run.
        prices: What a million tokens of its model cost, for the column ``cost``; None leaves it empty.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(column.name for column in COLUMNS)
    writer.writerows(["" if cell is None else cell for cell in row] for row in _rows(run, prices))
    return out.getvalue().encode()


def episodes_as_parquet(run: Run, prices: Prices | None = None) -> bytes:
    """The table as Parquet, with types and with missing values; arguments as for ``episodes_as_csv``.

    Raises:
        MissingExtraError: If pyarrow is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtraError("--format parquet", "hub", "pyarrow")
    import pandas

    cells = zip(*_rows(run, prices), strict=True) if run.results else [() for _ in COLUMNS]
    frame = pandas.DataFrame(
        {column.name: pandas.Series(list(of), dtype=column.dtype) for column, of in zip(COLUMNS, cells, strict=True)}
    )
    out = io.BytesIO()
    frame.to_parquet(out, engine="pyarrow", index=False)
    return out.getvalue()


def _rows(run: Run, prices: Prices | None) -> Sequence[list[Cell]]:
    rows = [Row(run, result, prices) for result in run.results]
    return [[_plain(column.cell(row)) for column in COLUMNS] for row in rows]


def _cost(result: Result, prices: Prices | None) -> float | None:
    """What an episode cost, also one that failed; in whole billionths, as sums of floats end in stray digits."""
    return None if prices is None or result.usage is None else round(prices.cost(result.usage), 9)


def _plain(cell: Cell) -> Cell:
    """A cell that every file can carry: no NaN, and no half of a surrogate pair, which UTF-8 has no place for."""
    if isinstance(cell, float):
        return None if math.isnan(cell) else cell
    return cell.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(cell, str) else cell
