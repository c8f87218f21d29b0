"""Makes ``results.csv`` and ``claims.csv`` of the facts files.

Run ``python -m holdergym.leaderboards.published.build`` where HOLDERGYM_SHARED names the folder that holds ``facts``,
or where it stands beside the repository. The same facts give the same bytes.
"""

import csv
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...envs.errors import HolderGymError
from . import statements
from .benchmarks import AVERAGE
from .catalogue import CLAIMS, SETTINGS, STATEMENTS, find_table
from .claims import Claim, claims_as_csv
from .facts import NOT_READABLE, READINGS, Line, Reading, Row
from .layout import DELTA, Column, Table
from .record import COPY, FIGURE, PRIMARY, SECOND_HAND, Published, as_csv

HERE = Path(__file__).parent
_PREFIXES = {
    "primary text through a third-party capture of": COPY,
    "read off a figure, so approximate:": FIGURE,
    "primary:": PRIMARY,
    "second hand:": SECOND_HAND,
    "second-hand:": SECOND_HAND,
    "upstream:": SECOND_HAND,
}
_SETTINGS_FILES = {
    "holderpo": "holderpo_hyperparameters.csv",
    "s2l-po": "s2lpo_hyperparameters.csv",
    "cov-grpo": "covgrpo_hyperparameters.csv",
    "avspo": "avspo_hyperparameters.csv",
    "expo": "expo_hyperparameters.csv",
    "codistill": "codistill_hyperparameters.csv",
}
_SD = re.compile(r"(?P<value>[\d.]+) \(sd (?P<sd>[\d.]+)\)")
_QUALIFIED = re.compile(r"(?P<value>[\d.]+)\+")


def facts_folder() -> Path | None:
    """The folder of the facts files, or None where there is none."""
    named = os.environ.get("HOLDERGYM_SHARED")
    places = [Path(named)] if named else [HERE.parents[2] / "shared", HERE.parents[3] / "shared"]
    return next((place / "facts" / "tables" for place in places if (place / "facts" / "tables").is_dir()), None)


def build_results(folder: Path) -> list[Published]:
    """All published numbers, in the order of the catalogue's tables and of the papers' rows."""
    found: list[Published] = []
    for reading in READINGS:
        found += _table(find_table(reading.table), reading, folder)
    for paper, file in _SETTINGS_FILES.items():
        found += _settings(find_table(f"{paper}/{SETTINGS}"), _lines(folder / file))
    for paper, claims in statements.claims_of(folder, _lines).items():
        found += _claims(find_table(f"{paper}/{CLAIMS}"), claims)
    for paper, stated in statements.STATED.items():
        found += [_statement(find_table(f"{paper}/{STATEMENTS}"), each) for each in stated]
    return found


def build_claims(folder: Path) -> list[Claim]:
    """What the claims refer to, so that they can be checked."""
    return [claim for claims in statements.claims_of(folder, _lines).values() for claim in claims]


def main() -> None:
    """Writes both files beside this one.

    Raises:
        HolderGymError: If the facts files are not there.
    """
    folder = facts_folder()
    if folder is None:
        raise HolderGymError("no facts files: set HOLDERGYM_SHARED to the folder that holds facts/tables")
    results = build_results(folder)
    (HERE / "results.csv").write_bytes(as_csv(results))
    (HERE / "claims.csv").write_bytes(claims_as_csv(build_claims(folder)))
    print(f"{len(results)} published numbers in {len({result.table_id for result in results})} tables")


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {key: (value or "").strip() for key, value in line.items() if key is not None}
            for line in csv.DictReader(file)
        ]


def _table(table: Table, reading: Reading, folder: Path) -> list[Published]:
    found: list[Published] = []
    taken: set[str] = set()
    for line in _lines(folder / reading.file):
        if not reading.keep(line):
            continue
        row = reading.row(line)
        name = _row_name([row.model, row.label, row.setting, row.metric], taken)
        found += [
            record for column in table.columns if (record := _cell(table, reading, column, line, row, name)) is not None
        ]
    return found


