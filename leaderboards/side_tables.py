"""Tables that stand below a board: pass@k and its kin, and what the runs have used."""

from typing import NamedTuple

from ..eval.repeated import Estimate
from .numbers import UNDEFINED, decimal, interval, percent, plain
from .rows import Board, Row

_NAMES = ("pass@k", "pass^k", "avg@k", "maj@k")


class SideTable(NamedTuple):
    """A table of texts, not yet escaped.

    Attributes:
        title: What it shows.
        left: How many of its first columns hold names.
        headers: Names of its columns.
        rows: Its cells.
        notes: Why cells are undefined, a line each.
    """

    title: str
    left: int
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def side_tables(board: Board) -> list[SideTable]:
    """The tables that have something to show."""
    return [table for table in (_at_k(board), _spending(board)) if table.rows]


def _at_k(board: Board) -> SideTable:
    shown = [name for name in _NAMES if any(_has(row, name) for row in board.rows)]
    rows = [
        (plain(row.agent), plain(row.run), str(at.k), *(_estimate(at.estimates.get(_of(name, at.k))) for name in shown))
        for row in board.rows
        for at in row.overall.at_k
    ]
    notes = tuple(note for row in board.rows for note in _why_undefined(row))
    return SideTable("k samples of each task, % (95%)", 2, ("agent", "run", "k", *shown), tuple(rows), notes)


def _why_undefined(row: Row) -> list[str]:
    """From which k on nothing is defined, as some task has too few finished samples for it."""
    for at in row.overall.at_k:
        value = at.estimates[_of("pass@k", at.k)].value
        if not value.defined:
            return [f"{plain(row.agent)} ({plain(row.run)}): undefined from k = {at.k} on, as {value.cause}"]
    return []


def _has(row: Row, name: str) -> bool:
    return any(_of(name, at.k) in at.estimates for at in row.overall.at_k)


def _of(name: str, k: int) -> str:
    return name.replace("k", str(k))


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None or not estimate.value.defined:
        return UNDEFINED
    return f"{percent(estimate.value)} {interval(estimate.interval)}"


def _spending(board: Board) -> SideTable:
    """Only where some agent is a language model; then seconds of the others stand beside it."""
    talking = any(not row.overall.unparsable_reply_rate.cause for row in board.rows)
    priced = any(row.spending.cost.defined for row in board.rows)
    headers: tuple[str, ...] = (
        "agent", "run", "unparsable %", "cut %", "prompt tokens", "cached %", "generated tokens", "generated / success",
        "agent s", "env s",
    )  # fmt: skip
    rows = [
        (
            plain(row.agent),
            plain(row.run),
            percent(row.overall.unparsable_reply_rate),
            percent(row.overall.cut_reply_rate),
            decimal(row.spending.prompt_tokens, 0),
            percent(row.spending.cached_share),
            decimal(row.spending.generated_tokens, 0),
            decimal(row.spending.generated_tokens_per_success, 0),
            decimal(row.spending.agent_seconds, 2),
            decimal(row.spending.env_seconds, 2),
            *((decimal(row.spending.cost, 4), decimal(row.spending.cost_per_success, 4)) if priced else ()),
        )
        for row in board.rows
    ]
    headers = (*headers, "cost", "cost / success") if priced else headers
    return SideTable("replies, and tokens and seconds an episode", 2, headers, tuple(rows) if talking else ())
