"""The verdict on one response, computed in the process that asks. ``Grader`` runs this in killable workers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from ..errors import MissingExtraError
from .answers.comparing import MIN_DIGITS, Comparison
from .answers.extraction import Policy, find_answer, find_gold
from .answers.plain import read_number, same_number
from .answers.reading import read_answer
from .answers.structure import Answer, Formula, Items, Named, Relation, Unreadable
from .answers.tidy import MAX_CHARACTERS, squash, tidy


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
        seconds: Wall time of the comparison, without waiting for a worker.
    """

    verdict: Verdict
    answer: str | None = None
    reason: str = ""
    seconds: float = field(default=0.0, compare=False)


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

    A gold that cannot be read is an ``error``, not a wrong answer: of several, unless the answer equals another one.
    """
    found = judge_quickly(golds, response, rules)
    if isinstance(found, Judgement):
        return found
    judgements = []
    for gold in found.golds:
        judgements.append(_against(gold, found.answer, rules))
        if judgements[-1].verdict is Verdict.CORRECT:
            return judgements[-1]
    return next((judged for judged in judgements if judged.verdict is Verdict.ERROR), judgements[-1])


class Undecided(NamedTuple):
    """What is left to compare: an answer that is not literally a gold, with at least one side not a plain number."""

    golds: tuple[str, ...]
    answer: str


def judge_quickly(golds: Sequence[str], response: str, rules: Rules) -> Judgement | Undecided:
    """Judges what needs no algebra: no answer, the same text, two plain numbers. Bounded in time and memory."""
    answer = find_answer(response, rules.policy)
    stated = tuple(gold for gold in map(find_gold, golds) if tidy(gold))
    if not stated:
        return Judgement(Verdict.ERROR, answer, "the gold answer is empty")
    if (answer is None or len(answer) > MAX_CHARACTERS) and all(broken := [*map(_unreadable, stated)]):
        # A box around a gold whose brackets do not match holds no answer either.
        return Judgement(Verdict.ERROR, answer and answer[:200], f"the gold answer cannot be read: {broken[0]}")
    if answer is None:
        return Judgement(Verdict.UNPARSABLE, None, f"the response holds no answer (policy {rules.policy})")
    if len(answer) > MAX_CHARACTERS:
        reason = f"the answer has {len(answer):,} characters; at most {MAX_CHARACTERS:,} are read"
        return Judgement(Verdict.UNPARSABLE, answer[:200], reason)
    if any(_same_text(gold, answer) for gold in stated):
        return Judgement(Verdict.CORRECT, answer)
    given = read_number(tidy(answer))
    expected = [read_number(tidy(gold)) for gold in stated]
    if given is None or None in expected:
        return Undecided(stated, answer)
    same = any(number and same_number(number, given, rules.min_digits) for number in expected)
    return Judgement(Verdict.CORRECT if same else Verdict.INCORRECT, answer)


def judge_plain(golds: Sequence[str], response: str, rules: Rules) -> Judgement:
    """Judges without a computer algebra system: golds are plain numbers, and so is every answer that counts.

    Raises:
        MissingExtraError: If a gold is not a plain number.
    """
    found = judge_quickly(golds, response, rules)
    if isinstance(found, Judgement):
        return found
    if any(read_number(tidy(gold)) is None for gold in found.golds):
        raise MissingExtraError(f"judging the gold {found.golds[0][:40]!r}", "math", "math-verify")
    return Judgement(Verdict.UNPARSABLE, found.answer, "not a plain number, and math-verify is not installed")


def _against(gold: str, answer: str, rules: Rules) -> Judgement:
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
    # Answers of different kinds differ before either is parsed.
    if not found and (broken := _unparsable(gold)) is not None:
        return Judgement(Verdict.ERROR, answer, f"the gold answer cannot be read: {broken}")
    return Judgement(Verdict.CORRECT if found else Verdict.INCORRECT, answer)


@lru_cache(maxsize=4096)
def _unreadable(gold: str) -> str | None:
    """Why a gold cannot be read, as far as that can be said without parsing it."""
    try:
        read_answer(gold)
    except Unreadable as problem:
        return str(problem)
    return None


@lru_cache(maxsize=4096)
def _unparsable(gold: str) -> str | None:
    """Why a gold cannot be read or parsed."""
    try:
        _parse_all(read_answer(gold))
    except Unreadable as problem:
        return str(problem)
    return None


def gold_problem(gold: str) -> str | None:
    """Why a gold cannot be compared with anything but its own text, or None: it is read, parsed and equal to itself."""
    stated = find_gold(gold)
    try:
        answer = read_answer(stated)
        _parse_all(answer)
        same = Comparison().same(answer, answer) or _is_set_relation(answer)
    except Unreadable as problem:
        return str(problem)
    return None if same else "it does not equal itself"


def _parse_all(answer: Answer) -> None:
    if isinstance(answer, Items):
        for member in answer.members:
            _parse_all(member)
    elif isinstance(answer, Named):
        _parse_all(answer.value)
    elif isinstance(answer, Formula) and answer.number is None and r"\ldots" not in answer.latex:
        _parse(answer.latex)
    elif isinstance(answer, Relation):
        for part in answer.sides or (answer.latex,):
            _parse(part)


def _parse(latex: str) -> None:
    from .answers.formula import parse_formula

    parse_formula(latex)


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
