"""Comparisons as text, Markdown and JSON: every number, every warning, no markup from a name."""

import json
import re

import pytest
from holdergym.eval.compare import compare_runs
from holdergym.eval.value import Value
from holdergym.leaderboards.comparison_json import report_as_json
from holdergym.leaderboards.comparison_markdown import report_as_markdown
from holdergym.leaderboards.comparison_text import report_as_text
from holdergym.leaderboards.comparison_words import letter, p_value, points, verdict

NASTY = "<b>|`x`\x1b[31m"


@pytest.fixture
def report(make_run):
    return compare_runs([make_run("first", "walker", won=3), make_run("second", "expert", won=12)])


def test_text_says_who_wins_by_how_much_and_where(report) -> None:
    text = report_as_text(report, 4)
    assert "B wins more often than A (B - A: +75.0 points, 95% interval [" in text
    assert "Exact McNemar test, two-sided, p = 0.004" in text
    assert "Tasks: both won 3, only A 0, only B 9, neither 0." in text
    assert re.search(r"^A +walker +\S*first +3/12 +25\.0 +\[8\.9, 53\.2\]$", text, re.MULTILINE)
    assert re.search(
        r"^Pick +4 +25\.0 +100\.0 +\+75\.0 .* 0 +3 +0\.250 +0\.750  cannot tell apart$", text, re.MULTILINE
    )
    assert "Tasks with which B did better: 9" in text
    assert re.search(r"A limit  \S+/first/episodes\.jsonl:4$", text, re.MULTILINE)
    assert re.search(r"^Side by side: holdergym view \S+/first --compare \S+/second$", text, re.MULTILINE)
    assert "and 5 more: --discordant 9 or --format json lists them all" in text


def test_agents_that_are_alike_cannot_be_told_apart(make_run) -> None:
    text = report_as_text(compare_runs([make_run("a", won=6), make_run("b", won=7)]))
    assert "Cannot tell A and B apart on 12 tasks (B - A: +8.3 points, 95% interval [-" in text


def test_warnings(make_run) -> None:
    runs = [make_run("a", won=6, failed=2), make_run("b", won=6, missing=1, max_steps=20, samples=2)]
    text = report_as_text(compare_runs(runs, anyway=True))
    assert "Played under different conditions, so a difference need not be the agents': max_steps: 50 and 20." in text
    assert "The agents' settings differ: samples: 1 and 2." in text
    assert "2 tasks left out that A or B has not finished." in text
    assert re.search(r"counted as not won instead: \S+ points on 12 tasks, p = \d", text)


def test_on_a_drawn_panel_rates_and_their_difference_have_the_same_weights(make_run, panel_of) -> None:
    panel = panel_of().draw(30, 1)
    runs = [make_run(name, won=won, panel=panel) for name, won in (("a", 5), ("b", 23))]
    report = compare_runs(runs)
    assert {draws for draws in panel.draws} != {1}
    (comparison,) = report.comparisons
    for found, won in ((comparison.overall.paired.first, 5), (comparison.overall.paired.second, 23)):
        assert found.value == pytest.approx(won / 30)
    assert "(B - A: +60.0 points" in report_as_text(report)


def test_where_interval_and_test_disagree_it_says_which_decides(make_run) -> None:
    """McNemar: 5 of 5 discordant tasks have p = 2 / 2^5; Tango's interval leaves out 0 all the same."""
    alike = compare_runs([make_run("a", won=6), make_run("b", won=11)])
    interval = alike.comparisons[0].overall.paired.interval
    assert interval.low > 0
    assert "The interval leaves out 0, the test cannot tell the two apart" in report_as_markdown(alike, 3)
    text = report_as_text(alike)
    assert "Cannot tell A and B apart" in text
    assert re.search(r"The interval leaves out 0, .* \(p = 0\.06\d\): the test decides\. .* \(here 5\)", text)
    for won, agreeing in ((7, "Cannot tell"), (12, "B wins more often")):
        text = report_as_text(
            compare_runs([make_run(f"a{won}", won=6 if won == 7 else 3), make_run(f"b{won}", won=won)])
        )
        assert agreeing in text
        assert "the test decides" not in text


def test_an_interval_that_only_holm_s_correction_contradicts(make_run) -> None:
    runs = [make_run("a", won=6), make_run("b", won=12), make_run("c", won=6)]
    report = compare_runs(runs)
    assert report.comparisons[0].overall.paired.p.value < 0.05 < report.comparisons[0].overall.adjusted_p.value
    assert "after Holm's correction for all pairs (p = 0.094) the two cannot be told apart" in report_as_text(report)


