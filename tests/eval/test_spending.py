"""Tokens, seconds and costs of a run, and the files that say what tokens cost."""

from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.agents.usage import Prices, Usage
from holdergym.envs.errors import ConfigError
from holdergym.eval.metrics import NO_REPLY, NOT_COUNTED, NOTHING_FINISHED, NOTHING_WON
from holdergym.eval.prices import read_prices
from holdergym.eval.results import Result
from holdergym.eval.spending import CACHED_NOT_COUNTED, NO_PRICES, spending

EPISODE = Result(
    "t/0", "pick", 0, Outcome.WON, 5, 0, None, 1.0, replies=5, usage=Usage(1000, 400, 50), agent_seconds=2.0,
    env_seconds=0.5,
)  # fmt: skip


def test_finished_episodes_are_added_up_and_failed_ones_cost_too() -> None:
    results = [
        EPISODE,
        replace(EPISODE, outcome=Outcome.LIMIT, usage=Usage(3000, 600, 150), agent_seconds=4.0),
        replace(EPISODE, outcome=Outcome.ERROR, usage=Usage(10**6, 0, 0)),
    ]
    found = spending(results, Prices(prompt=1.0, cached=0.1, generated=10.0))
    assert (found.prompt_tokens.value, found.generated_tokens.value) == (2000, 100)
    assert found.cached_share.value == pytest.approx(1000 / 4000)
    assert found.generated_tokens_per_success.value == 200
    assert (found.agent_seconds.value, found.env_seconds.value) == (3.0, 0.5)
    assert found.cost.value == pytest.approx((1_003_000 * 1.0 + 1000 * 0.1 + 200 * 10.0) / 1e6)
    assert found.cost_per_success == found.cost
    failed = spending(results[2:], Prices(prompt=1.0))
    assert failed.cost.value == pytest.approx(1.0)
    assert failed.prompt_tokens.cause == NO_REPLY
    assert failed.cost_per_success.cause == NOTHING_WON


def test_a_server_that_does_not_tell_what_was_cached_has_no_share_of_it() -> None:
    told, untold = EPISODE, replace(EPISODE, usage=Usage(1000, None, 50))
    for results in ([untold], [told, untold], [untold, told]):
        found = spending(results, Prices(prompt=1.0, cached=0.1, generated=10.0))
        assert found.cached_share.cause == CACHED_NOT_COUNTED
        assert found.prompt_tokens.value == 1000
        assert found.cost.defined
    assert spending([untold], Prices(prompt=1.0, cached=0.1)).cost.value == pytest.approx(1000 / 1e6)
    assert spending([replace(EPISODE, usage=Usage(1000, 0, 50))]).cached_share.value == 0.0


def test_what_is_not_known_says_why() -> None:
    assert spending([EPISODE]).cost.cause == NO_PRICES
    assert spending([replace(EPISODE, outcome=Outcome.LOST)], Prices(prompt=1.0)).cost_per_success.cause == NOTHING_WON
    assert spending([replace(EPISODE, usage=None)], Prices(prompt=1.0)).cost.cause == NOT_COUNTED
    partly = spending([EPISODE, replace(EPISODE, outcome=Outcome.TIMEOUT, usage=None)], Prices(prompt=1.0))
    assert partly.cost.cause == NOT_COUNTED
    assert partly.prompt_tokens.value == 1000
    silent = spending([replace(EPISODE, replies=0, usage=None)], Prices(prompt=1.0))
    assert silent.prompt_tokens.cause == silent.cost.cause == NO_REPLY
    assert silent.agent_seconds.value == 2.0
    assert spending([]).agent_seconds.cause == NOTHING_FINISHED


def test_prices_by_model(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('["org/model"]\nprompt = 0.15\ngenerated = 1\n[small]\ncached = 0.5\n')
    assert read_prices(path) == {"org/model": Prices(prompt=0.15, generated=1.0), "small": Prices(cached=0.5)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt = 0.15", "'prompt' is not a group of prices"),
        ("[m]\npromt = 0.15", "promt.*prompt"),
        ("[m]\nprompt = -1", "prompt"),
        ("[m", "not valid TOML"),
    ],
)
def test_prices_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_prices(path)
    with pytest.raises(ConfigError, match="there is no config file"):
        read_prices(tmp_path / "nothing.toml")
