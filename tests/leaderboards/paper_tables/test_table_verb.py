"""``holdergym table``, as a user calls it."""

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from holdergym.leaderboards.published import TABLES, results_of

from holdergym.cli import main
from holdergym.cli.table import command

from .conftest import ROW, household_panel

NAME = ROW.rpartition("/")[2]


@pytest.fixture
def table(capsys):
    """Calls the verb; gives exit code, standard output and standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["table", *map(str, arguments)])
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call


def test_a_table_needs_no_subcommand(table) -> None:
    code, out, _ = table("holderpo/2")
    assert code == 0
    assert out.startswith("holderpo/2: Five mathematics benchmarks (Table 2)\n")
    assert re.search(r"^  HölderPO dynamic +linear 2 -> -2 +43\.3~ +68\.7\* .* 54\.9\*\[\d+\]$", out, re.MULTILINE)
    assert re.search(r"^\[\d+\] Audit, error, contradiction: AIME24", out, re.MULTILINE)
    assert "Best published number of a column with *, second with ~, by model." in out
    assert table("show", "holderpo/2")[1] == out
    assert out in table("holderpo/2", "holderpo/3")[1]


def test_forms_and_files(table, tmp_path) -> None:
    for form, begins in (
        ("latex", "% needs"),
        ("md", "### holderpo/3"),
        ("html", "<!doctype html>"),
        ("csv", "table,row,"),
    ):
        file = tmp_path / form
        assert table("holderpo/3", "--format", form, "--out", file)[:2] == (0, "")
        assert file.read_text().startswith(begins)
    code, out, _ = table("holderpo/3", "--format", "latex", "--standalone")
    assert (code, out.startswith("\\documentclass")) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["holderpo/22"], "did you mean 'holderpo/2'"),
        (["holderpo/2", "--standalone"], "belongs to --format latex"),
        (["holderpo/2", "--runs", "nowhere"], "no such folder"),
        (["holderpo/2", "--rows", "nowhere.toml"], "cannot read"),
        (["audit", "holderpo/9"], "unknown table"),
        (["lits"], "No such command"),
        (["hf", "holderpo/3", NAME, "--dataset", "All", "--out", "x.yaml"], "COLUMN=OWNER/NAME"),
        (["hf", "holderpo/3", NAME, "--dataset", "All=a/b", "--out", "x.yaml"], "was not measured"),
        (["hf", "holderpo/3", NAME, "--dataset", "Every=a/b", "--out", "x.yaml"], "unknown column"),
        (["hf", "holderpo/3", "grpo", "--dataset", "All=a/b", "--out", "x.yaml"], "did you mean"),
    ],
)
def test_bad_input_is_one_line(table, tmp_path, monkeypatch, arguments, says) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = table(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_list_names_every_table_and_every_row(table) -> None:
    code, out, _ = table("list")
    assert code == 0
    for each in TABLES:
        assert re.search(rf"^{re.escape(each.id)} +{sum(one.found for one in results_of(each.id))} ", out, re.MULTILINE)
    everything = table("list", "all")[1]
    for each in TABLES:
        assert f"{each.id}: " in everything
        for row in {one.row for one in results_of(each.id)}:
            assert f"  {row}\n" in everything


@pytest.mark.slow
def test_the_commands_of_the_list_are_ones_that_the_program_takes(table) -> None:
    """Every option, protocol, panel and method in the commands is known to the verbs that they call."""
    from holdergym.envs.math.published import PUBLISHED
    from holdergym.eval.protocols import find_protocol
    from holdergym.training.presets import preset
    from holdergym.training.recipes import find_recipe

    from holdergym.cli.eval import command as evaluation
    from holdergym.cli.train import command as training

    everything = table("list", "all")[1]
    known = {
        "eval": {name for each in evaluation.params for name in each.opts},
        "train": {name for each in training.params for name in each.opts},
    }
    seen = set()
    for verb, options in re.findall(r"holdergym (eval|train) ([^;\n]*)", everything):
        for option in re.findall(r"--[a-z-]+", options):
            assert option in known[verb], (verb, option)
        seen |= set(re.findall(r"--(?:preset|method|protocol|panel|env) \S+", options))
    for given in seen:
        option, value = given.split()
        if option == "--method":
            preset(value)
        elif option == "--preset":
            find_recipe(value)
        elif option == "--protocol":
            find_protocol(value)
        elif option == "--panel":
            assert value in {*PUBLISHED, "valid_seen", "train", "train_math_lvl3to5_8k", "$panel"}
    assert {"--method holderpo-static", "--method avspo", "--protocol gigpo-128", "--panel valid_seen"} <= seen


@pytest.mark.slow
def test_settings_of_the_commands_resolve(table) -> None:
    from holdergym.envs.settings import Layer, as_toml, assignment_layer, resolve
    from holdergym.training.method import Method
    from holdergym.training.presets import preset

    everything = table("list", "all")[1]
    checked = 0
    for line in re.findall(r"holdergym train [^\n]*--method (.*)", everything):
        name = line.split()[0]
        settings = [each.removeprefix("method.") for each in re.findall(r"--set (\S+)", line)]
        method = resolve(Method, [Layer(name, tomllib.loads(as_toml(preset(name)))), assignment_layer(settings)])
        assert method.name == name
        checked += bool(settings)
    assert checked > 5


@pytest.mark.slow
def test_all_is_quick_and_gives_the_same_bytes(table, tmp_path) -> None:
    began = time.monotonic()
    assert table("all", "--out", tmp_path / "one")[0] == 0
    assert time.monotonic() - began < 60
    assert table("all", "--out", tmp_path / "two")[0] == 0
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "two").iterdir())
    assert len(names) == 5 * (len(TABLES) + 1) + 2
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.slow
def test_bytes_do_not_depend_on_the_hash_seed(tmp_path) -> None:
    outputs = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "holdergym", "table", "audit", "--format", "json"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            timeout=120,
            check=True,
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]


def test_all_stays_inside_its_folder(table, tmp_path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / "holderpo-2.md").symlink_to(victim)
    (out / "notes.txt").write_text("kept")
    assert table("all", "--out", out, "--format", "md")[0] == 0
    assert victim.read_text() == "mine"
    assert not (out / "holderpo-2.md").is_symlink()
    assert (out / "notes.txt").read_text() == "kept"
    code, _, err = table("all", "--out", victim)
    assert (code, err.count("\n")) == (2, 1)
    assert victim.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "victim"}


def test_the_audit_has_three_forms_and_an_exit_code(table) -> None:
    code, text, _ = table("audit")
    assert code == 0
    assert re.search(r"^\d+ errors, \d+ warnings, \d+ notes$", text, re.MULTILINE)
    record = json.loads(table("audit", "--format", "json")[1])
    assert f"{record['counts']['error']} errors, {record['counts']['warning']} warnings" in text
    assert len(record["findings"]) == sum(record["counts"].values())
    assert all(each["cells"] and each["rule"] and each["severity"] for each in record["findings"])
    markdown = table("audit", "--format", "md")[1]
    assert sum(line.startswith("| ") for line in markdown.splitlines()) == len(record["findings"]) + 2
    assert table("audit", "--strict")[0] == 1
    assert table("audit", "s2l-po/2", "--strict")[0] == 0
    of_one = table("audit", "holderpo/1", "--severity", "error")[1]
    assert "contradiction" in of_one
    assert "quoted" not in of_one


def test_bib(table, tmp_path) -> None:
    code, out, _ = table("bib")
    assert code == 0
    assert "@misc{holderpo," in out
    assert table("bib", "--out", tmp_path / "results.bib")[0] == 0
    assert (tmp_path / "results.bib").read_text() == out


def test_a_measured_row_goes_to_the_hub(table, measure, tmp_path) -> None:
    run = measure(f"{ROW}/valid_seen", won=100, panel=household_panel())
    runs, out = tmp_path / "runs", tmp_path / "eval.yaml"
    code, said, _ = table(
        "hf", "holderpo/3", NAME, "--runs", runs, "--dataset", "All=org/alfworld:valid_seen", "--out", out
    )
    assert (code, said) == (0, f"1 entry in {out}\n")
    written = out.read_text()
    assert written.startswith('- dataset:\n    id: "org/alfworld"\n    task_id: "valid_seen"\n  value: 71.43\n')
    assert written.count("- dataset:") == 1
    assert run.panel.sha256[:12] in written
    code, _, err = table("hf", "holderpo/3", NAME, "--runs", runs, "--dataset", "Pick=org/alfworld", "--out", out)
    assert code == 2
    assert "no success rate over one panel" in err


def test_help_has_an_example_for_every_part() -> None:
    for name, part in command.commands.items():
        assert f"holdergym table {name if name != 'show' else 'holderpo/2'}" in (part.help or ""), name
    assert Path(command.callback.__code__.co_filename).name == "table.py"
