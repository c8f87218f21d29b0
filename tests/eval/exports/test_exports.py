"""Exports of runs that were really played, held against schemas and against what reads such files."""

import csv
import dataclasses
import io
import json
import math
import re
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from holdergym.agents.agent import episode_seed
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.registry import ExpertSettings, OracleSettings, RandomSettings
from holdergym.agents.trajectory import Outcome, Turn
from holdergym.agents.usage import Prices, Usage
from holdergym.envs.errors import HolderGymError
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate
from holdergym.eval.exports.hf_results import Target, hf_results
from holdergym.eval.exports.lm_eval import lm_eval_results
from holdergym.eval.exports.standard_error import clustered_standard_error
from holdergym.eval.exports.table import COLUMNS, episodes_as_csv, episodes_as_parquet
from holdergym.eval.prices import prices_of
from holdergym.eval.provenance import Session
from holdergym.eval.results import Result
from holdergym.eval.run import Run, read_run
from holdergym.eval.run_folder import Plan, RunFolder
from holdergym.eval.spending import spending

from holdergym.cli.export import command as export

from ..conftest import MakeEpisode

TARGET = Target("someone/alfworld")


def validate(record: object, schema: str) -> None:
    rules = json.loads((Path(__file__).parent / f"{schema}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(rules)
    jsonschema.Draft202012Validator(rules).validate(record)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Whole, several samples a task, and a part of a panel."""
    folder = tmp_path_factory.mktemp("runs")
    configs = {
        "whole": EvalConfig(panel="builtin_valid", agent=ExpertSettings(), max_steps=7),
        "samples": EvalConfig(panel="builtin_valid", limit=12, samples=3, agent=RandomSettings(), max_steps=40),
        "part": EvalConfig(panel="builtin_valid", limit=6, agent=RandomSettings(), max_steps=5),
    }
    for name, config in configs.items():
        evaluate(dataclasses.replace(config, out=folder / name))
    return {name: read_run(folder / name) for name in configs}


@pytest.fixture
def broken(folder: Path, plan: Plan, session: Session, make_episode: MakeEpisode) -> Run:
    """Two of six episodes, one of which failed before it began; its reason is not easy to write."""
    turn = Turn("You see.", 'look, "then"\ngo', True, 1.0)
    with RunFolder(folder, plan, session) as opened:
        opened.append(make_episode(0, Outcome.WON, turns=(turn,), answer="=1+1 \ud83d, ü", verdict="equal"))
        opened.append(
            make_episode(1, Outcome.ERROR, steps=0, goal_condition_success_rate=math.nan, reason='gone, "quite"\nso')
        )
    return read_run(folder)


def rows_of_csv(run: Run, prices: Prices | None = None) -> list[dict[str, object]]:
    kinds = {"Int64": int, "float64": float, "bool": {"True": True, "False": False}.__getitem__, "string": str}
    convert = {column.name: kinds[column.dtype] for column in COLUMNS}
    rows = csv.DictReader(io.StringIO(episodes_as_csv(run, prices).decode(), newline=""))
    return [{name: convert[name](text) if text else None for name, text in row.items()} for row in rows]


def rows_of_parquet(run: Run, prices: Prices | None = None) -> list[dict[str, object]]:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra `hub`")
    return [
        {name: None if cell == "" else cell for name, cell in row.items()}
        for row in parquet.read_table(io.BytesIO(episodes_as_parquet(run, prices))).to_pylist()
    ]


@pytest.mark.parametrize("name", ["whole", "samples", "part"])
def test_the_table_has_a_row_an_episode(name: str, runs: dict[str, Run]) -> None:
    run = runs[name]
    rows = rows_of_csv(run)
    assert len(rows) == run.expected
    for row, result in zip(rows, run.results, strict=True):
        validate(row, "episode_row")
        assert (row["task_id"], row["sample"], row["steps"]) == (result.task_id, result.sample, result.steps)
        assert row["won"] == (result.outcome is Outcome.WON)
    assert rows_of_parquet(run) == rows


def test_the_table_carries_what_is_missing_and_what_is_awkward(broken: Run) -> None:
    first, second = rows_of_csv(broken)
    validate(first, "episode_row")
    validate(second, "episode_row")
    assert first["answer"] == "=1+1 \ufffd, ü"
    assert second["goal_condition_success_rate"] is None
    assert second["reason"] == 'gone, "quite"\nso'
    assert (second["finished"], second["won"], second["generated_tokens"]) == (False, False, None)
    assert rows_of_parquet(broken) == [first, second]


def test_costs_are_those_of_each_episode_and_add_up_to_the_run_s(
    folder: Path, plan: Plan, session: Session, make_episode: MakeEpisode
) -> None:
    """By the prices that are given, which go before those of the run's settings; a failed episode costs too."""
    settings = LanguageModelSettings(model="small", prices=Prices(prompt=100.0))
    plan = dataclasses.replace(plan, config=dataclasses.replace(plan.config, agent=settings))
    turn = Turn("o", "look", True, 0.0, reply="look", finish="stop", usage=Usage(1000, 400, 50))
    with RunFolder(folder, plan, session) as opened:
        opened.append(make_episode(0, Outcome.LIMIT, turns=(turn, turn)))
        opened.append(make_episode(1, Outcome.ERROR, turns=(turn,), reason="gone"))
        opened.append(make_episode(2, Outcome.ERROR, turns=(), reason="gone"))
    run = read_run(folder)
    assert [row["cost"] for row in rows_of_csv(run, prices_of(run))] == [0.2, 0.1, None]
    table = {"small": Prices(prompt=1.0, cached=0.1, generated=10.0), "large": Prices()}
    rows = rows_of_csv(run, prices_of(run, table))
    assert [row["cost"] for row in rows] == [2 * 0.00114, 0.00114, None]
    assert spending(run.results, prices_of(run, table)).cost.value == pytest.approx(3 * 0.00114)
    assert [row["cost"] for row in rows_of_csv(run)] == [None] * 3
    for row in rows:
        validate(row, "episode_row")
    assert rows_of_parquet(run, prices_of(run, table)) == rows
    prices, out = folder.parent / "prices.toml", folder.parent / "out.csv"
    options = [str(folder), "--format", "csv", "--prices", str(prices), "--out", str(out)]
    prices.write_text("[small]\nprompt = 1\ncached = 0.1\ngenerated = 10\n[large]\n")
    assert CliRunner().invoke(export, options).exit_code == 0
    assert out.read_bytes() == episodes_as_csv(run, prices_of(run, table))
    prices.write_text("[smal]\nprompt = 1\n")
    message = str(CliRunner().invoke(export, options).exception)
    assert re.search("prices.toml has no prices of 'small', which played .*; did you mean 'smal'", message)


def test_an_empty_run_is_an_empty_table(folder: Path, plan: Plan, session: Session) -> None:
    with RunFolder(folder, plan, session):
        pass
    run = read_run(folder)
    assert rows_of_csv(run) == rows_of_parquet(run) == []
    assert episodes_as_csv(run).decode().strip().split(",") == [column.name for column in COLUMNS]


@pytest.mark.parametrize("name", ["whole", "samples", "part"])
def test_the_harness_s_file_has_its_form_and_our_numbers(name: str, runs: dict[str, Run]) -> None:
    run = runs[name]
    record = json.loads(lm_eval_results(run))
    validate(record, "lm_eval_results")
    summary = json.loads((run.folder / "summary.json").read_text())
    group = "alfworld_builtin_valid"
    assert record["results"][group] == record["groups"][group]
    assert record["results"][group]["success_rate,none"] == summary["overall"]["success_rate"]
    parts = record["group_subtasks"][group]
    assert set(record["results"]) == {group, *parts}
    assert {record["results"][part]["alias"] for part in parts} == set(summary["by_type"])
    for part in parts:
        of_type = summary["by_type"][record["results"][part]["alias"]]
        assert record["results"][part]["success_rate,none"] == of_type["success_rate"]
        metadata = record["configs"][part]["metadata"]
        assert (metadata["won"], metadata["finished"]) == (of_type["won"], of_type["finished"])
        assert metadata["interval"]["low"] == of_type["interval"]["low"]
    assert record["n-samples"][group] == {"original": 60, "effective": len(run.panel.tasks)}
    # Documents and not their repetitions: the harness weighs the tasks of a group by it.
    assert record["results"][group]["sample_len"] == len(run.panel.tasks)
    assert record["configs"][group]["repeats"] == run.config.samples
    # How many tasks of a type the whole panel has is not known from a part of it.
    assert (set(record["n-samples"]) == {group}) == run.panel.partial
    assert record["config"]["model_args"] == run.manifest.agent_fingerprint
    assert record["task_hashes"] == {group: run.panel.sha256}


def test_types_whose_names_would_be_one_are_all_there(folder: Path, session: Session, plan: Plan, make_episode) -> None:
    kinds = ("a/b", "a b", "a_b", "a_b_2", "ä?")
    panel = Panel.of("kinds", [Task(f"made_up/{n}", kind, f"{n:064x}") for n, kind in enumerate(kinds)])
    plan = dataclasses.replace(plan, config=dataclasses.replace(plan.config, panel="kinds"), panel=panel)
    with RunFolder(folder, plan, session) as opened:
        for number, task in enumerate(panel.tasks):
            outcome = Outcome.WON if number < 2 else Outcome.LIMIT
            seed = episode_seed(0, task.id, 0)
            opened.append(make_episode(number, outcome, task_id=task.id, task_type=task.type, seed=seed))
    record = json.loads(lm_eval_results(read_run(folder)))
    validate(record, "lm_eval_results")
    parts = record["group_subtasks"]["alfworld_kinds"]
    assert len(set(parts)) == 5
    found = {record["results"][part]["alias"]: record["results"][part]["success_rate,none"] for part in parts}
    assert found == {"a/b": 1.0, "a b": 1.0, "a_b": 0.0, "a_b_2": 0.0, "ä?": 0.0}


@pytest.mark.parametrize("name", ["whole", "samples", "part"])
def test_the_hub_s_entry_has_its_form_and_our_numbers(name: str, runs: dict[str, Run]) -> None:
    yaml = pytest.importorskip("yaml", reason="needs the extra `train`")
    run = runs[name]
    target = Target("someone/alfworld", "valid: yes", "0" * 40, "https://example.org/run?a=1#b")
    record = yaml.safe_load(hf_results(run, target).decode())
    validate(record, "hf_eval_results")
    (entry,) = record
    summary = json.loads((run.folder / "summary.json").read_text())["overall"]
    assert entry["value"] == pytest.approx(100 * summary["success_rate"], abs=0.005)
    assert entry["dataset"] == {"id": "someone/alfworld", "task_id": "valid: yes", "revision": "0" * 40}
    low, high = (100 * summary["interval"][end] for end in ("low", "high"))
    assert f"{summary['won']} of {summary['finished']} episodes; 95% interval [{low:.1f}, {high:.1f}]" in entry["notes"]
    assert f"panel {run.panel.label} (sha256 {run.panel.sha256[:12]})" in entry["notes"]
    assert ("3 samples a task" in entry["notes"]) == (name == "samples")


def test_notes_name_a_dialect_only_where_games_have_one(folder: Path) -> None:
    evaluate(EvalConfig(env="math", limit=2, agent=OracleSettings(), out=folder))
    notes = hf_results(read_run(folder), TARGET).decode()
    assert "dialect" not in notes
    assert "[2 of " in notes
    assert "; agent oracle; settings " in notes


def test_every_character_survives_in_the_hub_s_entry(runs: dict[str, Run]) -> None:
    """Control characters and line separators too, which YAML does not take as they are."""
    yaml = pytest.importorskip("yaml", reason="needs the extra `train`")
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000), 0x1F600]))
    written = hf_results(runs["part"], Target("someone/alfworld", text))
    (entry,) = yaml.safe_load(written.decode())
    assert entry["dataset"]["task_id"] == text
    assert not re.search("[\x7f-\x9f\u2028\u2029\ufeff]", written.decode())