def _cell(table: Table, reading: Reading, column: Column, line: Line, row: Row, name: str) -> Published | None:
    key = f"{column.benchmark}/{column.metric}" if column.metric == DELTA else column.benchmark
    text = reading.text(line) if reading.text else line.get(reading.columns.get(key, key), "")
    value, qualifier, sd = _value(text)
    note = row.note
    if not value:
        note = "" if column.metric == DELTA else reading.missing(line, column.benchmark)
        if not note:
            return None
    metric = column.metric or row.metric
    evidence, source = _source(line["source"], row.label) if value else ("", "")
    unit = "text" if "=" in value else column.unit
    return Published(
        paper=table.paper,
        table=table.name,
        row=name,
        model=row.model,
        label=row.label,
        method=row.method,
        setting=row.setting,
        config=row.config,
        benchmark=column.benchmark,
        metric=metric,
        value=value,
        qualifier=qualifier,
        sd=sd,
        unit=unit,
        n=str(column.n or ""),
        samples=str(column.samples or "") if column.benchmark != AVERAGE else "",
        source=source,
        evidence=evidence,
        note=note,
    )


def _value(text: str) -> tuple[str, str, str]:
    """Value, qualifier and standard deviation."""
    if found := _SD.fullmatch(text):
        return found["value"], "", found["sd"]
    if found := _QUALIFIED.fullmatch(text):
        return found["value"], ">=", ""
    return text.removesuffix("%") if re.fullmatch(r"[\d.]+%", text) else text, "", ""


def _source(text: str, label: str) -> tuple[str, str]:
    """Evidence and source, of a text that begins with the evidence.

    Raises:
        ValueError: If it does not.
    """
    text = text.removesuffix(" empty cells: NOT FOUND").strip(" ,;")
    for prefix, evidence in _PREFIXES.items():
        if text.startswith(prefix):
            # Where a part of a source has its evidence again, the source keeps the first.
            rest = text.removeprefix(prefix).replace("primary: ", "").strip()
            return evidence, rest.replace("(find_string ids)", "").replace("  ", " ").strip()
    raise ValueError(f"the source of {label!r} does not begin with its evidence: {text!r}")


def _row_name(parts: Iterable[str], taken: set[str]) -> str:
    """A name of small letters, digits, dots and dashes, unique in its table."""
    words: list[str] = []
    for part in parts:
        plain = unicodedata.normalize("NFKD", part.replace("->", " to ").replace("ö", "o")).encode("ascii", "ignore")
        slug = re.sub(r"[^a-z0-9.]+", "-", re.sub(r"(^|\s)-(?=\d)", r"\1minus-", plain.decode().lower())).strip("-.")
        if slug and slug not in words:
            words.append(slug)
    base = "_".join(words) or "row"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name


def _settings(table: Table, lines: Sequence[Line]) -> list[Published]:
    found: list[Published] = []
    taken: set[str] = set()
    for line in lines:
        task, item = line.get("task", ""), line.get("parameter", line.get("item", ""))
        text, note = line["value"], line.get("note", "")
        missing = not text or "NOT FOUND" in text
        remark = note.removeprefix("NOT FOUND").strip(" ;,")
        if "NOT FOUND" in text and (extra := text.removeprefix("NOT FOUND").strip(" ;,()")):
            remark = extra
        if missing:
            note = f"{NOT_READABLE}; {remark.strip('()')}" if remark else NOT_READABLE
        evidence, source = ("", "") if missing else _source(line["source"], item)
        found.append(
            Published(
                paper=table.paper,
                table=table.name,
                row=_row_name([task, item], taken),
                model="",
                label=item,
                method="",
                setting=task,
                config=f"{task} {item}".strip(),
                benchmark="value",
                metric="setting",
                value="" if missing else text,
                qualifier="",
                sd="",
                unit="text",
                n="",
                samples="",
                source=source,
                evidence=evidence,
                note=note,
            )
        )
    return found


def _claims(table: Table, claims: Sequence[Claim]) -> list[Published]:
    return [
        Published(
            paper=table.paper,
            table=table.name,
            row=claim.row,
            model="",
            label=claim.text,
            method="",
            setting="",
            config=claim.text,
            benchmark="value",
            metric="claim",
            value=claim.value,
            qualifier=claim.qualifier,
            sd="",
            unit=claim.unit,
            n="",
            samples="",
            source=claim.source,
            evidence=claim.evidence,
            note=claim.note,
        )
        for claim in claims
    ]


def _statement(table: Table, stated: statements.Stated) -> Published:
    return Published(
        paper=table.paper,
        table=table.name,
        row=stated.row,
        model="",
        label=f"{stated.quantity if stated.metric == 'statement' else stated.metric}: {stated.place}",
        method="",
        setting=stated.place,
        config=stated.quantity,
        benchmark="value",
        metric=stated.metric,
        value=stated.value,
        qualifier="",
        sd="",
        unit=stated.unit,
        n="",
        samples="",
        source=stated.source,
        evidence=stated.evidence,
        note="",
    )


if __name__ == "__main__":
    main()
