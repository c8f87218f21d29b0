"""Ranks against the comparison that `holdergym compare` makes, and the rule at its edges."""

from collections.abc import Callable
from pathlib import Path

import pytest
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.envs.panel import Panel
from holdergym.eval.compare import compare_runs
from holdergym.eval.run import Run, read_run
from holdergym.leaderboards.site.gathering import NamedRun, gather
from holdergym.leaderboards.site.pools import pools_of
from holdergym.leaderboards.site.standings import rank_runs, why_not_compared

from ..conftest import made_up_panel, make_run

__all__ = ["make_run"]

MakeRun = Callable[..., Run]


def test_the_tests_are_those_of_compare(played: Path) -> None:
    runs = [read_run(played / name) for name in ("expert", "walkthrough", "random", "random-again")]
    standings = rank_runs(runs)
    for comparison in compare_runs(runs).comparisons:
        found = standings.pairings[comparison.first, comparison.second]
        assert found.paired == comparison.overall.paired
        assert found.adjusted_p == comparison.overall.adjusted_p
        assert found.different == comparison.overall.different
    assert standings.ranks == (1, 1, 3, 3)
    assert standings.letters == ("a", "a", "b", "b")


def test_a_tie_is_a_tie_whatever_the_rates(make_run: MakeRun) -> None:
    """5 and 6 of 12 say nothing; 12 of 12 against 5 and 6 does, corrected for three pairs."""
    standings = rank_runs([make_run("a", won=12), make_run("b", won=6), make_run("c", won=5)])
    assert standings.pairings[0, 1].adjusted_p.value == pytest.approx(2 * 0.03125)
    assert standings.pairings[0, 2].adjusted_p.value == pytest.approx(3 * 0.015625)
    assert standings.ranks == (1, 1, 2)
    assert standings.letters == ("a", "a b", "b")
    assert standings.tests == 3


def test_a_run_without_a_finished_episode_has_no_rank(make_run: MakeRun) -> None:
    standings = rank_runs([make_run("a", won=12), make_run("b", won=0, failed=12)])
    assert standings.ranks == (1, None)
    assert standings.letters == ("a", "")
    assert why_not_compared(standings.of(1, 0)) == "no task was finished by both"


def test_models_that_were_told_other_things_are_not_compared(make_run: MakeRun) -> None:
    runs = [
        make_run("chat", won=12, agent_settings=LanguageModelSettings(model="m", prompt="chat")),
        make_run("window", won=0, agent_settings=LanguageModelSettings(model="m", prompt="window")),
        make_run("scripted", won=0),
    ]
    (pool,) = pools_of([NamedRun(f"{number}", run) for number, run in enumerate(runs)])
    standings = rank_runs([run for _, run in pool.runs])
    assert standings.ranks == (1, 2, 1) or standings.ranks == (1, 1, 2)
    numbers = [run.folder.name for _, run in pool.runs]
    found = standings.of(numbers.index("chat"), numbers.index("window"))
    assert found.paired is None
    assert "prompt" in why_not_compared(found)
    assert standings.of(numbers.index("chat"), numbers.index("scripted")).different


def test_rankings_hold_only_what_may_be_compared(make_run: MakeRun) -> None:
    other = Panel.of("made_up", list(made_up_panel(digest="b").tasks))
    runs = [
        make_run("a"),
        make_run("b", max_steps=60),
        make_run("c", engine="textworld"),
        make_run("d", panel=other),
        make_run("e", won=7),
    ]
    pools = pools_of([NamedRun(run.folder.name, run) for run in runs])
    assert [[named.slug for named in pool.runs] for pool in pools] == [["e", "a"], ["b"], ["c"], ["d"]] or (
        pools[0].runs[0].slug == "e"
        and sorted(named.slug for pool in pools[1:] for named in pool.runs) == ["b", "c", "d"]
    )


def test_gathered_runs_make_one_pool_a_panel(played: Path) -> None:
    pools = pools_of(gather([played]).runs)
    assert [len(pool.runs) for pool in pools] == [4, 1]
