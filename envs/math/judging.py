"""The verdict on one response, computed in the process that asks. ``Grader`` runs this in killable workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from .answers.comparing import MIN_DIGITS, Comparison
from .answers.extraction import Policy, find_answer, find_gold
from .answers.reading import read_answer
from .answers.structure import Answer, Formula, Items, Named, Relation, Unreadable
from .answers.tidy import squash, tidy


class Verdict(StrEnum):
    """What the grader found. Only the first two say something about the answer; none is ever replaced by a 0."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    UNPARSABLE = "unparsable"
    TIMEOUT = "timeout"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one response.

    Attributes:
        verdict: The finding.
        answer: The answer that was compared, as written; None if none was found.
        reason: One line on why, for ``unparsable``, ``timeout`` and ``error``; else empty.
    """

    verdict: Verdict
    answer: str | None = None
    reason: str = ""


class Rules(NamedTuple):
    """Everything besides the texts that a verdict depends on.

    Attributes:
        policy: Where the answer may stand.
        min_digits: Significant digits that a decimal must show to stand for an exact value that it rounds.
    """

    policy: Policy = Policy.BOXED
    min_digits: int = MIN_DIGITS


def judge(golds: Sequence[str], response: str, rules: Rules) -> Judgement:
    """Judges a response against a gold, or against several golds of which one suffices.

    Never raises for what stands in the texts. A gold that cannot be read is an ``error``, not a wrong answer.
    """
    answer = find_answer(response, rules.policy)
    readable = [gold for gold in map(find_gold, golds) if tidy(gold)]
    if not readable:
        return Judgement(Verdict.ERROR, answer, "the gold answer is empty")
    if answer is None:
        return Judgement(Verdict.UNPARSABLE, None, f"the response holds no answer (policy {rules.policy})")
    judgement = Judgement(Verdict.INCORRECT, answer)
    for gold in readable:
        judgement = _against(gold, answer, rules)
        if judgement.verdict is Verdict.CORRECT:
            break
    return judgement


def _against(gold: str, answer: str, rules: Rules) -> Judgement:
    if _same_text(gold, answer):
        return Judgement(Verdict.CORRECT, answer)
    try:
        expected = read_answer(gold)
    except Unreadable as problem:
        return Judgement(Verdict.ERROR, answer, f"the gold answer cannot be read: {problem}")
    try:
        given = read_answer(answer)
        found = Comparison(rules.min_digits).same(expected, given) or _same_set(gold, expected, answer, given)
    except Unreadable as problem:
        if (broken := gold_problem(gold)) is not None:
            return Judgement(Verdict.ERROR, answer, f"the gold answer cannot be read: {broken}")
        return Judgement(Verdict.UNPARSABLE, answer, str(problem))
    return Judgement(Verdict.CORRECT if found else Verdict.INCORRECT, answer)


def gold_problem(gold: str) -> str | None:
    """Why a gold cannot be compared with anything but itself, or None if it can."""
    try:
        _parse_all(read_answer(find_gold(gold)))
    except Unreadable as problem:
        return str(problem)
    return None


def _parse_all(answer: Answer) -> None:
    if isinstance(answer, Items):
        for member in answer.members:
            _parse_all(member)
    elif isinstance(answer, Named):
        _parse_all(answer.value)
    elif isinstance(answer, Formula) and answer.number is None and r"\ldots" not in answer.latex:
        from .answers.formula import parse_formula

        parse_formula(answer.latex)
    elif isinstance(answer, Relation):
        from .answers.formula import parse_formula

        for part in answer.sides or (answer.latex,):
            parse_formula(part)


def _same_text(gold: str, answer: str) -> bool:
    return gold.strip() == answer.strip() or squash(tidy(gold)) == squash(tidy(answer))


def _same_set(gold: str, expected: Answer, answer: str, given: Answer) -> bool:
    """Leaves unions of sets and inequalities that are no plain interval to math-verify."""
    if not (_is_set_relation(expected) or _is_set_relation(given)):
        return False
    from .answers.expressions import same_by_math_verify
    from .answers.formula import parse_formula

    return same_by_math_verify(parse_formula(tidy(gold)), parse_formula(tidy(answer)))


def _is_set_relation(answer: Answer) -> bool:
    inner = answer.value if isinstance(answer, Named) else answer
    return isinstance(inner, Relation) and not inner.sides
