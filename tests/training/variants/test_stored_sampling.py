"""Stored episodes are compared with the run by what their evaluation wrote down."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.prompt import built_in_template
from holdergym.agents.token_file import TokenFileError, load_tokens
from holdergym.agents.trajectory import Outcome
from holdergym.envs.errors import ConfigError
from holdergym.envs.math.grader import RULES_VERSION
from holdergym.eval import EvalConfig, evaluate, read_run
from holdergym.eval.config import GradingSettings
from holdergym.eval.tokens import TOKENS, write_tokens
from holdergym.training import preset
from holdergym.training.config import TrainConfig
from holdergym.training.metrics_log import read_metrics
from holdergym.training.planning import plan_as_text
from holdergym.training.run import train
from holdergym.training.variants.s2l import ExplorerMix
from holdergym.training.variants.stored_sampling import check_stored_episodes

from ..word_game import settings


def evaluated(model: Path, out: Path, limit: int | None = None, **changes: Any) -> Path:
    """The tokens of an evaluation in which a model plays as the policy of ``stored_run`` reads and is read."""
    agent = LanguageModelSettings(model=str(model), prompt="free", max_tokens=4, temperature=1.0)
    agent = replace(agent, **{key: value for key, value in changes.items() if key not in ("env", "grading")})
    env = changes.get("env", "math")
    grading = changes.get("grading")
    evaluate(
        EvalConfig(env=env, panel="builtin_small_valid", limit=limit, agent=agent, samples=2, grading=grading, out=out)
    )
    assert write_tokens(read_run(out)) == out / TOKENS
    return out / TOKENS


def stored_run(
    policy: Path, explorer: Path, samples: Path, own: dict[str, Any] | None = None, **agent: Any
) -> TrainConfig:
    method = replace(preset("s2l-po"), source=ExplorerMix(transition=2))
    other = LanguageModelSettings(model=str(explorer), **(own or {}))
    config = settings(
        policy, method, explorer=other, explorer_samples=samples, panel="builtin_small_valid", group_size=2
    )
    return replace(config, agent=replace(config.agent, **agent))


def test_episodes_of_the_same_sampling_are_taken(tiny_checkpoint: Path, explorer: Path, tmp_path: Path) -> None:
    for name, own in (("plain", {}), ("warm", {"temperature": 0.7, "top_p": 0.95, "top_k": 20})):
        samples = evaluated(explorer, tmp_path / name, **own)
        config = stored_run(tiny_checkpoint, explorer, samples, own)
        assert check_stored_episodes(config) == []
        # What stands for the default of the environment is the default.
        assert check_stored_episodes(replace(config, agent=replace(config.agent, prompt=None))) == []


def test_episodes_that_come_several_times_in_a_group_are_said(
    tiny_checkpoint: Path, explorer: Path, tmp_path: Path
) -> None:
    config = stored_run(tiny_checkpoint, explorer, evaluated(explorer, tmp_path / "run"))
    [said] = check_stored_episodes(replace(config, group_size=4))
    assert "has 2 episodes of a task at least, and the explorer plays up to 4 of a group" in said
    assert "play 4 samples a task" in said


def test_a_prompt_is_known_by_its_text(tiny_checkpoint: Path, explorer: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy of free.jinja"
    copy.write_text(built_in_template("free"), encoding="utf-8")
    samples = evaluated(explorer, tmp_path / "run", prompt=str(copy))
    config = stored_run(tiny_checkpoint, explorer, samples)
    assert check_stored_episodes(config) == []
    copy.write_text(built_in_template("free") + "\n{# changed #}\n", encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"was played with prompt .*copy of free\.jinja \(texts [0-9a-f]{12}\), and the"
    ):
        check_stored_episodes(replace(config, agent=replace(config.agent, prompt=str(copy))))


@pytest.mark.parametrize(
    ("there", "own", "here", "message"),
    [
        ({"temperature": 0.7}, {}, {}, "temperature 0.7, and the explorer of this run has 1.0: set explorer.temp"),
        ({"temperature": 0.0}, {}, {}, "temperature 0.0, and the explorer of this run has 1.0: let the explorer play"),
        ({}, {"temperature": 0.7}, {}, "temperature 1.0, and the explorer of this run has 0.7: set explorer.temper"),
        ({"top_p": 0.95}, {}, {}, "top_p 0.95, and the explorer of this run has 1.0: set explorer.top_p=0.95, or"),
        ({"top_k": 20}, {}, {}, "top_k 20, and the explorer of this run has 0: set explorer.top_k=20, or"),
        ({}, {"top_k": 20}, {}, "top_k 0, and the explorer of this run has 20: set explorer.top_k=0, or"),
        ({"max_tokens": 5}, {}, {}, "max_tokens 5, and the explorer of this run has 4: let the explorer play the"),
        ({"prompt": "chat"}, {}, {}, "prompt chat (texts "),
        ({"chat_template": "plain"}, {}, {}, "prompt free and plain (texts "),
        ({}, {}, {"history": 3}, "history None, and the explorer of this run has 3"),
        ({"max_episode_tokens": 40}, {}, {}, "max_episode_tokens 40, and the explorer of this run has None"),
        (
            {"grading": GradingSettings(policy="final")},
            {},
            {},
            "grading.policy final, and the explorer of this run",
        ),
        (
            {"grading": GradingSettings(cut="not_won")},
            {},
            {},
            "grading.cut not_won, and the explorer of this run",
        ),
        ({"env": "math_retry"}, {}, {}, "env math_retry, and the explorer of this run has math"),
    ],
)
def test_what_differs_is_refused_in_one_line(
    tiny_checkpoint: Path,
    explorer: Path,
    tmp_path: Path,
    there: dict[str, Any],
    own: dict[str, Any],
    here: dict[str, Any],
    message: str,
) -> None:
    config = stored_run(tiny_checkpoint, explorer, evaluated(explorer, tmp_path / "eval", **there), own, **here)
    with pytest.raises(ConfigError) as failure:
        train(replace(config, out=tmp_path / "run"))
    assert f"{config.explorer_samples} was played with {message}" in str(failure.value)
    assert "\n" not in str(failure.value)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError):
        plan_as_text(config)
    # A run in which the explorer never plays reads none of it.
    off = replace(config, method=replace(config.method, source=ExplorerMix(transition=0)))
    assert check_stored_episodes(off) == []


def test_older_rules_of_grading_are_refused(tiny_checkpoint: Path, explorer: Path, tmp_path: Path) -> None:
    samples = evaluated(explorer, tmp_path / "eval")
    config = stored_run(tiny_checkpoint, explorer, samples)
    path = samples.parent / "config.toml"
    written = path.read_text()
    assert f"rules = {RULES_VERSION}\n" in written
    path.write_text(written.replace(f"rules = {RULES_VERSION}\n", "rules = 1\n"))
    with pytest.raises(ConfigError, match=f"grading.rules 1, and the explorer of this run has {RULES_VERSION}: let"):
        check_stored_episodes(config)


def test_a_task_without_an_episode_is_refused_before_anything_is_begun(
    tiny_checkpoint: Path, explorer: Path, tmp_path: Path
) -> None:
    samples = evaluated(explorer, tmp_path / "eval", limit=2)
    config = stored_run(tiny_checkpoint, explorer, samples)
    message = "has no finished episode of 78 of the 80 tasks of the panel builtin_small_valid, for example"
    with pytest.raises(ConfigError, match=message) as failure:
        train(replace(config, out=tmp_path / "run"))
    assert "\n" not in str(failure.value)
    assert not (tmp_path / "run").exists()
    (tmp_path / "moved").mkdir()
    moved = Path(shutil.copy(samples, tmp_path / "moved" / "some.npz"))
    with pytest.raises(ConfigError, match=message):
        plan_as_text(replace(config, explorer_samples=moved))
    # A task whose episodes have all failed is missing as well.
    failed = tmp_path / "failed.npz"
    whole = load_tokens(evaluated(explorer, tmp_path / "whole"))
    name = str(whole.task_ids_E[0])
    outcomes_E = np.where(whole.task_ids_E == name, list(Outcome).index(Outcome.TIMEOUT), whole.outcomes_E)
    replace(whole, outcomes_E=outcomes_E.astype(np.int8)).save(failed)
    with pytest.raises(ConfigError, match=f"no finished episode of 1 of the 80 tasks .* for example '{name}'"):
        check_stored_episodes(replace(config, explorer_samples=failed))
    with pytest.raises(TokenFileError, match="there is no file"):
        check_stored_episodes(replace(config, explorer_samples=tmp_path / "nowhere.npz"))


def test_attempts_are_compared_as_well(tiny_checkpoint: Path, explorer: Path, tmp_path: Path) -> None:
    samples = evaluated(explorer, tmp_path / "eval", env="math_retry")
    config = replace(stored_run(tiny_checkpoint, explorer, samples), env="math_retry")
    assert check_stored_episodes(config) == []
    with pytest.raises(ConfigError, match="max_steps 3, and the explorer of this run has 5"):
        check_stored_episodes(replace(config, max_steps=5))


def test_where_nothing_was_written_down_a_run_says_so_as_it_begins(
    tiny_checkpoint: Path, explorer: Path, tmp_path: Path
) -> None:
    samples = evaluated(explorer, tmp_path / "eval", temperature=0.7)
    (tmp_path / "moved").mkdir()
    moved = shutil.copy(samples, tmp_path / "moved" / "some.npz")
    config = stored_run(tiny_checkpoint, explorer, moved)
    said: list[str] = []
    train(replace(config, out=tmp_path / "run"), say=said.append)
    assert len(said) == 1
    assert said[0].startswith("explorer_samples is not checked, as no config.toml and manifest.json")
    assert "temperature 1, top_p 1 and top_k 0" in said[0]
    assert said[0] in plan_as_text(config)
    assert [line["explorer/episodes"] for line in read_metrics(tmp_path / "run")] == [6, 0]
    # The settings alone do not say which text a prompt had.
    shutil.copy(samples.parent / "config.toml", moved.parent / "config.toml")
    assert check_stored_episodes(config) == said
    (moved.parent / "manifest.json").write_text("{")
    with pytest.raises(ConfigError, match=r"manifest\.json is damaged"):
        check_stored_episodes(config)


def test_another_model_is_named(tiny_checkpoint: Path, explorer: Path, tmp_path: Path) -> None:
    config = stored_run(tiny_checkpoint, explorer, evaluated(tiny_checkpoint, tmp_path / "eval"))
    [note] = check_stored_episodes(config)
    assert note.startswith(
        f"explorer_samples was played by the model {tiny_checkpoint}, and explorer.model is {explorer}"
    )


def test_a_folder_of_another_agent_or_without_a_fingerprint(
    tiny_checkpoint: Path, explorer: Path, tmp_path: Path
) -> None:
    samples = evaluated(explorer, tmp_path / "eval")
    config = stored_run(tiny_checkpoint, explorer, samples)
    path = tmp_path / "eval" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"agent_fingerprint": "expert"}))
    assert check_stored_episodes(config)[0].startswith("explorer_samples is not checked")
    (tmp_path / "eval" / "config.toml").write_text('[agent]\nname = "expert"\n')
    assert check_stored_episodes(config)[0].startswith("explorer_samples is not checked")
