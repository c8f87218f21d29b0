"""Run folders that were really played, the log of a training run as the trainer writes it, and a real browser."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from holdergym.agents.registry import AgentSettings, ExpertSettings, RandomSettings, WalkthroughSettings
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate
from holdergym.leaderboards.site.building import Site, build_site
from holdergym.leaderboards.site.gathering import gather
from holdergym.leaderboards.site.writing import write_site

pytest.importorskip("plotly", reason="needs the extra `site`")


class Built(NamedTuple):
    """Runs, and the site made of them."""

    runs: Path
    site: Site
    folder: Path


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: four on the same twelve games, of which two have three samples, and one on six games."""
    folder = tmp_path_factory.mktemp("runs")
    agents: dict[str, tuple[AgentSettings, int, int]] = {
        "random": (RandomSettings(), 3, 0),
        "expert": (ExpertSettings(), 3, 0),
        "walkthrough": (WalkthroughSettings(), 1, 0),
        "random-again": (RandomSettings(), 1, 5),
    }
    for name, (agent, samples, seed) in agents.items():
        evaluate(
            EvalConfig(
                panel="builtin_valid",
                limit=12,
                max_steps=20,
                samples=samples,
                seed=seed,
                agent=agent,
                out=folder / name,
            )
        )
    evaluate(EvalConfig(env="math", panel="builtin_valid", limit=10, agent=_oracle(), out=folder / "below" / "oracle"))
    write_training(folder / "trained")
    return folder


def _oracle() -> AgentSettings:
    from holdergym.agents.registry import OracleSettings

    return OracleSettings()


def write_training(folder: Path, rounds: int = 6) -> None:
    """A log in the trainer's form; ``test_training_log`` holds the form against a real run's."""
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        'env = "alfworld"\nrounds = 6\ngroups = 4\ngroup_size = 8\nseed = 0\n'
        '[agent]\nmodel = "smollm2-135m"\n[method]\nname = "holderpo"\n'
    )
    lines = [{"round": 0, "validation/success": 0.25}]
    for number in range(1, rounds + 1):
        lines.append(
            {
                "round": number,
                "success": 0.1 * number,
                "reward": 0.1 * number,
                "p": 1 - number / 3,
                "entropy": 0.7 - 0.05 * number,
                "kl": 0.001 * number,
                "collapsed_groups": 0.25,
            }
        )
    lines[-1]["validation/success"] = 0.5
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="session")
def built(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    site = build_site(gather([played]), papers=[played])
    folder = tmp_path_factory.mktemp("site") / "site"
    write_site(site.files, folder)
    return Built(played, site, folder)
