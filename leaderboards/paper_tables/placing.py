"""Which run belongs to which row of which published table.

Nothing is guessed from a model's or an agent's name. A run belongs to a row because somebody said so, in one of two
ways: it lies at ``RUNS/PAPER/TABLE/ROW/ANYTHING``, where the commands that ``holdergym table list`` prints put it, or a
file of rows names it::

    [[row]]
    table = "holderpo/2"
    row = "qwen2.5-math-7b_grpo_1"
    runs = ["runs/a", "runs/b"]     # relative to the file

Which cell of the row a run fills follows from its panel.
"""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...envs.errors import ConfigError, HolderGymError, UnknownNameError
from ...envs.files import read_file
from ...eval.run import MANIFEST, Run, folder_of
from ..published.catalogue import TABLES, find_table
from ..published.data import results_of
from ..reading import read_any_run


@dataclass(frozen=True)
class Placed:
    """A run that was said to belong to a row.

    Attributes:
        table: The table's id.
        row: The row's name.
        run: The run.
        name: How the run is named in a table: its folder below the runs, or as the file of rows has it.
    """

    table: str
    row: str
    run: Run
    name: str


def placed_below(runs: Path) -> list[Placed]:
    """The runs of a folder that lie at ``PAPER/TABLE/ROW/ANYTHING``; folders of other names are left alone.

    Raises:
        HolderGymError: If there is no such folder, a table or row in it is not known, or a run is damaged.
    """
    if not runs.is_dir():
        raise HolderGymError(f"--runs {runs}: no such folder")
    found = []
    papers = {table.paper for table in TABLES}
    for paper in _folders(runs):
        if paper.name not in papers:
            continue
        for table in _folders(paper):
            table_id = find_table(f"{paper.name}/{table.name}").id
            for row in _folders(table):
                for folder in _folders(row):
                    if (folder / MANIFEST).is_file():
                        _check_row(table_id, row.name, str(row))
                        found.append(
                            Placed(table_id, row.name, read_any_run(folder), folder.relative_to(runs).as_posix())
                        )
    return found


def placed_by(file: Path) -> list[Placed]:
    """The runs that a file of rows names.

    Raises:
        HolderGymError: If it cannot be read, is no such file, or names a table, row or run that is not there.
    """
    try:
        record = tomllib.loads(read_file(file).decode())
    except OSError as error:
        raise HolderGymError(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not TOML: {error}") from None
    unknown = [key for key in record if key != "row"]
    rows = record.get("row", [])
    if unknown or not isinstance(rows, list) or not rows:
        raise ConfigError(f"{file}: it must hold [[row]] with table, row and runs, and nothing else")
    found = []
    for number, entry in enumerate(rows, 1):
        table_id, row, names = _entry(file, number, entry)
        _check_row(find_table(table_id).id, row, f"{file}, row {number}")
        found += [Placed(table_id, row, read_any_run(folder_of(file.parent / name)), name) for name in names]
    return found


def _entry(file: Path, number: int, entry: object) -> tuple[str, str, list[str]]:
    where = f"{file}, row {number}"
    if not isinstance(entry, dict) or set(entry) != {"table", "row", "runs"}:
        raise ConfigError(f"{where}: give table, row and runs, and nothing else")
    table_id, row, names = entry["table"], entry["row"], entry["runs"]
    if not isinstance(table_id, str) or not isinstance(row, str):
        raise ConfigError(f"{where}: table and row must be texts")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise ConfigError(f"{where}: runs must be a list of folders")
    return table_id, row, names


def _check_row(table_id: str, row: str, where: str) -> None:
    known = list(dict.fromkeys(result.row for result in results_of(table_id)))
    if row not in known:
        raise UnknownNameError(f"row of {table_id} in {where}:", row, known)


def _folders(folder: Path) -> Iterator[Path]:
    """Folders by name, so that the order is the same everywhere."""
    return iter(sorted((entry for entry in folder.iterdir() if entry.is_dir()), key=lambda entry: entry.name))


def of_table(placed: Iterable[Placed], table_id: str) -> list[Placed]:
    """The runs of one table."""
    return [each for each in placed if each.table == table_id]
