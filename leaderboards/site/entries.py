"""A ranking as its pages show it: runs with their rows, ranks, and what they can be filtered by."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...agents.language_model_settings import LanguageModelSettings
from ...agents.usage import Prices
from ...envs.errors import UnknownNameError
from ...eval.prices import model_of
from ...eval.run import Run
from ..rows import Board, Row, build_boards
from .gathering import NamedRun, NamedTraining
from .pools import Pool, pools_of
from .standings import Standings, rank_runs

SCRIPTED = "scripted"
NOT_TRAINED_HERE = "as given"


@dataclass(frozen=True)
class Entry:
    """A run in a ranking.

    Attributes:
        slug: What the names of its files begin with.
        run: The run.
        row: Its numbers.
        model: The model that played, or the name of a scripted agent.
        method: How the model was trained, as far as the training run is part of the site; or that it is scripted.
        rank: From 1; None without a finished episode.
        letters: Runs that share one cannot be told apart; empty where that is not known.
    """

    slug: str
    run: Run
    row: Row
    model: str
    method: str
    rank: int | None
    letters: str

    @property
    def title(self) -> str:
        """The agent's name; a checkpoint of a training run that is shown here goes by that run and its round."""
        if self.method in (SCRIPTED, NOT_TRAINED_HERE):
            return self.row.agent
        _, bracket, told = self.row.agent.partition(" (")
        return self.model + bracket + told


@dataclass(frozen=True)
class Ranking:
    """Runs over the same tasks in the same way, best first.

    Attributes:
        slug: What the names of its files begin with.
        board: Its numbers as tables show them; row by row those of ``entries``.
        entries: The runs.
        standings: How their ranks came about.
    """

    slug: str
    board: Board
    entries: tuple[Entry, ...]
    standings: Standings

    @property
    def title(self) -> str:
        """The panel, with its environment."""
        return f"{self.board.env}: {self.board.panel}"

    @property
    def shared_notes(self) -> tuple[str, ...]:
        """What is to be known of all runs alike; nothing where there is but one."""
        first, *others = [entry.row.notes for entry in self.entries]
        return tuple(note for note in first if others and all(note in notes for notes in others))

    @property
    def conditions(self) -> tuple[tuple[str, str], ...]:
        """What all runs have in common, pairs of a name and a text."""
        board, config = self.board, self.entries[0].run.config
        rows = [
            ("Environment", board.env),
            ("Panel", board.panel),
            ("Tasks", str(board.size)),
            ("Panel sha256", board.panel_sha256),
            ("Dialect", board.dialect),
            ("Engine", config.engine or ""),
            ("Step limit", "" if config.max_steps is None else str(config.max_steps)),
        ]
        if config.grading is not None:
            rules = "" if config.grading.rules is None else f", rules {config.grading.rules}"
            rows.append(("Grading", f"{config.grading.policy}, cut replies {config.grading.cut}{rules}"))
        return tuple((name, text) for name, text in rows if text)


def make_rankings(
    runs: Sequence[NamedRun], trainings: Sequence[NamedTraining], prices: Mapping[str, Prices] | None = None
) -> list[Ranking]:
    """Ranks all runs, each among those that it may be compared with.

    Args:
        runs: Each once.
        trainings: Training runs whose checkpoints may have played.
        prices: What a million tokens cost, by model.

    Raises:
        UnknownNameError: If there is a price of a model that played none of the runs.
    """
    models = {model for _, run in runs if (model := model_of(run)) is not None}
    for name in prices or {}:
        if name not in models:
            raise UnknownNameError("model among the prices:", name, models)
    return [_ranking(pool, trainings, prices or {}) for pool in pools_of(runs)]


def _ranking(pool: Pool, trainings: Sequence[NamedTraining], prices: Mapping[str, Prices]) -> Ranking:
    runs = [run for _, run in pool.runs]
    played = {model_of(run) for run in runs}
    # The runs are sorted as boards sort their rows, so that row after row belongs to run after run.
    (board,) = build_boards(runs, {model: price for model, price in prices.items() if model in played})
    standings = rank_runs(runs)
    entries = []
    for number, (named, row) in enumerate(zip(pool.runs, board.rows, strict=True)):
        model, method = _origin(named.run, trainings)
        letters = "" if standings.letters is None else standings.letters[number]
        entries.append(Entry(named.slug, named.run, row, model, method, standings.ranks[number], letters))
    # Of the first run, whose name no other ranking's first run has.
    return Ranking(pool.runs[0].slug, board, tuple(entries), standings)


def _origin(run: Run, trainings: Sequence[NamedTraining]) -> tuple[str, str]:
    """The model and the method of a run. Paths are compared as they are written; nothing is opened."""
    agent = run.config.agent
    if not isinstance(agent, LanguageModelSettings):
        return run.manifest.agent, SCRIPTED
    for _, training in trainings:
        inside = _inside(agent.model, str(training.folder))
        if inside is not None:
            return f"{training.folder.resolve().name}/{inside}", training.method
    return run.manifest.agent.partition(" (")[0], NOT_TRAINED_HERE


def _inside(model: str, folder: str) -> str | None:
    """The part of a path below a training run's folder, or None for another place."""
    there = os.path.abspath(folder)
    path = os.path.abspath(model) if "\0" not in model else ""
    if not path.startswith(there + os.sep):
        return None
    parts = path[len(there) + 1 :].split(os.sep)
    named = [part for part in parts if part not in ("checkpoints", "model")]
    return "/".join(named) or "model"