def test_the_hub_s_own_library_reads_the_entry(runs: dict[str, Run]) -> None:
    yaml = pytest.importorskip("yaml", reason="needs the extra `train`")
    hub = pytest.importorskip("huggingface_hub", reason="needs the extra `train`")
    if not hasattr(hub, "parse_eval_result_entries"):
        pytest.skip("this version of huggingface_hub does not know .eval_results")
    (entry,) = hub.parse_eval_result_entries(yaml.safe_load(hf_results(runs["part"], TARGET).decode()))
    assert (entry.dataset_id, entry.task_id) == ("someone/alfworld", "builtin_valid")
    assert hub.eval_result_entries_to_yaml([entry]) == yaml.safe_load(hf_results(runs["part"], TARGET).decode())


def test_rates_of_unfinished_runs_are_refused_unless_asked_for(broken: Run) -> None:
    for make in (lm_eval_results, lambda run, **options: hf_results(run, TARGET, **options)):
        with pytest.raises(HolderGymError, match=r"5 of 6 episodes are missing or failed.*--resume.*--unfinished"):
            make(broken)
        assert b"1" in make(broken, unfinished=True)
    record = json.loads(lm_eval_results(broken, unfinished=True))
    validate(record, "lm_eval_results")
    assert record["configs"]["alfworld_made_up"]["metadata"]["missing"] == 4
    assert b"not finished, 4 episodes missing; 1 failed episodes left out" in hf_results(
        broken, TARGET, unfinished=True
    )


