"""Panels of problems: generated, published, from files; and what the check of a file finds."""

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from holdergym.envs.errors import ConfigError, HolderGymError, UnknownNameError
from holdergym.envs.math.builtin import FAMILIES, generate_problem, split_of
from holdergym.envs.math.grader import Grader, Verdict
from holdergym.envs.math.problem import ProblemError
from holdergym.envs.math.problems import BUILTIN_PANELS, open_problems, panel_names
from holdergym.envs.math.published import PUBLISHED

from holdergym.cli import main


def _write(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_builtin_panels_are_the_same_everywhere() -> None:
    hashes = {name: open_problems(name).panel.sha256 for name in BUILTIN_PANELS}
    assert {name: sha256[:16] for name, sha256 in hashes.items()} == {
        "builtin_difference_train": "1e4f36b313a5ee75",
        "builtin_difference_valid": "5debbe022928b667",
        "builtin_small_train": "83bd7728bc4875ec",
        "builtin_small_valid": "602fd8e66ad0a9cd",
        "builtin_valid": "1bac818a58fc5f2e",
        "builtin_train": "6ca3c2e520a7bb73",
    }
    program = "from holdergym.envs.math.problems import open_problems as o; print(o('builtin_valid').panel.sha256)"
    environment = {"PYTHONHASHSEED": "7", "PATH": "/usr/bin:/bin"}
    again = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert again.stdout.strip() == hashes["builtin_valid"]


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [("builtin", (1000, 200)), ("builtin_small", (320, 80)), ("builtin_difference", (4000, 200))],
)
def test_no_statement_is_in_both_builtin_panels(kind: str, sizes: tuple[int, int]) -> None:
    train, valid = (
        {problem.statement for problem in open_problems(f"{kind}_{name}").values()} for name in ("train", "valid")
    )
    assert (len(train), len(valid)) == sizes
    assert not train & valid
    assert {split_of(statement) for statement in valid} == {"valid"}


@pytest.mark.parametrize("family", FAMILIES)
def test_builtin_answers_are_right(family: str) -> None:
    for seed in range(60):
        problem = generate_problem(seed, seed % 11 / 10, family)
        (gold,) = problem.golds
        formula = problem.statement.split("$")[1].replace("\\times", "*")
        # Python needs the signs of multiplication that 3x and 3(x - 2) leave out.
        left, _, right = re.sub(r"(\d)([x(])", r"\1*\2", formula).partition("=")
        x = int(gold) if family == "linear_equation" else None
        assert eval(left, {"x": x}) == (eval(right, {"x": x}) if right else int(gold)), problem.statement


def test_difficulty_makes_numbers_larger() -> None:
    def size(difficulty: float) -> float:
        problems = [generate_problem(seed, difficulty, "sum") for seed in range(50)]
        return sum(abs(int(problem.golds[0])) for problem in problems) / len(problems)

    sizes = [size(difficulty) for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] < 20
    assert sizes[-1] > 500


def test_wrong_settings_of_the_generator_are_refused() -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        generate_problem(0, 1.5, "sum")
    with pytest.raises(UnknownNameError, match="did you mean 'product'"):
        generate_problem(0, 0.5, "prodct")


@pytest.mark.shared
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_panels_are_recognised(name: str, shared: Path) -> None:
    problems = open_problems(name, shared / "math")
    assert len(problems) == PUBLISHED[name].rows
    assert problems.panel.sha256 == PUBLISHED[name].sha256
    assert all(task_id.startswith(f"math/{name}/") for task_id in problems)


def test_a_file_that_only_claims_to_be_a_published_set_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path / "aime2024.jsonl", [{"id": "a", "problem": "1+1?", "answer": "2"}])
    with pytest.raises(ProblemError, match="holds 1 problems, but not the 30 of the panel 'aime2024'"):
        open_problems("aime2024", tmp_path)
    assert len(open_problems(str(path))) == 1
    assert panel_names(tmp_path) == ("aime2024",)


