"""How episodes ended that were neither won, lost nor played to the step limit, but count as not won all the same."""

from collections import Counter
from collections.abc import Iterable

from ..agents.trajectory import Outcome
from ..eval.results import Result

_WHY = {
    Outcome.TOKENS: "the model may say no more tokens in an episode",
    Outcome.CONTEXT: "the prompt outgrew the model's context",
}


def ending_notes(results: Iterable[Result]) -> list[str]:
    """One phrase an outcome: ``2 of 6 episodes ended as context_overflow (the prompt outgrew the model's context)``.

    A rate of 0 of a model that was cut off each time would else look like that of one that played badly. Of episodes
    that ended as ``error`` or ``timeout`` other lines tell: they count in no rate.
    """
    counts = Counter(result.outcome for result in results if result.outcome.finished)
    finished = counts.total()
    return [
        f"{counts[outcome]} of {finished} episodes ended as {outcome.value} ({why})"
        for outcome, why in _WHY.items()
        if counts[outcome]
    ]
