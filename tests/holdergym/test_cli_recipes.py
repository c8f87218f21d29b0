"""Recipes, warm starts and tiny policies from the command line."""

import re
from pathlib import Path

import pytest
from holdergym.envs.errors import UnknownNameError

from .conftest import Cli

pytestmark = pytest.mark.llm


def recipes() -> list[str]:
    pytest.importorskip("torch")
    from holdergym.training.recipes import RECIPES

    return [recipe.name for recipe in RECIPES]


def test_every_recipe_is_planned_without_its_model_and_begins_nothing(cli: Cli, tmp_path: Path) -> None:
    listed = cli("list", "recipes").out
    for name in recipes():
        assert re.search(rf"^{re.escape(name)} ", listed, re.MULTILINE)
        out = tmp_path / name
        run = cli("train", "--preset", name, "--out", out, "--plan")
        assert run.status == 0, run.err
        assert not out.exists()
        for part in ("From:", "Needs:", "Differs from the paper:", "Not known:", "sampled tokens", "GiB for weights"):
            assert part in run.out, (name, part)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "holderpo-math-qwen2.5-math-7b",
            [
                "rounds = 500",
                "groups = 128",
                "group_size = 8",
                "updates = 8",
                "learning_rate = 1e-06",
                "low = -2.0",
                "high = 2.0",
                "max_tokens = 3000",
                "beta2 = 0.95",
                'std = "unbiased"|scale = "unbiased"',
                "coefficient = 0.0",
                "128 tasks x 8 episodes = 1,024 episodes",
                "113.5 GiB for weights, gradients and AdamW of 7,620 million weights",
            ],
        ),
        (
            "holderpo-alfworld-qwen2.5-1.5b",
            [
                "rounds = 150",
                "groups = 16",
                "low = -1.0",
                "high = 1.0",
                "history = 2",
                'unparsable = "tail"',
                "won = 10.0",
                "invalid_penalty = 0.1",
                "coefficient = 0.01",
                "coefficient = 0.001",
                'per = "turn"',
                "28.7 GiB for weights, gradients, AdamW and the reference model of 1,540 million weights",
            ],
        ),
    ],
)
def test_settings_are_those_of_the_sources(name: str, lines: list[str], cli: Cli) -> None:
    shown = cli("train", "--preset", name, "--plan").out
    for line in lines:
        assert re.search("|".join(re.escape(one) for one in line.split("|")), shown), line


def test_options_win_over_a_recipe_and_another_method_leaves_its_settings_out(cli: Cli) -> None:
    shown = cli(
        "train", "--preset", "holderpo-math-qwen2.5-math-1.5b", "--method", "gmpo", "--rounds", "7", "--plan"
    ).out
    assert 'name = "gmpo"' in shown
    assert "rounds = 7\n" in shown
    assert "rounds = 500" not in shown
    assert "groups = 128" in shown


def test_a_name_that_is_nearly_a_recipe(cli: Cli) -> None:
    run = cli("train", "--preset", "quik")
    assert (run.status, run.err.count("\n")) == (2, 1)
    assert "did you mean 'quick'?" in run.err
    pytest.importorskip("torch")
    from holdergym.training.recipes import find_recipe

    with pytest.raises(UnknownNameError):
        find_recipe("quick")  # it is no single run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--rounds", "3", "sft"], "--rounds stands before 'sft': write it behind"),
        (["train", "--set", "seed=1", "sft"], "--set stands before 'sft'"),
        (["train", "--preset", "quick", "--rounds", "3"], "--preset quick fixes its settings: leave out --rounds"),
        (["train", "--preset", "quick", "--env", "math_retry"], "is for alfworld and math, not for math_retry"),
        (["train", "tiny", "--width", "100", "--heads", "8", "--out", "x"], "cannot be shared by 8 heads"),
        (["train", "tiny", "--env", "chess", "--out", "x"], "'chess'"),
        (["train", "sft", "--agent", "teacher", "--model", "x"], "demonstrations.agent"),
        (
            ["train", "sft", "--env", "math", "--agent", "searching", "--model", "MODEL", "--out", "OUT"],
            "does not play",
        ),
        (["train", "sft"], "agent.model"),
        (["train", "sft", "--model", "MODEL"], "'out' is missing"),
        (["train", "sft", "--model", "MODEL", "--resume", "--out", "OUT"], "no training run to go on with"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, cli: Cli, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"MODEL": str(tiny_checkpoint), "OUT": str(tmp_path / "run")}
    run = cli(*(places.get(one, one) for one in arguments))
    assert (run.status, run.out) == (2, "")
    assert run.err.count("\n") == 1, run.err
    assert message in run.err
    assert not (tmp_path / "x").exists()


