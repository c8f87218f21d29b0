"""The speed and memory figures that ``benchmarks/engine.py`` prints, in its shortest form."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "engine.py"
ROWS = ("load an official file", "load from a packed file", "reset", "step with admissible commands", "memory of a")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "ALFWORLD_DATA"}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=240, check=False
    )


@pytest.mark.slow
def test_it_measures_generated_games_without_the_stock_engine() -> None:
    code = (
        f"import runpy, sys; sys.modules['textworld'] = None; sys.path.insert(0, {str(SCRIPT.parent)!r}); "
        "sys.argv = ['engine.py', '--games', '2']; "
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert re.search(r"The stock engine is not measured: no .*textworld", done.stdout)
    for row in ROWS:
        assert re.search(rf"^{row}.* - +\d+\.\d+ [mM]", done.stdout, re.MULTILINE), row


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--games", "0"], ["--steps", "-1"], ["--data", "no_such_folder"]])
def test_bad_arguments_end_with_a_reason(arguments: list[str]) -> None:
    done = run(str(SCRIPT), *arguments)
    assert done.returncode in (1, 2)
    assert re.search("must be positive|there is no", done.stderr)
    assert "Traceback" not in done.stderr
