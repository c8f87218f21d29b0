"""Real run folders compared: what is refused, what is corrected, what is listed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.trajectory import Outcome
from holdergym.eval.compare import compare_runs
from holdergym.eval.conditions import mismatches
from holdergym.eval.errors import RunError
from holdergym.eval.run import Run, read_run
from holdergym.eval.run_folder import RunFolder
from holdergym.eval.significance import holm, mcnemar

Play = Callable[..., Run]
_ENDS = {"1": Outcome.WON, "0": Outcome.LIMIT, "e": Outcome.ERROR}


@pytest.fixture
def play(tmp_path: Path, plan, session, make_episode) -> Play:
    """Writes a run of the six made-up tasks: each letter is an episode, won, not won, failed, or not played."""

    def make(name: str, *samples: str, panel=None, dialect: str = "0.4", fingerprint: str | None = None, **settings):
        chosen = replace(
            plan,
            config=replace(plan.config, samples=len(samples), **settings),
            panel=panel or plan.panel,
            dialect=dialect,
            agent_fingerprint=fingerprint or plan.agent_fingerprint,
        )
        with RunFolder(tmp_path / name, chosen, session) as opened:
            for sample, letters in enumerate(samples):
                for number, did in enumerate(letters):
                    if did != "-":
                        opened.append(make_episode(number, _ENDS[did], sample=sample, agent=chosen.agent_fingerprint))
            opened.summarise()
        return read_run(tmp_path / name)

    return make


def test_every_pair_by_task_type_and_with_the_discordant_tasks(play: Play) -> None:
    runs = [play("a", "000000"), play("b", "111110"), play("c", "100000")]
    report = compare_runs(runs)
    assert [(each.first, each.second) for each in report.comparisons] == [(0, 1), (0, 2), (1, 2)]
    first = report.comparisons[0]
    assert first.overall.paired.p.value == mcnemar(0, 5)
    assert {kind: tested.paired.tasks for kind, tested in first.by_type.items()} == {"look": 3, "pick": 3}
    assert [task.task_id[-1] for task in first.discordant] == ["0", "1", "2", "3", "4"]
    assert first.discordant[2].first.outcomes == (Outcome.LIMIT,)
    assert first.discordant[2].second.lines == (3,)
    raw = [each.overall.paired.p.value for each in report.comparisons]
    assert tuple(each.overall.adjusted_p.value for each in report.comparisons) == holm(raw)
    typed = [tested for each in report.comparisons for tested in each.by_type.values()]
    assert tuple(each.adjusted_p.value for each in typed) == holm([each.paired.p.value for each in typed])


def test_one_pair_needs_no_correction(play: Play) -> None:
    (only,) = compare_runs([play("a", "000000"), play("b", "111111")]).comparisons
    assert only.overall.adjusted_p == only.overall.paired.p
    assert only.overall.different
    assert not compare_runs([play("c", "000000"), play("d", "111110")]).comparisons[0].overall.different


def test_failed_episodes_are_left_out_and_the_other_rule_stands_beside(play: Play) -> None:
    (found,) = compare_runs([play("a", "11e010"), play("b", "111-1e")]).comparisons
    assert (found.overall.paired.tasks, found.overall.paired.left_out) == (3, 3)
    assert found.overall.failed_as_lost is not None
    assert found.overall.failed_as_lost.tasks == 5
    assert found.overall.failed_as_lost.better_second == 1
    (clean,) = compare_runs([play("c", "11-010"), play("d", "111111")]).comparisons
    assert clean.overall.failed_as_lost is None


def test_samples_are_paired_by_task(play: Play) -> None:
    (found,) = compare_runs([play("a", "110000", "100000"), play("b", "111000", "111000")]).comparisons
    assert found.overall.paired.test == "paired_permutation"
    assert [task.task_id[-1] for task in found.discordant] == ["1", "2"]
    assert found.discordant[0].first.attempts == (2, 1)
    assert len(found.discordant[0].first.lines) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_steps": 20}, "max_steps: 50 and 20"),
        ({"engine": "textworld"}, "engine: native and textworld"),
        ({"dialect": "0.3"}, "dialect: 0.4 and 0.3"),
    ],
)
def test_different_conditions_are_refused_unless_told_to_go_on(play: Play, changes, message: str) -> None:
    runs = [play("a", "111000"), play("b", "111111", **changes)]
    with pytest.raises(RunError, match=f"{message}.*--anyway"):
        compare_runs(runs)
    (found,) = compare_runs(runs, anyway=True).comparisons
    assert [str(mismatch) for mismatch in found.mismatches] == [message]
    assert found.overall.paired.tasks == 6


def test_different_panels_are_compared_over_the_tasks_of_both(play: Play, panel) -> None:
    runs = [play("a", "111000"), play("b", "1111", panel=replace(panel, tasks=panel.tasks[:4]))]
    with pytest.raises(RunError, match=r"panel: made_up \(\w{12}\) and made_up\[4 of 6\]"):
        compare_runs(runs)
    (found,) = compare_runs(runs, anyway=True).comparisons
    assert (found.overall.paired.tasks, found.overall.paired.better_second) == (4, 1)


def test_panels_without_a_common_task_cannot_be_compared(play: Play, panel) -> None:
    runs = [
        play("a", "111", panel=replace(panel, tasks=panel.tasks[:3])),
        play("b", "---111", panel=replace(panel, tasks=panel.tasks[3:])),
    ]
    with pytest.raises(RunError, match="no task in common"):
        compare_runs(runs, anyway=True)


def test_too_few_runs_and_one_given_twice(play: Play) -> None:
    run = play("a", "111000")
    with pytest.raises(RunError, match="at least two"):
        compare_runs([run])
    with pytest.raises(RunError, match="given twice"):
        compare_runs([run, run])


def model(prompt: str, **settings: object) -> LanguageModelSettings:
    return LanguageModelSettings(**{"model": "m", "prompt": prompt, "max_tokens": 64, "temperature": 0.0, **settings})


def fingerprint(model_hash: str, prompt_hash: str) -> str:
    return f"llm m@{model_hash} prompt chat@{prompt_hash} settings 0123abcd"


def test_models_are_compared_only_on_one_prompt(play: Play) -> None:
    """Two models may differ in their weights and their sampling, but not in what they are told."""
    runs = [
        play("a", "111000", agent=model("chat"), fingerprint=fingerprint("aa", "11")),
        play("b", "111100", agent=model("chat", temperature=0.4), fingerprint=fingerprint("bb", "11")),
        play("c", "111000", agent=model("chat"), fingerprint=fingerprint("aa", "22")),
        play("d", "111000", agent=model("chat", history=2), fingerprint=fingerprint("aa", "11")),
        play("e", "111000"),
    ]
    (found,) = compare_runs(runs[:2]).comparisons
    assert [str(each) for each in found.sampling] == ["agent.temperature: 0.0 and 0.4"]
    assert [str(each) for each in mismatches(runs[0], runs[2])] == ["prompt: chat@11 and chat@22"]
    assert [str(each) for each in mismatches(runs[0], runs[3])] == ["agent.history: None and 2"]
    assert mismatches(runs[0], runs[4]) == ()
