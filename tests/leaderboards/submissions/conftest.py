"""Runs that were really played, on a whole panel, to be handed in or tampered with."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from holdergym.agents.registry import ExpertSettings, OracleSettings, RandomSettings
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the expert and two of the random agent on all built-in games, one with two samples, and one of math."""
    folder = tmp_path_factory.mktemp("originals")
    evaluate(EvalConfig(panel="builtin_valid", agent=ExpertSettings(), out=folder / "expert"))
    evaluate(EvalConfig(panel="builtin_valid", agent=RandomSettings(), max_steps=12, out=folder / "random"))
    evaluate(EvalConfig(panel="builtin_valid", agent=RandomSettings(), max_steps=5, samples=2, out=folder / "twice"))
    evaluate(EvalConfig(env="math", panel="builtin_valid", agent=OracleSettings(), out=folder / "oracle"))
    return folder


@pytest.fixture
def copy(originals: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Copies a run, so that it can be tampered with."""

    def copied(name: str) -> Path:
        return Path(shutil.copytree(originals / name, tmp_path / "handed-in" / name))

    return copied


def change_line(run: Path, number: int, change: Callable[[dict[str, object]], None]) -> None:
    """Changes a line of the episodes, counted from 0."""
    path = run / "episodes.jsonl"
    lines = path.read_text().splitlines()
    record = json.loads(lines[number])
    change(record)
    lines[number] = json.dumps(record, separators=(",", ":"))
    path.write_text("".join(line + "\n" for line in lines))


def change_json(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    """Changes a JSON file."""
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record, indent=2) + "\n")
