"""The audit finds what the notes on the papers list, by itself, and nothing that nobody looked at."""

import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.leaderboards.audit import RULES, Finding, audit
from holdergym.leaderboards.published import read_claims, read_results

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
