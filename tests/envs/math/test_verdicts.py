"""The answer pairs of ``cases.toml``, both ways round, and what the two policies find in a response."""

import tomllib
from pathlib import Path

import pytest
from holdergym.envs.math.answers.extraction import Policy, find_answer, find_gold
from holdergym.envs.math.answers.plain import read_number, same_number
from holdergym.envs.math.judging import Rules, Verdict, gold_problem, judge

pytest.importorskip("math_verify", reason="needs the extra `math`")

_TABLES = tomllib.loads((Path(__file__).parent / "cases.toml").read_text(encoding="utf-8"))
_PAIRS = [
    pytest.param(first, second, what == "same", id=f"{kind}-{what}-{number}")
    for kind, table in _TABLES.items()
    for what in ("same", "different")
    for number, (first, second) in enumerate(table[what])
]


def _verdict(gold: str, response: str, policy: Policy = Policy.BOXED) -> Verdict:
    return judge([gold], response, Rules(policy)).verdict


def test_there_are_enough_pairs() -> None:
    assert len(_PAIRS) >= 120


@pytest.mark.parametrize(("first", "second", "same"), _PAIRS)
def test_a_pair_is_judged_alike_both_ways_round(first: str, second: str, same: bool) -> None:
    for gold, answer in ((first, second), (second, first)):
        judgement = judge([gold], f"\\boxed{{{answer}}}", Rules())
        assert (judgement.verdict is Verdict.CORRECT) == same, (gold, answer, judgement)


@pytest.mark.parametrize(
    ("response", "boxed", "final"),
    [
        (r"so \boxed{4}.", "4", "4"),
        (r"\boxed{3}. No, \boxed{\frac{1}{2}} it is", r"\frac{1}{2}", r"\frac{1}{2}"),
        (r"Put it in \boxed{} please. The answer is \boxed{42}", "42", "42"),
        (r"\boxed{1}, \boxed{2} and \boxed{3}", "3", "1, 2, 3"),
        (r"\boxed{200} at first. Final Answer: The final answer is $10,455$. I hope it is correct.", "200", "10,455"),
        ("The answer is 10.", None, "10"),
        ("The answer is: $x=3$.", None, "x=3"),
        ("Final Answer: The volume of $ABCD$ is 120. I hope it is correct.", None, "120"),
        ("We get $d = 90/n$. Therefore there are 12 distinct ones.", None, "12"),
        ("therefore $2$, $3$ and $5$", None, "2, 3, 5"),
        (r"unfinished \boxed{4", None, None),
        ("<think>\\boxed{1}</think> \\boxed{2}", "2", "2"),
        ("<think>\\boxed{1} and so on", None, None),
        ("", None, None),
        ("I do not know.", None, None),
    ],
)
def test_policies_find_what_they_promise(response: str, boxed: str | None, final: str | None) -> None:
    assert find_answer(response, Policy.BOXED) == boxed
    assert find_answer(response, Policy.FINAL) == final


def test_a_worked_solution_as_gold_gives_its_box() -> None:
    assert find_gold(r"Thus $x-p=\boxed{2-2p}$.") == "2-2p"
    assert find_gold(r"\dfrac{9}{7}") == r"\dfrac{9}{7}"


def test_no_answer_is_unparsable_and_an_empty_gold_is_an_error() -> None:
    assert _verdict("4", "I give up") is Verdict.UNPARSABLE
    assert _verdict("4", r"\boxed{4)}") is Verdict.UNPARSABLE
    empty = judge([""], r"\boxed{4}", Rules())
    assert (empty.verdict, empty.reason) == (Verdict.ERROR, "the gold answer is empty")
    assert _verdict(r"\frac{1", r"\boxed{4}") is Verdict.ERROR


@pytest.mark.parametrize("gold", [r"\frac{1", "(1", "}1", r"\nonsense{x}{y}", "x+"])
@pytest.mark.parametrize("answer", ["4", r"\text{(C)}", "x=2", "(1,2)", "yes", "x<2", r"\{1,2\}", "4)"])
def test_a_gold_that_cannot_be_read_makes_no_answer_wrong(gold: str, answer: str) -> None:
    assert _verdict(gold, f"\\boxed{{{answer}}}") is Verdict.ERROR
    for golds in ([gold, "17"], ["17", gold]):
        assert judge(golds, f"\\boxed{{{answer}}}", Rules()).verdict is Verdict.ERROR
        assert judge(golds, r"\boxed{17.0}", Rules()).verdict is Verdict.CORRECT
    # The other way round it is the answer that is broken.
    assert _verdict(answer, f"\\boxed{{{gold}}}") is not Verdict.CORRECT


@pytest.mark.parametrize("gold", [r"\frac{1", "}1", "{"])
def test_a_gold_that_no_box_can_hold_makes_no_answer_wrong(gold: str) -> None:
    for response in (f"\\boxed{{{gold}}}", "I give up", f"\\boxed{{{'1+' * 20_000}1}}"):
        assert _verdict(gold, response) is Verdict.ERROR
    assert judge([gold, "17"], "I give up", Rules()).verdict is Verdict.UNPARSABLE
    assert _verdict("17", f"\\boxed{{{gold}}}") is Verdict.UNPARSABLE


def test_one_of_several_golds_suffices() -> None:
    golds = ["0.5", r"\frac{1}{2}", "one half"]
    assert judge(golds, r"\boxed{One half}", Rules()).verdict is Verdict.CORRECT
    assert judge(golds, r"\boxed{0.4}", Rules()).verdict is Verdict.INCORRECT


@pytest.mark.parametrize(
    "gold", ["4", r"\dfrac{9}{7}", r"\left(3,\frac{\pi}{2}\right)", r"\text{(C)}", "8.7e8", "E_{1},E_{2}"]
)
def test_a_sound_gold_passes_against_itself(gold: str) -> None:
    assert gold_problem(gold) is None


@pytest.mark.parametrize("gold", ["", "(1", r"\frac{1}{", r"\nonsense{x}{y}"])
def test_a_broken_gold_fails_against_itself(gold: str) -> None:
    assert gold_problem(gold) is not None


def test_fewer_digits_can_be_asked_of_a_decimal() -> None:
    third, short = read_number(r"\frac{1}{3}"), read_number("0.33")
    assert third is not None
    assert short is not None
    assert same_number(third, short, digits=2)
    assert not same_number(third, short, digits=3)