def test_columns_and_formats(tmp_path: Path) -> None:
    _write(
        tmp_path / "one.jsonl", [{"question": "1+1?", "answer": "We add.\n#### 1,002", "subject": "sums", "level": 3}]
    )
    with (tmp_path / "two.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "problem", "gold"], ["a", "What is\n2+2?", "4"], ["b", "3+3?", "6"]])
    one, two = open_problems("one", tmp_path), open_problems("two", tmp_path)
    (problem,) = one.values()
    assert (problem.golds, problem.task.type, problem.task.metadata["level"]) == (("1002",), "sums", "3")
    assert [p.statement for p in two.values()] == ["What is\n2+2?", "3+3?"]
    assert list(two) == ["math/two/a", "math/two/b"]
    assert open_problems(None, tmp_path / "two.csv").panel == two.panel
    for path in (tmp_path / "one.jsonl", tmp_path / "two.csv"):  # with a byte order mark, as some editors write it
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert open_problems("one", tmp_path).panel == one.panel
    assert open_problems("two", tmp_path).panel == two.panel
    pyarrow = pytest.importorskip("pyarrow", reason="reading Parquet files needs the extra `hub`")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"problem": ["1+1?"], "answer": [2.0]}), tmp_path / "three.parquet")
    assert [p.golds for p in open_problems("three", tmp_path).values()] == [("2",)]


