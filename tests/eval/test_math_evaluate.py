"""Mathematics through the evaluator: real problems, the real grader, and the two ends of every table."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.agent import Response
from holdergym.agents.answers import BlankAgent
from holdergym.agents.registry import BlankSettings, ExpertSettings, OracleSettings, ReplaySettings
from holdergym.agents.rollout import play_episode
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.envs.errors import ConfigError, HolderGymError
from holdergym.envs.math.env import MathRetryEnv
from holdergym.eval.config import EvalConfig, GradingSettings
from holdergym.eval.evaluation import evaluate
from holdergym.eval.math_arena import settle_cut
from holdergym.eval.repeated import at_every_k
from holdergym.eval.run import EPISODES


@pytest.mark.parametrize("env", ["math", "math_retry", "math_python"])
def test_the_two_ends_of_the_table(env: str, tmp_path: Path) -> None:
    oracle = EvalConfig(env=env, limit=10, agent=OracleSettings(), out=tmp_path / "oracle")
    blank = replace(oracle, agent=BlankSettings(), out=tmp_path / "blank")
    assert [result.outcome for result in evaluate(oracle).results] == [Outcome.WON] * 10
    assert not [result for result in evaluate(blank).results if result.outcome is Outcome.WON]


@pytest.mark.shared
@pytest.mark.parametrize("panel", ["aime2024", "aime2025", "amc", "amc2023", "math500", "minerva_math", "gsm8k"])
def test_the_published_panels(panel: str, shared: Path, tmp_path: Path) -> None:
    pytest.importorskip("math_verify", reason="needs the extra `math`")
    config = EvalConfig(
        env="math", panel=panel, data=shared / "math", limit=60, out=tmp_path / "o", agent=OracleSettings()
    )
    run = evaluate(config)
    assert all(result.outcome is Outcome.WON for result in run.results)
    assert run.manifest.panel.name == panel
    run = evaluate(replace(config, agent=BlankSettings(), out=tmp_path / "b"))
    assert not any(result.outcome is Outcome.WON for result in run.results)


def test_the_line_of_an_episode_has_answer_and_verdict(tmp_path: Path) -> None:
    evaluate(EvalConfig(env="math", limit=3, agent=OracleSettings(), out=tmp_path / "run"))
    for line in (tmp_path / "run" / EPISODES).read_text().splitlines():
        record = json.loads(line)
        assert record["verdict"] == "correct"
        assert record["turns"][0]["action"] == f"\\boxed{{{record['answer']}}}"
    run = evaluate(EvalConfig(env="math", limit=2, agent=BlankSettings(), out=tmp_path / "blank"))
    assert {result.outcome for result in run.results} == {Outcome.LOST}
    assert json.loads((tmp_path / "blank" / EPISODES).read_text().splitlines()[0])["verdict"] == "unparsable"


def problems(folder: Path, *golds: str) -> Path:
    path = folder / "mine.jsonl"
    rows = [{"id": str(number), "problem": f"What is {number}?", "answer": gold} for number, gold in enumerate(golds)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_bad_gold_stops_the_run_before_anything_is_written(tmp_path: Path) -> None:
    pytest.importorskip("math_verify", reason="needs the extra `math`")
    config = EvalConfig(env="math", data=problems(tmp_path, "1", "", "3"), agent=OracleSettings(), out=tmp_path / "run")
    with pytest.raises(HolderGymError, match=r"mine/1.*grading\.check_golds=false") as failure:
        evaluate(config)
    assert "\n" not in str(failure.value)
    assert not (tmp_path / "run").exists()
    played = evaluate(replace(config, grading=GradingSettings(check_golds=False)))
    # A gold that nothing can be compared with is an error of the grading, never a wrong answer.
    assert [result.outcome for result in played.results] == [Outcome.WON, Outcome.ERROR, Outcome.WON]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            EvalConfig(env="math", agent=ExpertSettings()),
            "agent 'expert' does not play mathematics: choose --agent blank",
        ),
        (EvalConfig(env="alfworld", agent=OracleSettings()), "agent 'oracle' does not play alfworld"),
        (EvalConfig(env="math", engine="native", agent=OracleSettings()), "leave out engine"),
        (EvalConfig(env="math", max_steps=3, agent=OracleSettings()), "take --env math_retry"),
        (EvalConfig(env="alfworld", grading=GradingSettings()), "leave out grading"),
        (EvalConfig(env="math", grading=GradingSettings(rules=99), agent=OracleSettings()), "version 99 of the rules"),
        (
            EvalConfig(env="math_python", grading=GradingSettings(policy="final"), agent=OracleSettings()),
            "leave out grading.policy",
        ),
    ],
)
def test_settings_that_do_not_fit(config: EvalConfig, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate(replace(config, out=tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_answers_are_played_again_from_a_recording(tmp_path: Path) -> None:
    first = evaluate(EvalConfig(env="math", limit=3, agent=OracleSettings(), out=tmp_path / "first"))
    again = EvalConfig(env="math", limit=3, agent=ReplaySettings(path=first.folder / EPISODES), out=tmp_path / "again")
    assert all(result.outcome is Outcome.WON for result in evaluate(again).results)


@pytest.mark.parametrize(
    ("outcome", "finish", "cut", "settled"),
    [
        (Outcome.WON, "length", "graded", Outcome.WON),
        (Outcome.WON, "length", "not_won", Outcome.TOKENS),
        (Outcome.LOST, "length", "graded", Outcome.TOKENS),
        (Outcome.LOST, "stop", "graded", Outcome.LOST),
        (Outcome.WON, "stop", "not_won", Outcome.WON),
        (Outcome.ERROR, "length", "not_won", Outcome.ERROR),
        (Outcome.LOST, None, "graded", Outcome.LOST),
    ],
)
def test_a_cut_response_has_its_own_outcome(outcome: Outcome, finish: str | None, cut: str, settled: Outcome) -> None:
    played = Trajectory("t", "k", 0, 1, "a", (Turn("o", "a", True, 0.0, finish=finish),), outcome, 0.0)
    assert settle_cut(played, cut).outcome is settled


def test_a_panel_that_is_drawn_says_so(tmp_path: Path) -> None:
    config = EvalConfig(env="math", draw=40, limit=12, seed=3, agent=OracleSettings(), out=tmp_path / "run")
    run = evaluate(config)
    assert run.expected == len(run.results) == 40
    assert len(run.panel.tasks) <= 12
    assert run.panel.label == f"builtin_valid[40 draws of 12 of the 200, {len(run.panel.tasks)} different]"
    assert run.complete
    other = evaluate(replace(config, seed=4, out=tmp_path / "other"))
    assert other.panel.sha256 != run.panel.sha256


def test_the_answer_and_the_verdict_are_of_one_attempt() -> None:
    class GivingUp(BlankAgent):
        def act(self, conversations):  # type: ignore[no-untyped-def]
            return [Response(r"\boxed{123456}" if c.turn == 0 else "I give up") for c in conversations]

    env = MathRetryEnv(rewards=[1.0, 0.5])
    played = play_episode(env, GivingUp(), env.panel.tasks[0], 0, 1)
    assert (played.answer, played.verdict) == (None, "unparsable")


def test_a_vote_counts_as_the_outcome_does(tmp_path: Path) -> None:
    """maj@1 is pass@1, also where a correct answer in a cut response is not won."""
    run = evaluate(EvalConfig(env="math", limit=4, samples=2, agent=OracleSettings(), out=tmp_path / "run"))
    results = [replace(r, outcome=Outcome.TOKENS if r.sample else r.outcome) for r in run.results]
    first = at_every_k(results, tasks=4, samples=2, votes=True)[0]
    assert first.estimates["maj@1"].value.value == first.estimates["pass@1"].value.value == 0.5
