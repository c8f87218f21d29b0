"""Verdicts per second of the grader, against math-verify called directly in one process on the same items.

Items are golds of the mathematics sets against answers made from them: the gold itself, the gold written
differently, and another gold of the same set. Each is one response with a box. Both sides judge the same list in the
same run, a new list each round; the ratio of each round and their median are printed. Two lists are measured: all
items, as they come, and those of which at least one side is not a plain number, which our grader cannot decide
without its workers.

    python benchmarks/grader.py [--data FOLDER] [--items 600] [--rounds 3]

Ends with code 1 if the median ratio is below 0.9 with one worker or below 1.6 with two, on either list.
"""

import argparse
import json
import logging
import os
import random
import sys
import time
from pathlib import Path
from statistics import median

from holdergym.envs.math.answers.plain import read_number
from holdergym.envs.math.answers.tidy import tidy
from holdergym.envs.math.grader import Grader
from math_verify import parse, verify

REPOSITORY = Path(__file__).resolve().parent.parent
SETS = ("math500", "olympiadbench", "minerva_math", "gsm8k_test", "amc_83", "aime2024")
REQUIRED = {1: 0.9, 2: 1.6}

Item = tuple[str, str]


def make_items(folder: Path, count: int, seed: int) -> list[Item]:
    """(gold, response) pairs, a third of each kind, the same for the same folder, count and seed."""
    dice = random.Random(seed)
    golds: list[str] = []
    for name in SETS:
        rows = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        golds += dice.sample([json.loads(row)["answer"].strip("$") for row in rows], min(len(rows), count // 4))
    items = []
    for number in range(count):
        gold = dice.choice(golds)
        answer = (gold, rewritten(gold), dice.choice(golds))[number % 3]
        items.append((gold, f"We compute, and find that it is so. The answer is $\\boxed{{{answer}}}$."))
    return items


def rewritten(gold: str) -> str:
    """The same answer in another spelling."""
    return gold.replace("\\frac", "\\dfrac").replace(",", ", ").replace("(", "\\left(").replace(")", "\\right)")


def needs_algebra(item: Item) -> bool:
    gold, response = item
    answer = response[response.index("\\boxed{") + 7 : response.rindex("}")]
    return read_number(tidy(gold)) is None or read_number(tidy(answer)) is None


def directly(items: list[Item]) -> float:
    """Seconds that math-verify takes for the items, with its own defaults. Its golds need delimiters."""
    start = time.perf_counter()
    for gold, response in items:
        verify(parse(f"${gold}$"), parse(response))
    return time.perf_counter() - start


def through(grader: Grader, items: list[Item]) -> float:
    start = time.perf_counter()
    grader.grade(items)
    return time.perf_counter() - start


def main() -> int:
    """Measures both lists and prints the ratios."""
    shared = Path(os.environ.get("HOLDERGYM_SHARED", REPOSITORY.parent / "shared"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=shared / "math", help="folder of the mathematics sets")
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"no folder {options.data}: set HOLDERGYM_SHARED or give --data", file=sys.stderr)
        return 2
    logging.disable(logging.WARNING)
    # New items each round: both sides remember what they parsed.
    rounds = [make_items(options.data, options.items, seed) for seed in range(2 * options.rounds)]
    missed = 0
    with Grader(workers=1) as one, Grader(workers=2) as two:
        graders = {1: one, 2: two}
        warm_up = make_items(options.data, 60, seed=-1)
        for grader in graders.values():
            through(grader, warm_up)
        directly(warm_up)
        for algebra in (False, True):
            ratios: dict[int, list[float]] = {1: [], 2: []}
            counts = []
            for number, items in enumerate(rounds):
                workers = 1 + number % 2
                chosen = [item for item in items if needs_algebra(item)] if algebra else items
                counts.append(len(chosen))
                ours = through(graders[workers], chosen)
                ratios[workers].append(directly(chosen) / ours)
            name = "items that need algebra" if algebra else "all items"
            for workers, found in ratios.items():
                missed += median(found) < REQUIRED[workers]
                shown = ", ".join(f"{ratio:.2f}" for ratio in found)
                print(
                    f"{name} ({min(counts)} a round), {workers} worker(s): {median(found):.2f} x math-verify ({shown})"
                )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