def test_ids_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"problem": f"{n}+1?", "answer": str(n + 1)} for n in (1, 2, 3, 2, 1)]
    rows.append({"problem": "1+1?", "answer": "3"})
    first = open_problems(str(_write(tmp_path / "p.jsonl", rows)))
    (tmp_path / "other").mkdir()
    second = open_problems(str(_write(tmp_path / "other" / "p.jsonl", rows[::-1])))
    assert first.panel == second.panel
    assert first.panel.sha256 == second.panel.sha256
    assert len(first) == 6


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "", "has no rows"),
        ("a.jsonl", "{]\n", "line 1 is not JSON"),
        ("a.jsonl", "[1]\n", "not a JSON object"),
        ("a.jsonl", '{"x": 1}\n', "no column for the problem"),
        ("a.jsonl", '{"problem": "1"}\n', "no column for the answer"),
        ("a.jsonl", '{"problem": " ", "answer": "1"}\n', "row 1: column 'problem' holds no text"),
        ("a.csv", "problem,answer\n", "has no rows"),
        ("a.parquet", "not parquet", "cannot read"),
    ],
)
def test_malformed_files_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow", reason="reading Parquet files needs the extra `hub`")
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(HolderGymError, match=message) as failure:
        open_problems(str(path))
    assert name in str(failure.value)


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_a_parquet_file_without_pyarrow_names_the_extra(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(HolderGymError, match=r"needs pyarrow, which is not installed: pip install 'holdergym\[hub\]'"):
        open_problems(str(path))


def test_names_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDERGYM_MATH_DATA", raising=False)
    with pytest.raises(HolderGymError, match="needs problem files"):
        open_problems("math500")
    _write(tmp_path / "sums.jsonl", [{"problem": "1+1?", "answer": "2"}])
    with pytest.raises(UnknownNameError, match="did you mean 'sums'"):
        open_problems("sum", tmp_path)
    with pytest.raises(ProblemError, match="no problem file"):
        open_problems("gone.jsonl")
    with pytest.raises(KeyError, match="did you mean"):
        open_problems("builtin_valid")["math/builtin_valid/00000"]
    monkeypatch.setenv("HOLDERGYM_MATH_DATA", str(tmp_path))
    assert len(open_problems("sums")) == 1


def test_reasoning_gym_panels() -> None:
    pytest.importorskip("reasoning_gym", reason="needs the extra `math`")
    from holdergym.envs.math.reasoning_families import FAMILIES as KINDS

    valid, train = open_problems("reasoning_gym_valid"), open_problems("reasoning_gym_train:gcd")
    assert Counter(task.type for task in valid.panel.tasks) == dict.fromkeys(KINDS, 20)
    assert len(train) == 200
    assert not {p.statement for p in valid.values()} & {p.statement for p in train.values()}
    with pytest.raises(UnknownNameError, match="did you mean 'gcd'"):
        open_problems("reasoning_gym_valid:gdc")
    with Grader(timeout_s=20) as grader:
        assert not grader.gold_problems(valid.golds())


def test_hub_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets", reason="reading Parquet files needs the extra `hub`")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    _write(tmp_path / "test.jsonl", [{"question": "1+1?", "answer": "2"}, {"question": "2+1?", "answer": "3"}])
    problems = open_problems(f"hub:{tmp_path}")
    assert sorted(problem.golds for problem in problems.values()) == [("2",), ("3",)]
    with pytest.raises(ProblemError, match="cannot read the panel"):
        open_problems("hub:a:b:c:d")


@pytest.mark.shared
def test_every_gold_of_the_published_sets_can_be_graded(shared: Path) -> None:
    pytest.importorskip("math_verify", reason="needs the extra `math`")
    names = [name for name in PUBLISHED if name != "math_test"]
    golds = {id_: gold for name in names for id_, gold in open_problems(name, shared / "math").golds().items()}
    with Grader(workers=2, timeout_s=20) as grader:
        grader.require_golds(golds)
        oracle = grader.grade([(gold, f"\\boxed{{{gold[0]}}}") for gold in golds.values()])
        blank = grader.grade([(gold, "") for gold in golds.values()])
    assert {judgement.verdict for judgement in oracle} == {Verdict.CORRECT}
    assert {judgement.verdict for judgement in blank} == {Verdict.UNPARSABLE}


def _check(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    with pytest.raises(SystemExit) as end:
        main(["problems", "check", *arguments])
    return end.value.code, capsys.readouterr().out


def test_check_finds_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("math_verify", reason="needs the extra `math`")
    train = _write(
        tmp_path / "train.jsonl",
        [
            {"id": "fine", "problem": "Compute $1+1$.", "answer": "2"},
            {"id": "hole", "problem": "Compute $1+2$.", "answer": " "},
            {"id": "none", "problem": "Compute $1+3$.", "answer": "None"},
            {"id": "torn", "problem": "Compute $1+4$.", "answer": "\\frac{1}{"},
            {"id": "copy", "problem": "Compute  $1+1$.", "answer": "3"},
            {"id": "leak", "problem": "Compute \n$7+7$.", "answer": "14"},
            {"id": "seep", "problem": "Compute \\(8+8\\)!", "answer": "16"},
        ],
    )
    test = [
        {"id": "t7", "problem": "Compute $7+7$.", "answer": "14"},
        {"id": "t8", "problem": "Compute $8+8$.", "answer": "16"},
    ]
    code, out = _check([str(train), "--against", str(_write(tmp_path / "test.jsonl", test))], capsys)
    assert code == 1
    for line in (
        "empty golds: 1\n  hole",
        "golds that say nothing (None, null): 1\n  none",
        "golds that cannot be graded: 1\n  torn",
        "repeated problems with different golds: 1\n  fine = copy",
        "test.jsonl: 1\n  leak = t7",
        "typeset differently: 1\n  seep ~ t8",
        "rows that share no problem with the other files: 5",
    ):
        assert line in out


def test_a_list_of_panels_fits_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = [f"Introduction to \x1b[1m the {n}th part of it" for n in range(9)]
    _write(tmp_path / "long.jsonl", [{"problem": f"{k}?", "answer": "1", "subject": k} for k in kinds])
    with pytest.raises(SystemExit):
        main(["problems", "list", "--data", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert "7 more" in lines[-1]


def test_check_prints_a_long_gold_in_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("math_verify", reason="needs the extra `math`")
    path = _write(tmp_path / "long.jsonl", [{"id": "long", "problem": "1+1?", "answer": "x+" * 50_000}])
    code, out = _check([str(path)], capsys)
    assert code == 1
    assert "long: 'x+x+" in out
    assert "(100,000 characters)" in out
    assert max(map(len, out.splitlines())) < 600


def test_check_is_content_with_a_clean_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path / "clean.jsonl", [{"problem": "1+1?", "answer": "2"}, {"problem": "1+2?", "answer": "3"}])
    assert _check([str(path)], capsys) == (0, f"{path}: 2 rows\nnothing found\n")


@pytest.mark.shared
def test_the_training_set_holds_test_problems(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("math_verify", reason="needs the extra `math`")
    files = [str(shared / "math" / name) for name in ("train_math_lvl3to5_8k.jsonl", "math_test.jsonl")]
    code, out = _check([files[0], "--against", files[1]], capsys)
    assert code == 1
    assert f"rows that are problems of {files[1]}: 2,936" in out
    assert "empty golds: 2" in out
    assert "golds that say nothing (None, null): 2" in out
    assert "golds that cannot be graded" not in out