@pytest.mark.parametrize(("unplayed", "failed"), [(1, 0), (0, 2)])
def test_samples_that_are_missing_are_named(make_run, unplayed: int, failed: int) -> None:
    runs = [make_run("a", samples=2), make_run("b", samples=2, missing=unplayed, failed=failed)]
    report = compare_runs(runs)
    words = "1 episode of B not played or failed" if unplayed else "1 task left out that A or B has not finished"
    assert words in report_as_text(report)
    assert words in report_as_markdown(report, 3)
    found = json.loads(report_as_json(report))["comparisons"][0]
    assert found["unfinished_episodes"] == [0, unplayed]
    assert "not played or failed" not in report_as_text(compare_runs([runs[0], make_run("c", samples=2)]))


def test_runs_on_different_panels_are_both_named(make_run, panel_of) -> None:
    runs = [make_run("a"), make_run("b", panel=panel_of().limit(6)), make_run("c")]
    report = compare_runs(runs, anyway=True)
    assert report_as_text(report).splitlines()[:3] == [
        f"alfworld, panel {label}: {size} tasks, sha256 {run.panel.sha256[:12]}"
        for label, size, run in (("made_up", 12, runs[0]), ("made_up[6 of 12]", 6, runs[1]))
    ] + [""]
    assert report_as_markdown(report, 3).count("sha256") == 2


def test_markdown_is_a_table_for_each_pair(make_run) -> None:
    runs = [make_run("a", NASTY, won=3), make_run("b", won=9), make_run("c", won=12)]
    lines = report_as_markdown(compare_runs(runs), 2).splitlines()
    assert [line for line in lines if line.startswith("### ")] == ["### A and B", "### A and C", "### B and C"]
    assert sum("after Holm's correction for 3 pairs" in line for line in lines) == 3
    blocks = "\n".join(lines).split("\n\n")
    tables = [block.splitlines() for block in blocks if block.startswith("|")]
    assert len(tables) == 1 + 2 * 3
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert "<b>" not in "\n".join(lines)
    assert "4 more are not listed." in lines


def test_markdown_has_the_verdict_of_each_task_type_and_no_empty_table(report) -> None:
    text = report_as_markdown(report, 0)
    assert re.search(r"^\| Pick \| 4 \| 25\.0 \| 100\.0 \|.*\| 0\.750 \| cannot tell apart \|$", text, re.MULTILINE)
    assert text.endswith("\nDiscordant tasks: 9, not listed.\n")
    assert "| Discordant tasks" not in text


def test_json_of_two_runs_of_one_agent_says_which_is_which(make_run) -> None:
    found = json.loads(report_as_json(compare_runs([make_run("a", won=3), make_run("b", won=12)])))
    assert [run["letter"] for run in found["runs"]] == ["A", "B"]
    assert found["comparisons"][0]["verdict"].startswith("B wins more often than A (B - A: +75.0 points")


def test_json_has_everything_in_full(report) -> None:
    found = json.loads(report_as_json(report), parse_constant=pytest.fail)
    (comparison,) = found["comparisons"]
    assert comparison["overall"]["p"] == 2 / 2**9
    assert comparison["overall"]["interval"]["method"] == "tango"
    assert comparison["overall"]["different"] is True
    assert len(comparison["discordant"]) == 9
    assert comparison["discordant"][0]["first"] == {
        "won": 0,
        "finished": 1,
        "outcomes": ["limit"],
        "file": str(report.runs[0].folder / "episodes.jsonl"),
        "lines": [4],
    }
    assert set(comparison["by_type"]) == {task.type for task in report.runs[0].panel.tasks}
    assert comparison["mismatches"] == []


def test_json_of_runs_that_share_no_finished_task(make_run) -> None:
    report = compare_runs([make_run("a", won=0, failed=12), make_run("b", won=3)])
    found = json.loads(report_as_json(report), parse_constant=pytest.fail)["comparisons"][0]["overall"]
    assert (found["p"], found["interval"], found["tasks"]) == (None, None, 0)
    assert found["undefined"]["p"] == "no task was finished by both"
    assert verdict(report.comparisons[0].overall, "A", "B") == (
        "Nothing can be said of A and B: no task was finished by both."
    )
    assert "Nothing can be said of A and B" in report_as_text(report)
    assert "Nothing can be said of A and B" in report_as_markdown(report, 5)


def test_how_numbers_are_written() -> None:
    assert [p_value(Value(p)) for p in (1.0, 0.0341, 0.00012, 0.0)] == ["1.000", "0.034", "1.2e-04", "0.0e+00"]
    assert [points(Value(d)) for d in (0.03, -0.5, 0.0, -0.0)] == ["+3.0", "-50.0", "+0.0", "+0.0"]
    assert points(Value.undefined("no")) == p_value(Value.undefined("no")) == "-"
    assert [letter(n) for n in (0, 25, 26)] == ["A", "Z", "R27"]