def test_a_tiny_policy_is_warmed_up_gone_on_with_and_evaluated(cli: Cli, tmp_path: Path) -> None:
    policy, warm = tmp_path / "policy", tmp_path / "warm"
    made = cli(
        "train",
        "tiny",
        "--env",
        "math",
        "--layers",
        "1",
        "--width",
        "32",
        "--heads",
        "4",
        "--inner",
        "32",
        "--out",
        policy,
    )
    assert re.search(r"a policy of [\d,]+ weights", made.out)
    again = cli("train", "tiny", "--env", "math", "--out", policy)
    assert again.status == 2
    assert "is there already" in again.err
    arguments = ["train", "sft", "--env", "math", "--panel", "builtin_small_train", "--model", policy, "--updates", "2"]
    more = [
        "--set",
        "validation.panel=builtin_small_valid",
        "--set",
        "validation.limit=2",
        "--set",
        "agent.max_tokens=4",
    ]
    run = cli(*arguments, *more, "--rounds", "1", "--out", warm)
    assert run.status == 0, run.err
    assert "320 of 320 demonstrations were won" in run.err
    best = re.search(r"best checkpoint: (.*)", run.out)
    assert best is not None
    assert cli("train", "sft", "--resume", "--rounds", "2", "--out", warm).status == 0
    assert len((warm / "metrics.jsonl").read_text().splitlines()) == 2
    played = cli("eval", "--env", "math", "--model", best[1], "--limit", "2", "--out", tmp_path / "eval")
    assert played.status == 0, played.err


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_short_form_of_quick(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "quick"
    run = cli("train", "--preset", "quick-short", "--out", out)
    assert run.status == 0, run.err
    assert "tiny policy" not in run.err
    assert re.search(r"policy of [\d,]+ weights", run.err)
    assert "permutation" in run.out or "McNemar" in run.out
    for name in ("policy", "warm-start", "trained", "eval-warm-start", "eval-trained"):
        assert (out / name).is_dir()
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.jsonl")}
    assert cli("train", "--preset", "quick-short", "--out", out).status == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.jsonl")} == before


def test_a_folder_of_something_else_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").touch()
    found = cli("train", "--preset", "quick", "--out", tmp_path / "run")
    assert found.status == 2
    assert "is not empty (it holds 'metrics.jsonl') and is no folder of this recipe" in found.err
    (tmp_path / "quick" / "warm-start").mkdir(parents=True)
    (tmp_path / "quick" / "warm-start" / "config.toml").write_text('env = "math"\n')
    found = cli("train", "--preset", "quick", "--out", tmp_path / "quick")
    assert found.status == 2
    assert "holds the recipe for math: give --env math, or choose another --out" in found.err
    (tmp_path / "quick" / "trained").mkdir()
    (tmp_path / "quick" / "trained" / "metrics.jsonl").touch()
    found = cli("plot", tmp_path / "quick")
    assert found.status == 2
    assert f"did you mean {tmp_path / 'quick' / 'trained'}?" in found.err


def test_one_setting_of_the_optimiser_leaves_the_others_of_a_warm_start(cli: Cli) -> None:
    for given in (["--learning-rate", "3e-3"], ["--set", "optimiser.warmup=20"]):
        planned = cli("train", "sft", "--model", "M", *given, "--out", "OUT", "--plan").out
        assert 'decay = "cosine"' in planned
    assert "learning_rate = 1e-05" in planned


def test_a_run_that_is_gone_on_with_keeps_its_circumstances(cli: Cli, tiny_checkpoint: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    made = ["--model", tiny_checkpoint, "--env", "math", "--prompt", "free", "--groups", "2", "--group-size", "2"]
    made += ["--set", "agent.max_tokens=4", "--set", "validation.every=0", "--set", "save_every=1"]
    begun = cli("train", *made, "--rounds", "4", "--set", "keep_last=4", "--set", "part_tokens=512", "--out", out)
    assert begun.status == 0, begun.err
    assert "so p has no effect: set updates or epochs to 2 or more" in begun.err
    assert "last checkpoint: " in begun.out
    assert cli("train", "--resume", "--rounds", "5", "--out", out).status == 0
    kept = sorted(path.name for path in (out / "checkpoints").iterdir())
    assert kept == [f"round-00000{number}" for number in range(2, 6)]
    assert "part_tokens = 512" in (out / "circumstances.toml").read_text()
    assert cli("train", "--resume", "--rounds", "6", "--set", "keep_last=1", "--out", out).status == 0
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["round-000006"]
