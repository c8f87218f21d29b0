"""The table that ``benchmarks/variants.py`` makes of runs that have ended, and a short run of it."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from holdergym.training.metrics_log import read_metrics
from holdergym.training.needs import parameters_of_model
from holdergym.training.tiny.making import TinySize, make_tiny_policy

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "variants.py"
COSTS = {"policy/tokens", "explorer/tokens", "rollout_cost", "rollout_cost_share"}


def ended(folder: Path, rounds: list[dict[str, float]]) -> None:
    """A run that has ended: what its rounds logged, and twelve tasks of which half were won."""
    (folder / "run").mkdir(parents=True)
    lines = [{"round": number, "collapsed_groups": 0.5, **one} for number, one in enumerate(rounds, start=1)]
    (folder / "run" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    tasks = {f"t{number}": [4, number % 2 * 4] for number in range(12)}
    (folder / "score.json").write_text(json.dumps(tasks))


def table(monkeypatch: pytest.MonkeyPatch, out: Path, *arguments: str) -> dict[str, list[str]]:
    """The cells of each method, and the notes under the name ``notes``."""
    monkeypatch.setattr(sys, "argv", ["variants.py", "--out", str(out), "--table", *arguments])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    lines = (out / "table.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    notes = [line for line in lines if line and not line.startswith("|")]
    return {row[0]: row[1:] for row in rows} | {"notes": notes}


def test_costs_are_of_a_token_and_of_all_beside_grpo_of_the_same_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs as they were before every run logged its cost, and as they are."""
    for seed, (episodes, length) in enumerate([(8.0, 6.0), (8.0, 3.0)]):
        folder, plain = tmp_path / f"seed-{seed}", {"episodes": episodes, "turns": 2.0, "response_tokens": length}
        ended(folder / "grpo", [plain, plain])
        # Twice the episodes, one seed's log with what it sampled and one without.
        twice = {**plain, "episodes": 2 * episodes}
        logged = {"policy/tokens": 2 * episodes * 2 * length, "rollout_cost": 1.0} if seed else {}
        ended(folder / "grpo+codistill", [{**twice, **logged}] * 2)
        # Half of the tokens are a model's with a fifth of the weights, then none; failed episodes are in what it logs.
        mixed = {"policy/tokens": 60.0, "explorer/tokens": 60.0, "rollout_cost_share": 0.6}
        alone = {"policy/tokens": 72.0, "explorer/tokens": 0.0, "rollout_cost_share": 1.0}
        ended(folder / "grpo+s2l-po", [{**plain, **mixed}, {**plain, **alone}])
    found = table(
        monkeypatch,
        tmp_path,
        "--seeds",
        "0",
        "1",
        "--methods",
        *("grpo", "grpo+codistill", "grpo+s2l-po", "grpo+expo"),
    )
    assert found["grpo"][-2:] == ["1.00", "1.00"]
    assert found["grpo+codistill"][-2:] == ["1.00", "2.00"]
    cost = 120 * 0.6 + 72  # of 192 tokens; GRPO has 192 and 96
    assert found["grpo+s2l-po"][-2:] == [f"{cost / 192:.2f}", f"{(cost / 192 + cost / 96) / 2:.2f}"]
    assert found["notes"][-1] == "Not ended for every seed: grpo+expo."
    assert "divide" not in "".join(found["notes"])  # the models are not here


def test_the_note_says_how_much_larger_the_partner_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended(tmp_path / "seed-0" / "grpo+codistill", [{"episodes": 8.0, "turns": 1.0, "response_tokens": 4.0}])
    sizes = {}
    for name, width in (("policy", 32), ("partner", 64)):
        folder = tmp_path / "seed-0" / name / "new"
        make_tiny_policy(folder, "math", size=TinySize(layers=1, width=width, heads=4, inner=64), seed=0)
        sizes[name] = parameters_of_model(str(folder)) or 0.0
    found = table(monkeypatch, tmp_path, "--seeds", "0", "--methods", "grpo+codistill")
    assert f"a partner of {sizes['partner'] / sizes['policy']:.2f} times its weights" in found["notes"][-1]


def test_scores_of_the_form_before_are_read_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They had both panels, the one that is compared first."""
    ended(tmp_path / "seed-0" / "grpo", [{"episodes": 8.0, "turns": 1.0, "response_tokens": 4.0}])
    now = table(monkeypatch, tmp_path, "--seeds", "0", "--methods", "grpo")
    path = tmp_path / "seed-0" / "grpo" / "score.json"
    tasks = json.loads(path.read_text())
    path.write_text(json.dumps({"train": tasks, "held_out": {"other": [4, 0]}}))
    assert table(monkeypatch, tmp_path, "--seeds", "0", "--methods", "grpo") == now
    assert now["grpo"][0].startswith("50.0%")


def test_runs_of_other_settings_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a table nor a run says of a folder's scores that they are of another study, or of more samples."""
    ended(tmp_path / "seed-0" / "grpo", [{"episodes": 8.0, "turns": 1.0, "response_tokens": 4.0}])
    only = ("--seeds", "0", "--methods", "grpo")
    assert table(monkeypatch, tmp_path, *only)["grpo"][0].startswith("50.0%")
    made = {"study": "scratchpad", "learning_rate": 3e-4, "samples": 4}
    (tmp_path / "settings.json").write_text(json.dumps(made))
    for arguments, message in (
        (only, "has runs with study scratchpad, not recall: give --study scratchpad, or another --out"),
        ((*only, "--study", "scratchpad", "--samples", "8"), "has runs with samples 4, not 8: give --samples 4"),
    ):
        with pytest.raises(SystemExit, match=message):
            table(monkeypatch, tmp_path, *arguments)
    assert "builtin_difference_valid" in table(monkeypatch, tmp_path, *only, "--study", "scratchpad")["notes"][0]


def test_without_grpo_there_is_nothing_to_be_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended(tmp_path / "seed-0" / "grpo+avspo", [{"episodes": 8.0, "turns": 1.0, "response_tokens": 4.0}])
    found = table(monkeypatch, tmp_path, "--seeds", "0", "--methods", "grpo", "grpo+avspo")
    assert found["grpo+avspo"][-2:] == ["1.00", "-"]


@pytest.mark.slow
@pytest.mark.parametrize("study", ["recall", "scratchpad"])
def test_a_short_run_of_methods_with_other_models(study: str, tmp_path: Path) -> None:
    size = [
        "--study",
        study,
        "--rounds",
        "4",
        "--groups",
        "4",
        "--group-size",
        "4",
        "--warm-rounds",
        "1",
        "--samples",
        "1",
    ]
    methods = ["--seeds", "0", "--methods", "grpo", "grpo+s2l-po", "grpo+codistill"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(tmp_path), *size, *methods],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = {line.split("|")[1].strip(): line for line in done.stdout.splitlines() if line.startswith("| ")}
    token, everything = (float(cell) for cell in rows["grpo+codistill"].split("|")[-3:-1])
    assert token == 1
    assert everything == pytest.approx(2, abs=0.2)
    token, everything = (float(cell) for cell in rows["grpo+s2l-po"].split("|")[-3:-1])
    assert token < 1
    assert everything == pytest.approx(token, abs=0.1)
    for line in read_metrics(tmp_path / "seed-0" / "grpo" / "run"):
        assert line["policy/tokens"] == pytest.approx(line["episodes"] * line["turns"] * line["response_tokens"])
    assert set(line) & COSTS == {"policy/tokens", "rollout_cost"}
    written = json.loads((tmp_path / "settings.json").read_text())
    assert (written["study"], written["rounds"], written["samples"]) == (study, 4, 1)
