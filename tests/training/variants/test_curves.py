"""The curves of runs with several models."""

from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.training import preset
from holdergym.training import run as training_run
from holdergym.training.config import ValidationSettings
from holdergym.training.plotting import plot_run
from holdergym.training.run import train
from holdergym.training.variants.s2l import ExplorerMix

from ..word_game import LETTERS, settings

pytest.importorskip("matplotlib", reason="needs matplotlib: the extra `train`")

OF_EXPLORER = {"the explorer's rollouts", "Explorer", "share of a group, alpha", "cost beside the policy's alone"}
OF_PARTNER = {
    "the partner's validation, greedy",
    "clipped for the partner",
    "partner",
    "KL of policy from partner, nats a token",
}


def words(folder: Path) -> set[str]:
    """The words of a picture: matplotlib writes each as a comment beside its outlines."""
    plot_run(folder, folder / "curves.svg")
    lines = (folder / "curves.svg").read_text(encoding="utf-8").splitlines()
    return {line.strip().removeprefix("<!-- ").removesuffix(" -->") for line in lines if "<!--" in line}


@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [("s2l-po", "explorer", OF_EXPLORER), ("codistill", "partner", OF_PARTNER), ("grpo", "", set())],
)
def test_the_curves_of_the_models_that_a_run_has(
    tiny_checkpoint: Path,
    explorer: Path,
    partner: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    model: str,
    expected: set[str],
) -> None:
    monkeypatch.setattr(training_run, "open_playground", lambda config: LETTERS)
    method = preset(name)
    if name == "s2l-po":
        method = replace(method, source=ExplorerMix(transition=2))
    folders = {"explorer": explorer, "partner": partner}
    models = {model: LanguageModelSettings(model=str(folders[model]))} if model else {}
    train(settings(tiny_checkpoint, method, out=tmp_path / "run", validation=ValidationSettings(every=1), **models))
    shown = words(tmp_path / "run")
    assert shown >= {"Gradient norm before clipping", "rollouts", "validation, greedy"}
    assert shown & (OF_EXPLORER | OF_PARTNER) == expected
