"""From run folders to boards: which runs may stand in one table, and what each row says of its run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..agents.language_model_settings import LanguageModelSettings
from ..agents.usage import Prices
from ..envs.errors import UnknownNameError
from ..eval.failures import failure_lines
from ..eval.metrics import WILSON, Metrics
from ..eval.prices import model_of, prices_of
from ..eval.run import Run
from ..eval.spending import Spending, spending
from ..eval.summary import break_down
from .endings import ending_notes

# The columns of the published ALFWorld tables, in their order and by their names.
_COLUMNS = {
    "pick_and_place_simple": "Pick",
    "look_at_obj_in_light": "Look",
    "pick_clean_then_place_in_recep": "Clean",
    "pick_heat_then_place_in_recep": "Heat",
    "pick_cool_then_place_in_recep": "Cool",
    "pick_two_obj_and_place": "Pick2",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One run in a table.

    Attributes:
        agent: Short name of the agent.
        agent_fingerprint: The name with every setting that can change an action.
        run: Name of the run folder.
        config_sha256: Hash of the run's settings.
        overall: Metrics over all tasks.
        by_type: Metrics by task type.
        notes: What a reader must know of this row before comparing it, one phrase each.
        spending: Tokens, seconds and costs.
        failures: Why episodes ended as error or timeout, the most frequent reasons first.
    """

    agent: str
    agent_fingerprint: str
    run: str
    config_sha256: str
    overall: Metrics
    by_type: Mapping[str, Metrics]
    notes: tuple[str, ...]
    spending: Spending
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """Runs over the very same tasks, best first.

    Attributes:
        env: Environment.
        panel: Label of the panel; a part of one says so, as in ``valid_unseen[6 of 134]``.
        panel_sha256: Its hash.
        size: Number of tasks.
        dialect: Wording of the games.
        types: The task types, in the order of the columns.
        rows: One a run.
    """

    env: str
    panel: str
    panel_sha256: str
    size: int
    dialect: str
    types: tuple[str, ...]
    rows: tuple[Row, ...]


def build_boards(runs: Sequence[Run], prices: Mapping[str, Prices] | None = None) -> list[Board]:
    """Puts runs into tables, one a panel: rates over different tasks are never in one table.

    Panels are told apart by their hash, so two panels of one name but other games are two boards. Rows are
    sorted by success rate, those without one last; boards by panel label.

    Args:
        runs: Each once.
        prices: What a million tokens cost, by model; it goes before what the settings of a run's agent say.

    Raises:
        UnknownNameError: If there is a price of a model that played none of the runs.
    """
    prices = prices or {}
    models = {model for run in runs if (model := model_of(run)) is not None}
    for name in prices:
        if name not in models:
            raise UnknownNameError("model among the prices:", name, models)
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.config.env, run.panel.sha256), []).append(run)
    boards = [_board(group, prices) for group in groups.values()]
    return sorted(boards, key=lambda board: (board.env, board.panel, board.panel_sha256))


def type_label(task_type: str) -> str:
    """The column name of a task type."""
    return _COLUMNS.get(task_type, task_type)


def sorted_types(types: Iterable[str]) -> tuple[str, ...]:
    """Task types in the order of the published tables; others follow by name."""
    order = list(_COLUMNS)
    return tuple(
        sorted(types, key=lambda task_type: (order.index(task_type) if task_type in order else len(order), task_type))
    )


def _board(runs: Sequence[Run], prices: Mapping[str, Prices]) -> Board:
    first = runs[0]
    varying = _varying_settings(runs)
    rows = [_row(run, varying, prices) for run in runs]
    rows.sort(key=_rank)
    return Board(
        env=first.config.env,
        panel=first.panel.label,
        panel_sha256=first.panel.sha256,
        size=len(first.panel.tasks),
        dialect=first.manifest.dialect,
        types=sorted_types({task.type for task in first.panel.tasks}),
        rows=tuple(rows),
    )


def _row(run: Run, varying: Sequence[str], prices: Mapping[str, Prices]) -> Row:
    overall, by_type = break_down(run)
    settings = _settings(run)
    notes = [f"{name} {settings[name]}" for name in varying if name in settings]
    if run.config.samples > 1:
        notes.append(f"{run.config.samples} samples a task")
    if overall.method != WILSON:
        notes.append("intervals by a bootstrap of whole tasks")
    if overall.missing:
        notes.append(f"incomplete: {overall.expected - overall.missing} of {overall.expected} episodes played")
    if overall.failed:
        notes.append(f"{overall.failed} failed (error or timeout) and left out of the rates")
    notes += ending_notes(run.results)
    return Row(
        agent=run.manifest.agent,
        agent_fingerprint=run.manifest.agent_fingerprint,
        run=run.folder.resolve().name,
        config_sha256=run.manifest.config_sha256,
        overall=overall,
        by_type=by_type,
        notes=tuple(notes),
        spending=spending(run.results, prices_of(run, prices)),
        failures=tuple(failure_lines(run.results)),
    )


def _rank(row: Row) -> tuple[float, str, str]:
    rate = row.overall.success_rate
    return (1.0 if rate.cause else -rate.value, row.agent, row.run)


def _varying_settings(runs: Sequence[Run]) -> list[str]:
    """Names of the conditions that are not the same in all rows, so that each row must state its own."""
    values: dict[str, set[str]] = {}
    for run in runs:
        for name, value in _settings(run).items():
            values.setdefault(name, set()).add(value)
    return [name for name, found in values.items() if len(found) > 1]


def _settings(run: Run) -> dict[str, str]:
    """The conditions of a run, and the versions of what could change its numbers."""
    config = run.config
    settings = {"max_steps": str(config.max_steps), "engine": str(config.engine)}
    packages = ["holdergym"]
    packages += ["alfworld", "textworld"] if config.engine == "textworld" else []
    packages += ["math-verify"] if config.env != "alfworld" else []
    packages += ["torch", "transformers", "vllm"] if isinstance(config.agent, LanguageModelSettings) else []
    for package in packages:
        versions = sorted({session.versions.get(package, "") for session in run.manifest.sessions} - {""})
        if versions:
            settings[package] = " and ".join(versions)
    return settings
