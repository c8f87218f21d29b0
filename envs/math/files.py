"""Problem files: JSON lines, CSV and Parquet, with the column names that are in use."""

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..errors import MissingExtraError
from .problem import ProblemError

SUFFIXES = (".jsonl", ".csv", ".parquet")
STATEMENT_COLUMNS = ("problem", "question", "prompt")
GOLD_COLUMNS = ("answer", "gold", "final_answer", "expected_answer", "ground_truth")
TYPE_COLUMNS = ("subject", "type", "category")
NO_TYPE = "all"
_GSM8K_ANSWER = re.compile(r"####\s*(?P<answer>.+?)\s*$")


class Row(NamedTuple):
    """One row of a problem file.

    Attributes:
        id: The file's own id, or one made from the statement.
        statement: What is asked.
        golds: The gold answers as they stand in the file; empty strings where it has none.
        type: Subject or category, ``all`` where the file has none.
        metadata: The level, where the file has it.
    """

    id: str
    statement: str
    golds: tuple[str, ...]
    type: str
    metadata: Mapping[str, str]


def read_rows(path: Path) -> list[Row]:
    """Reads a problem file. Golds may be empty here: ``holdergym problems check`` is there to find them.

    Raises:
        ProblemError: If the file is missing, empty, malformed or has no column with problems or answers.
        MissingExtraError: If a Parquet file is given and pyarrow is not installed.
    """
    if path.suffix not in SUFFIXES:
        raise ProblemError(f"{path} is no problem file: give one that ends in {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise ProblemError(f"there is no problem file {path}")
    reader = {".jsonl": _read_json_lines, ".csv": _read_csv, ".parquet": _read_parquet}[path.suffix]
    try:
        records = list(reader(path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ProblemError(f"cannot read {path}: {error}") from None
    return make_rows(records, str(path))


def make_rows(records: Sequence[Mapping[str, object]], source: str) -> list[Row]:
    """Makes rows of records with columns by name; ``source`` names them in messages.

    Raises:
        ProblemError: If there are none, or a needed column is missing or not text.
    """
    if not records:
        raise ProblemError(f"{source} has no rows")
    statements = _column(records[0], STATEMENT_COLUMNS, source, "the problem")
    golds = _column(records[0], GOLD_COLUMNS, source, "the answer")
    type_column = next((name for name in TYPE_COLUMNS if isinstance(records[0].get(name), str)), None)
    rows = []
    for number, record in enumerate(records, 1):
        statement = record.get(statements)
        if not isinstance(statement, str) or not statement.strip():
            raise ProblemError(f"{source}, row {number}: column {statements!r} holds no text")
        found = tuple(_gold_text(gold) for gold in _golds(record.get(golds)))
        id_ = record.get("id") if record.get("id") not in (None, "") else record.get("unique_id")
        type_ = record.get(type_column) if type_column else None
        level = record.get("level")
        rows.append(
            Row(
                " ".join(str(id_).split()) if id_ not in (None, "") else _id_of(statement),
                statement,
                found or ("",),
                str(type_) if type_ else NO_TYPE,
                MappingProxyType({"level": str(level)} if level is not None else {}),
            )
        )
    return _with_distinct_ids(rows)


def _read_json_lines(path: Path) -> Iterator[Mapping[str, object]]:
    with path.open(encoding="utf-8-sig") as lines:  # some editors begin a file with a byte order mark
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                raise ProblemError(f"{path}, line {number} is not JSON: {error}") from None
            if not isinstance(record, dict):
                raise ProblemError(f"{path}, line {number} is not a JSON object")
            yield record


def _read_csv(path: Path) -> Iterator[Mapping[str, object]]:
    csv.field_size_limit(2**24)
    with path.open(encoding="utf-8-sig", newline="") as lines:
        yield from csv.DictReader(lines)


def _read_parquet(path: Path) -> Iterator[Mapping[str, object]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError(f"reading {path}", "hub", "pyarrow") from None
    try:
        yield from parquet.read_table(path).to_pylist()
    except ArrowException as error:
        raise ProblemError(f"cannot read {path}: {error}") from None


def _column(record: Mapping[str, object], names: Iterable[str], source: str, what: str) -> str:
    found = next((name for name in names if name in record), None)
    if found is None:
        raise ProblemError(f"{source} has no column for {what}: name it {' or '.join(names)}")
    return found


def _golds(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _gold_text(value: object) -> str:
    """The gold as text; of a GSM8K solution, what follows ``####``."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    text = str(value)
    final = _GSM8K_ANSWER.search(text) if "####" in text else None
    return final["answer"].replace(",", "") if final else text


def _id_of(statement: str) -> str:
    """An id that depends on the statement and not on the place in the file."""
    return hashlib.sha256(statement.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _with_distinct_ids(rows: list[Row]) -> list[Row]:
    """Numbers the rows that share an id, in the order of what they ask and answer."""
    shared = {id_ for id_, count in Counter(row.id for row in rows).items() if count > 1}
    if not shared:
        return rows
    ranks: dict[str, list[Row]] = {id_: sorted(row for row in rows if row.id == id_) for id_ in shared}
    seen: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    numbered = []
    for row in rows:
        if row.id in shared:
            key = (row.id, row.statement, row.golds)
            place = next(n for n, other in enumerate(ranks[row.id]) if (other.id, other.statement, other.golds) == key)
            row = row._replace(id=f"{row.id}-{place + seen[key] + 1}")
            seen[key] += 1
        numbered.append(row)
    return numbered
