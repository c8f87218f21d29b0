"""Presets: what they fix, what they refuse, and when settings get their name."""

from collections.abc import Sequence

import pytest
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.registry import ExpertSettings
from holdergym.envs.errors import ConfigError, UnknownNameError
from holdergym.envs.settings import Layer, resolve
from holdergym.eval.config import EvalConfig, GradingSettings
from holdergym.eval.evaluation import evaluate
from holdergym.eval.protocols import PROTOCOLS, find_protocol, protocol_layers, with_protocol

MODEL: dict[str, object] = {"agent": {"name": "llm", "model": "smollm2-135m"}}


def settled(*values: dict[str, object]) -> EvalConfig:
    """Settings as the command line makes them of what is given."""
    layers: Sequence[Layer] = [Layer("--x", one) for one in values]
    return resolve(EvalConfig, [*protocol_layers(layers), *layers])


@pytest.mark.parametrize("name", [protocol.name for protocol in PROTOCOLS])
def test_a_preset_fixes_its_settings(name: str) -> None:
    protocol = find_protocol(name)
    config = settled({"protocol": name}, MODEL)
    assert config.env in protocol.envs
    assert with_protocol(config) == config
    assert isinstance(config.agent, LanguageModelSettings)
    assert config.agent.temperature == protocol.model["temperature"]
    assert config.agent.max_tokens == protocol.model["max_tokens"]


def test_what_the_papers_did() -> None:
    config = settled({"protocol": "gigpo-128"}, MODEL)
    agent = config.agent
    assert isinstance(agent, LanguageModelSettings)
    assert (config.panel, config.draw, config.max_steps, config.samples) == ("valid_seen", 128, 50, 1)
    assert (agent.prompt, agent.history, agent.temperature, agent.unparsable) == ("window", 2, 0.4, "tail")


def test_another_value_is_refused_not_mixed_in() -> None:
    config = settled({"protocol": "gigpo-128"}, MODEL, {"max_steps": 30})
    with pytest.raises(ConfigError, match=r"protocol 'gigpo-128' fixes max_steps at 50, and it is 30 here"):
        with_protocol(config)
    config = settled({"protocol": "gigpo-128"}, MODEL, {"limit": 3})
    with pytest.raises(ConfigError, match="leaves limit unset, and it is 3 here: leave it out"):
        with_protocol(config)
    config = settled({"protocol": "math-greedy"}, MODEL, {"agent": {"temperature": 0.7}})
    with pytest.raises(ConfigError, match=r"fixes agent\.temperature at 0\.0, and it is 0\.7"):
        with_protocol(config)
    with pytest.raises(ConfigError, match="is for env math, not alfworld"):
        with_protocol(settled({"protocol": "math-greedy", "env": "alfworld"}, MODEL))
    with pytest.raises(UnknownNameError, match="did you mean 'gigpo-128'"):
        settled({"protocol": "gigpo128"})


def test_settings_that_are_a_preset_s_get_its_name(tmp_path) -> None:
    config = EvalConfig(agent=ExpertSettings(), out=tmp_path / "run")
    assert evaluate(config).config.protocol == "full"
    config = EvalConfig(limit=2, agent=ExpertSettings(), out=tmp_path / "part")
    assert evaluate(config).config.protocol is None
    math = EvalConfig(env="math", grading=GradingSettings(), max_steps=1)
    assert with_protocol(math).protocol == "math-greedy"


def test_every_preset_says_what_outcomes_count_as() -> None:
    for protocol in PROTOCOLS:
        assert protocol.summary.endswith(".")
        assert protocol.source
        assert "counts 1" in protocol.outcomes
        assert "error" in protocol.outcomes or "verdicts" in protocol.outcomes


def test_what_is_given_is_refused_before_anything_is_opened(tmp_path) -> None:
    """No model is loaded and no game is read: the model does not even exist."""
    nowhere = {"agent": {"name": "llm", "model": "no/such"}}
    for change, message in (({"max_steps": 30}, "max_steps"), ({"limit": 3}, "limit"), ({"env": "math"}, "is for env")):
        config = settled({"protocol": "gigpo-128"}, nowhere, {**change, "out": str(tmp_path / "run")})
        with pytest.raises(ConfigError, match=message):
            evaluate(config)
