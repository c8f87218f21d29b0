"""``holdergym export`` from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def holdergym(*arguments: str | Path, code: int = 0) -> str:
    command = [sys.executable, "-m", "holdergym", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "expert"
    holdergym("eval", "--agent", "expert", "--limit", "6", "--out", folder, "--quiet")
    return folder


def test_each_format_is_written(run: Path, tmp_path: Path) -> None:
    holdergym("export", run, "--format", "csv", "--out", tmp_path / "a.csv")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 7
    holdergym("export", run, "--format", "lm-eval", "--out", tmp_path / "a.json")
    record = json.loads((tmp_path / "a.json").read_text())
    assert record["results"]["alfworld_builtin_valid"]["success_rate,none"] == 1.0
    holdergym("export", run, "--format", "hf-results", "--dataset", "someone/alfworld", "--out", tmp_path / "a.yaml")
    assert (tmp_path / "a.yaml").read_text().startswith('- dataset:\n    id: "someone/alfworld"\n')
    pytest.importorskip("pyarrow", reason="needs the extra `hub`")
    holdergym("export", run, "--format", "parquet", "--out", tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").read_bytes()[:4] == b"PAR1"


def test_parquet_without_pyarrow_says_what_to_install(run: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import importlib.util as u; found = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pyarrow' else found(name, *rest)\n"
        f"from holdergym.cli import main; main(['export', {str(run)!r}, '--format', 'parquet', '--out', 'x.parquet'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 2
    assert "pip install 'holdergym[hub]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "x.parquet").exists()


def test_bad_input_is_one_line(run: Path, tmp_path: Path) -> None:
    out, prices = tmp_path / "out", tmp_path / "prices.toml"
    prices.write_text("[small]\nprompt = 1\n")
    cases = [
        (["export", tmp_path / "nothing", "--format", "csv", "--out", out], "does not exist"),
        (["export", run, "--format", "xml", "--out", out], "xml"),
        (["export", run, "--format", "csv", "--out", tmp_path / "no" / "file"], "cannot write"),
        (["export", run, "--format", "csv", "--dataset", "a/b", "--out", out], "belongs to --format hf-results"),
        (["export", run, "--format", "hf-results", "--out", out], "needs --dataset"),
        (["export", run, "--format", "hf-results", "--dataset", "alfworld", "--out", out], "OWNER/NAME"),
        (["export", run, "--format", "csv", "--prices", prices, "--out", out], "no language model played"),
        (
            ["export", run, "--format", "lm-eval", "--prices", prices, "--out", out],
            "belongs to --format csv or",
        ),
        (["export", run, "--format", "csv", "--prices", tmp_path / "none.toml", "--out", out], "no config file"),
    ]
    for arguments, reason in cases:
        message = holdergym(*arguments, code=2)
        assert reason in message
        assert message.count("\n") == 1
        assert not out.exists()
