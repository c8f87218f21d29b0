"""How the game names its things: ids to the words a player reads.

The stock engine names things after all ids that occur in the initial facts, in code-point order, and counts
down within a class: the first id of three apples is ``apple 3``, the last ``apple 1``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence


def thing_class(thing_id: str) -> str:
    """The class word of an id, for example ``sinkbasin`` of ``sink_bar_..._bar_sinkbasin``."""
    return thing_id.partition("_bar_")[0] + ("basin" if "basin" in thing_id else "")


def number_names(ids: Iterable[str]) -> dict[str, str]:
    """Gives each id its name, class and number.

    Args:
        ids: The ids of all objects and receptacles in the initial facts, in any order, each once.
    """
    ordered = sorted(ids)
    left = Counter(map(thing_class, ordered))
    names: dict[str, str] = {}
    for thing_id in ordered:
        word = thing_class(thing_id)
        names[thing_id] = f"{word} {left[word]}"
        left[word] -= 1
    return names


def join_names(names: Sequence[str]) -> str:
    """Joins as the game does: ``nothing``; ``a``; ``a, and b``; ``a, b, and c``."""
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def indefinite(names: Iterable[str]) -> str:
    """Lists names with the article, which is always ``a``: the game says ``a apple 1``."""
    return join_names([f"a {name}" for name in names])
