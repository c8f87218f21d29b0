import csv
import re
from collections import Counter

import pytest
from holdergym.envs.errors import UnknownNameError
from holdergym.leaderboards.published import EVIDENCE, TABLES, find_table, read_claims, read_results, results_of
from holdergym.leaderboards.published.build import build_claims, build_results, facts_folder
from holdergym.leaderboards.published.claims import KINDS, claims_as_csv, claims_from_csv
from holdergym.leaderboards.published.facts import READINGS
from holdergym.leaderboards.published.record import as_csv, from_csv

SYSTEMS = {"holderpo", "s2l-po", "cov-grpo", "avspo", "expo", "codistill"}
BASELINES = {"gmpo", "gigpo", "apmpo", "dapo", "entropy"}


@pytest.fixture
def facts(shared):
    folder = shared / "facts" / "tables"
    if not folder.is_dir():
        pytest.skip(f"no facts files in {folder}")
    return folder


def test_the_data_are_what_the_facts_files_give(facts) -> None:
    assert as_csv(build_results(facts)) == as_csv(read_results())
    assert claims_as_csv(build_claims(facts)) == claims_as_csv(read_claims())


def test_every_facts_file_of_a_table_is_read(facts) -> None:
    # Schedules that were computed from formulas are no published results.
    computed = {path.name for path in facts.glob("*_schedule_computed.csv")}
    lists = {path.name for path in facts.glob("*_hyperparameters.csv")} | {
        path.name for path in facts.glob("*_headline_claims.csv")
    }
    read = {reading.file for reading in READINGS}
    assert {path.name for path in facts.glob("*.csv")} == read | computed | lists


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.table)
def test_every_number_of_a_facts_file_is_there_once(facts, reading) -> None:
    """Without the reader's rules: all numbers in the columns that it names, in any order."""
    table = find_table(reading.table)
    with (facts / reading.file).open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file) if reading.keep(line)]
    wanted: Counter[str] = Counter()
    for line in lines:
        for column in table.columns:
            key = f"{column.benchmark}/{column.metric}" if column.metric == "printed delta" else column.benchmark
            text = (line.get(reading.columns.get(key, key)) or "").strip()
            if text and reading.text is None:
                wanted[re.sub(r" \(sd .*\)|\+$|%$", "", text)] += 1
    if reading.text is None:
        assert Counter(result.value for result in results_of(reading.table) if result.found) == wanted
    assert len({result.row for result in results_of(reading.table)}) == len(lines)


def test_each_cell_is_there_once_and_says_where_it_is_from() -> None:
    results = read_results()
    cells = Counter((each.table_id, each.row, each.benchmark, each.metric) for each in results)
    assert [cell for cell, count in cells.items() if count > 1] == []
    for each in results:
        if each.found:
            assert each.source
            assert each.evidence in EVIDENCE
            assert each.number is not None or each.unit == "text"
        else:
            assert each.note, each
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", each.row), each.row
        assert ".." not in each.row


def test_what_was_not_found_says_so() -> None:
    missing = [each for each in read_results() if not each.found and each.table not in ("claims", "settings")]
    assert {each.paper for each in missing} >= {"expo", "codistill", "avspo"}
    assert all(each.note.startswith("NOT FOUND") for each in missing)
    assert sum(each.table_id == "expo/main" for each in missing) == 54


def test_all_systems_and_baselines_have_tables() -> None:
    papers = {table.paper for table in TABLES}
    assert papers == SYSTEMS | BASELINES
    assert {f"holderpo/{number}" for number in range(1, 8)} <= {table.id for table in TABLES}
    assert {each.table_id for each in read_results()} == {table.id for table in TABLES}


def test_known_numbers() -> None:
    def value(table: str, row: str, benchmark: str) -> str:
        return next(each.value for each in results_of(table) if each.row == row and each.benchmark == benchmark)

    assert value("holderpo/2", "qwen2.5-math-7b_holderpo-dynamic_linear-2-to-minus-2", "Avg") == "54.9"
    assert value("holderpo/3", "qwen2.5-1.5b-instruct_holderpo_linear-1-to-minus-1", "All") == "93.8"
    assert value("s2l-po/1", "qwen3-8b-base_s2l-po_1.7b", "AIME24") == "23.8"
    assert value("avspo/icml", "qwen2.5-math-7b_avspo", "MATH500") == "74.1"
    sd = next(each for each in results_of("gigpo/alfworld") if each.row.endswith("_grpo") and each.benchmark == "All")
    assert (sd.value, sd.sd) == ("72.8", "3.6")
    late = next(each for each in results_of("avspo/www-4") if each.value == "450")
    assert late.qualifier == ">="


def test_claims_point_at_cells_that_are_there() -> None:
    cells = {(each.table_id, each.row, each.benchmark, each.metric) for each in read_results()}
    for claim in read_claims():
        assert claim.kind in ("", *KINDS)
        if claim.kind and claim.kind != "order":
            for row in filter(None, (claim.of, claim.over)):
                assert (claim.table, row, claim.benchmark, claim.metric) in cells, claim


def test_files_are_read_back_and_others_refused() -> None:
    assert from_csv(as_csv(read_results())) == list(read_results())
    assert claims_from_csv(claims_as_csv(read_claims())) == list(read_claims())
    with pytest.raises(ValueError, match="columns"):
        from_csv(b"paper,table\na,b\n")
    with pytest.raises(ValueError, match="columns"):
        claims_from_csv(b"")


def test_an_unknown_table_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'holderpo/2'"):
        find_table("holderpo/22")


def test_the_builder_looks_beside_the_repository(shared, monkeypatch) -> None:
    monkeypatch.setenv("HOLDERGYM_SHARED", str(shared))
    assert facts_folder() == shared / "facts" / "tables"
    monkeypatch.setenv("HOLDERGYM_SHARED", "/nowhere")
    assert facts_folder() is None
