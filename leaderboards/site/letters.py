"""Letters that show which of several runs can be told apart: two that share one cannot."""

from collections.abc import Iterable
from string import ascii_lowercase

MOST_GROUPS = 60
"""More groups than this say nothing to a reader."""


def tie_letters(count: int, apart: Iterable[tuple[int, int]]) -> list[str] | None:
    """Gives letters to ``count`` runs, so that two share a letter exactly if their pair is not among ``apart``.

    The insert-and-absorb algorithm of Piepho 2004, "An algorithm for a letter-based representation of all-pairwise
    comparisons", Journal of Computational and Graphical Statistics 13:456.

    Args:
        count: Number of runs, best first; the first group of runs gets ``a``.
        apart: Pairs of numbers of runs.

    Returns:
        A string of letters for each run, or None where the groups overlap in too many ways to be written so.
    """
    groups = [frozenset(range(count))]
    for first, second in sorted(apart):
        split = [
            part
            for group in groups
            for part in ((group - {first}, group - {second}) if {first, second} <= group else (group,))
        ]
        groups = _absorbed(split)
        if len(groups) > MOST_GROUPS:
            return None
    groups.sort(key=sorted)
    names = [*ascii_lowercase, *(one + two for one in ascii_lowercase for two in ascii_lowercase)]
    return [" ".join(name for name, group in zip(names, groups, strict=False) if one in group) for one in range(count)]


def _absorbed(groups: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Leaves out groups that are a part of another one."""
    kept: list[frozenset[int]] = []
    for group in sorted(set(groups), key=lambda group: (-len(group), sorted(group))):
        if not any(group <= other for other in kept):
            kept.append(group)
    return kept