def test_a_run_without_a_finished_episode_has_no_rate(folder: Path, plan: Plan, session: Session) -> None:
    with RunFolder(folder, plan, session):
        pass
    with pytest.raises(HolderGymError, match="no episode finished"):
        lm_eval_results(read_run(folder), unfinished=True)


@pytest.mark.parametrize("target", [Target("alfworld"), Target("a/b c"), Target("a/b", source="me")])
def test_what_the_hub_would_refuse_is_refused(target: Target, runs: dict[str, Run]) -> None:
    with pytest.raises(HolderGymError, match=r"--dataset|--source"):
        hf_results(runs["part"], target)


def result(task: int, outcome: Outcome) -> Result:
    return Result(f"t{task}", "pick", 0, outcome, 5, 0, 4, 0.0)


def test_the_standard_error_is_the_mean_s_where_each_task_is_played_once() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    outcomes = [Outcome.WON] * 7 + [Outcome.LIMIT] * 4 + [Outcome.LOST] * 2
    results = [result(number, outcome) for number, outcome in enumerate(outcomes)]
    expected = scipy_stats.sem([1.0] * 7 + [0.0] * 6)
    assert clustered_standard_error(results).value == pytest.approx(expected, rel=1e-12)
    failed = [*results, result(99, Outcome.ERROR)]
    assert clustered_standard_error(failed) == clustered_standard_error(results)


def test_the_standard_error_with_samples_is_statsmodels_cluster_robust_one() -> None:
    api = pytest.importorskip("statsmodels.api")
    counts = [(3, 3), (0, 3), (2, 3), (1, 2), (4, 4), (0, 1)]
    results, values, groups = [], [], []
    for task, (won, total) in enumerate(counts):
        for sample in range(total):
            results.append(result(task, Outcome.WON if sample < won else Outcome.LIMIT))
            values.append(float(sample < won))
            groups.append(task)
    fit = api.OLS(values, [1.0] * len(values)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True}
    )
    # Its correction is C / (C - 1) * (N - 1) / (N - parameters), and the mean is one parameter.
    assert clustered_standard_error(results).value == pytest.approx(fit.bse[0], rel=1e-9)


def test_one_task_has_no_standard_error() -> None:
    found = clustered_standard_error([result(0, Outcome.WON), result(0, Outcome.LIMIT)])
    assert math.isnan(found.value)
    assert found.cause == "a standard error needs two tasks"
