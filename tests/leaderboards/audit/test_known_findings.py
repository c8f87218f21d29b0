"""The audit finds what the notes on the papers list, by itself, and nothing that nobody looked at."""

import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.leaderboards.audit import RULES, Finding, audit
from holdergym.leaderboards.audit.averages import TRUNCATED
from holdergym.leaderboards.published import read_claims, read_results
from holdergym.leaderboards.published.claims import Claim

HERE = Path(__file__).parent
KNOWN = tomllib.loads((HERE / "known.toml").read_text())["known"]
REVIEWED = tomllib.loads((HERE / "reviewed.toml").read_text())["reviewed"]


@pytest.fixture(scope="module")
def findings() -> dict[str, Finding]:
    found = audit()
    assert [key for key, count in Counter(finding.key for finding in found).items() if count > 1] == []
    return {finding.key: finding for finding in found}


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known["listed"][:60])
def test_a_known_inconsistency_is_found(findings, known) -> None:
    missing = [key for key in known["keys"] if key not in findings]
    assert not missing
    messages = " | ".join(findings[key].message for key in known["keys"])
    assert not [text for text in known["says"] if text not in messages], messages


def test_every_other_finding_was_looked_at(findings) -> None:
    explained = [key for entry in (*KNOWN, *REVIEWED) for key in entry["keys"]]
    assert len(explained) == len(set(explained))
    assert sorted(findings) == sorted(explained)
    assert all(len(entry["why"]) > 40 for entry in REVIEWED)


def test_a_truncated_average_is_a_warning_and_another_wrong_one_is_not(findings) -> None:
    cut = {finding.cells[0].row for finding in findings.values() if finding.message.endswith(TRUNCATED)}
    assert cut == {"qwen2.5-math-7b_gmpo_0", "qwen2.5-math-7b_holderpo-dynamic_square-des-2-to-minus-2"}
    assert findings["average: holderpo/2 qwen2.5-math-7b_gmpo_0 Avg"].severity == "warning"
    for value, severity, said in (("52.7", "warning", True), ("52.6", "error", False), ("52.9", "error", False)):
        results = [
            replace(each, value=value)
            if (each.table_id, each.row, each.benchmark) == ("holderpo/2", "qwen2.5-math-7b_gmpo_0", "Avg")
            else each
            for each in read_results()
        ]
        found = {finding.key: finding for finding in audit(results, [])}
        finding = found["average: holderpo/2 qwen2.5-math-7b_gmpo_0 Avg"]
        assert (finding.severity, TRUNCATED in finding.message) == (severity, said), finding.message


@pytest.mark.parametrize(
    ("kind", "unit", "value", "severity"),
    [
        # HölderPO's average of 54.9 over the GRPO row's 51.2: 3.7 points, 7.2266 %.
        ("relative gain", "%", "7.23", None),
        ("relative gain", "%", "7.22", "warning"),
        ("relative gain", "%", "7.21", "error"),
        ("gain", "points", "3.7", None),
        ("gain", "points", "3", "warning"),
        ("gain", "points", "2", "error"),
        ("value", "", "54.9", None),
        ("value", "", "55", None),
        ("value", "", "54", "warning"),
        ("value", "", "53", "error"),
        ("value", "", "54.8", "error"),
    ],
)
def test_a_truncated_claim_is_a_warning(kind: str, unit: str, value: str, severity: str | None) -> None:
    results = read_results()
    of = next(each for each in results if each.table_id == "holderpo/2" and each.benchmark == "Avg")
    rows = [replace(of, row=name, value=number) for name, number in (("of", "54.9"), ("over", "51.2"))]
    claim = Claim(
        "holderpo",
        "made",
        "a claim",
        kind,
        value,
        unit=unit,
        table="holderpo/2",
        of="of",
        over="over",
        benchmark="Avg",
        metric=of.metric,
    )
    found = [finding for finding in audit(rows, [claim]) if finding.rule == "claim"]
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    assert all((TRUNCATED in finding.message) == (severity == "warning") for finding in found)


def test_every_rule_finds_something_and_no_rule_knows_a_number() -> None:
    # With other numbers in the same places the findings about the old ones are gone: nothing is a list of known cells.
    results = read_results()
    assert len(audit()) > 100
    agreed = [
        replace(each, value="40.0")
        if each.table_id in ("holderpo/1", "holderpo/2") and each.benchmark == "AIME24" and "static_minus-1" in each.row
        else each
        for each in results
    ]
    keys = {finding.key for finding in audit(agreed, read_claims())}
    assert "contradiction: holderpo/1 qwen2.5-math-7b_holderpo-static_minus-1 AIME24" not in keys
    spoiled = [
        replace(each, value="41.0")
        if each.table_id == "holderpo/2" and each.benchmark == "AIME24" and each.row.endswith("grpo_1")
        else each
        for each in results
    ]
    found = {finding.key: finding for finding in audit(spoiled, read_claims())}
    assert "impossible rate: holderpo/2 AIME24" in found
    assert "average: holderpo/2 qwen2.5-math-7b_grpo_1 Avg" in found
    assert "quoted row: holderpo/2 qwen2.5-math-7b_grpo_1" not in found
    assert len(RULES) == 15


def test_no_numbers_give_no_findings() -> None:
    assert audit([], []) == []
