"""The grader's verdicts on answer pairs of other projects, source by source, and on the cases of our own tests.

Each file of ``verify_cases`` holds (gold, prediction, expected). How a pair is asked follows from its source: a
test of a comparison gets the prediction as the answer itself, a test of a protocol gets it as a response under
that protocol. Pairs whose expected verdict is null are contested and only counted.

    python benchmarks/verdicts.py [--cases FOLDER]

Ends with code 1 if fewer than 98 % of the uncontested cases agree, or if a disagreement is not among those that
docs/GRADING.md explains.
"""

import argparse
import json
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdergym.envs.math.grader import Grader, Judgement, Policy, Verdict

REPOSITORY = Path(__file__).resolve().parent.parent
REQUIRED = 0.98

ANSWER_IS_GIVEN = (
    "hendrycks",
    "qwen25",
    "tinker",
    "issues",
    "slime_rm_math.jsonl::mathd",
    "slime_rm_math.jsonl::sympy",
)
"""Sources whose predictions are bare answers: they test the comparison and not the search for the answer."""

BOXED_PROTOCOL = ("slime", "trl", "verifiers")
"""Sources whose predictions are responses that count only with a box."""

EXPLAINED: dict[tuple[str, str], str] = {
    ("4, 10, -2", "10, 4, -2"): "a list of answers has no order; this source compares strings",
    ("4, .1, 2", "0.1, 4, 2"): "a list of answers has no order; this source compares strings",
    ("\\frac{1}{2}", "\\frac{2}{4}"): "equal; this source demands reduced fractions",
    ("42", "\\boxed{42}"): "this source gives 0 to every response without </think>; our protocols do not ask for it",
    (
        "$1 - \\frac{1}{\\mathrm{e}}$",
        "$1 + \\frac{1}{\\mathrm{e}}$",
    ): "not equal; a known defect that the source records",
    ("$f(x)$", "$f(y)$"): "judged with variables that may be renamed; ours may not, as in the source's own default",
    ("$x \\in [-2,7]$", "$-2 \\\\le x \\\\le 7$"): "the same set; expected to fail only under a switch of the source",
}
"""Disagreements by (gold, prediction); docs/GRADING.md has the longer story of each."""


class Case(NamedTuple):
    """One pair, the answer policy and digits it is judged under, and what its source expects."""

    source: str
    gold: str | tuple[str, ...]
    response: str
    policy: Policy
    digits: int
    expected: bool | None
    shown: tuple[str, str]


def read_cases(folder: Path) -> Iterator[Case]:
    """Yields the pairs of other projects, in order."""
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            gold, prediction = row["gold"], row["prediction"]
            protocol = row.get("note", "").startswith("protocol")
            name = f"{file.name}::{row['source'].rpartition('::')[2].replace('test_grade_answer_', '')}"
            given = name.startswith(ANSWER_IS_GIVEN) and "\\boxed" not in prediction
            boxed = given or protocol or file.name.startswith(BOXED_PROTOCOL)
            yield Case(
                file.stem,
                tuple(json.loads(gold)) if gold.startswith('["') else gold,
                f"\\boxed{{{prediction}}}" if given else prediction,
                Policy.BOXED if boxed else Policy.FINAL,
                min(5, row.get("options", {}).get("precision", 5)),
                row["expected"],
                (gold, prediction),
            )


def own_cases(file: Path) -> Iterator[Case]:
    """Yields the pairs of our own tests, both ways round."""
    for kind, pairs in tomllib.loads(file.read_text(encoding="utf-8")).items():
        for what in ("same", "different"):
            for first, second in pairs[what]:
                for gold, answer in ((first, second), (second, first)):
                    yield Case(
                        f"own: {kind}", gold, f"\\boxed{{{answer}}}", Policy.BOXED, 5, what == "same", (gold, answer)
                    )


def judge_all(cases: list[Case]) -> list[Judgement]:
    """Judges the cases, one grader for each policy and number of digits."""
    found: dict[int, Judgement] = {}
    for policy, digits in sorted({(case.policy, case.digits) for case in cases}):
        places = [place for place, case in enumerate(cases) if (case.policy, case.digits) == (policy, digits)]
        with Grader(policy, workers=2, timeout_s=20, min_digits=digits) as grader:
            judgements = grader.grade([(cases[place].gold, cases[place].response) for place in places])
        found.update(zip(places, judgements, strict=True))
    return [found[place] for place in range(len(cases))]


def agrees(case: Case, judgement: Judgement) -> bool:
    """Whether the verdict is what the source expects. A time-out agrees with nothing."""
    return judgement.verdict is not Verdict.TIMEOUT and (judgement.verdict is Verdict.CORRECT) == case.expected


def main() -> int:
    """Prints right/total of each source and every disagreement with its reason."""
    shared = Path(os.environ.get("HOLDERGYM_SHARED", REPOSITORY.parent / "shared"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=shared / "verify_cases", help="folder of verify_cases")
    folder = parser.parse_args().cases
    if not folder.is_dir():
        print(f"no folder {folder}: set HOLDERGYM_SHARED or give --cases", file=sys.stderr)
        return 2
    foreign = list(read_cases(folder))
    cases = foreign + list(own_cases(REPOSITORY / "tests" / "envs" / "math" / "cases.toml"))
    judgements = judge_all(cases)
    unexplained = 0
    for source in dict.fromkeys(case.source for case in cases):
        rows = [(case, judgement) for case, judgement in zip(cases, judgements, strict=True) if case.source == source]
        counted = [row for row in rows if row[0].expected is not None]
        right = sum(agrees(*row) for row in counted)
        contested = len(rows) - len(counted)
        print(f"{source:36} {right:4}/{len(counted)}" + (f"  ({contested} contested)" if contested else ""))
        for case, judgement in counted:
            if not agrees(case, judgement):
                reason = EXPLAINED.get(case.shown)
                unexplained += reason is None
                print(f"    {case.shown[0][-60:]!r} and {case.shown[1][-60:]!r}: {judgement.verdict}")
                print(f"        {reason or 'NOT EXPLAINED: ' + (judgement.reason or 'the verdicts differ')}")
    counted = [
        (case, judgement) for case, judgement in zip(foreign, judgements, strict=False) if case.expected is not None
    ]
    right = sum(agrees(*row) for row in counted)
    share = right / len(counted)
    print(f"\n{right} of {len(counted)} uncontested cases of other projects agree ({100 * share:.2f} %)")
    return 0 if share >= REQUIRED and not unexplained else 1


if __name__ == "__main__":
    sys.exit(main())
