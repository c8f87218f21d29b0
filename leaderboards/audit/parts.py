"""Rates of the six task types that cannot make up the rate over all episodes."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from ..published.benchmarks import ALFWORLD_TYPES, OVERALL
from .book import Book, cell, name
from .counts import counts
from .finding import ERROR, Finding

RULE = "parts"


def task_types(book: Book) -> Iterator[Finding]:
    """Rows with all six types, where no numbers of episodes and wins by type add up to the whole."""
    for results in book.rows.values():
        whole = next((each for each in results if each.benchmark == OVERALL), None)
        types = [each for each in results if each.benchmark in ALFWORLD_TYPES]
        if whole is None or whole.number is None or not whole.problems or len(types) != len(ALFWORLD_TYPES):
            continue
        wins = counts(whole.number, whole.problems)
        if wins and not adds_up([each.number for each in types if each.number is not None], wins, whole.problems):
            rates = ", ".join(f"{each.benchmark} {each.value}" for each in types)
            yield Finding(
                RULE,
                ERROR,
                (cell(whole), *(cell(each) for each in types)),
                f"{name(whole)}: no numbers of episodes by type that add up to {whole.problems} give {rates} and "
                f"{wins[0]} wins in all ({whole.value})",
            )


def adds_up(percents: Sequence[Decimal], wins: range, episodes: int) -> bool:
    """Whether parts of at least one episode each, with these rates, can add up to so many wins and episodes.

    Every rate is tried with every number of episodes; sums that can be reached are kept as bits, one word a number of
    episodes.
    """
    reached = [0] * (episodes + 1)
    reached[0] = 1
    for percent in percents:
        options = [(size, count) for size in range(1, episodes + 1) for count in counts(percent, size)]
        after = [0] * (episodes + 1)
        for size, count in options:
            for before in range(episodes + 1 - size):
                if reached[before]:
                    after[before + size] |= reached[before] << count
        reached = after
    return any(reached[episodes] >> count & 1 for count in wins)
