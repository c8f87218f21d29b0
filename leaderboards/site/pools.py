"""Which runs stand in one ranking: those that played the same tasks in the same way."""

from collections.abc import Sequence
from typing import NamedTuple

from ...eval.conditions import Mismatch, mismatches
from .gathering import NamedRun

# Two language models that were told other things are in one ranking and are not compared with each other; a scripted
# agent, which is told nothing, is compared with both.
_OF_THE_PROMPT = "prompt"
_OF_THE_AGENT = "agent."


class Pool(NamedTuple):
    """Runs over the same tasks, wording, engine, limits and grading, best first."""

    runs: tuple[NamedRun, ...]


def pools_of(runs: Sequence[NamedRun]) -> list[Pool]:
    """Sorts runs into rankings, the largest first."""
    groups: list[list[NamedRun]] = []
    for named in runs:
        for group in groups:
            if not any(of_the_game(found) for found in mismatches(group[0].run, named.run)):
                group.append(named)
                break
        else:
            groups.append([named])
    found = [Pool(tuple(sorted(group, key=_order))) for group in groups]
    return sorted(found, key=lambda pool: (-len(pool.runs), *_name(pool)))


def of_the_game(mismatch: Mismatch) -> bool:
    """Whether a condition is one of what was played, not of what a language model was told."""
    return mismatch.condition != _OF_THE_PROMPT and not mismatch.condition.startswith(_OF_THE_AGENT)


def _order(named: NamedRun) -> tuple[float, str, str]:
    """As boards sort their rows: by success rate, runs without one last."""
    run = named.run
    finished = sum(result.outcome.finished for result in run.results)
    won = sum(result.outcome.value == "won" for result in run.results)
    return (-won / finished if finished else 1.0, run.manifest.agent, run.folder.resolve().name)


def _name(pool: Pool) -> tuple[str, str, str, str]:
    run = pool.runs[0].run
    return (run.config.env, run.panel.label, run.panel.sha256, pool.runs[0].slug)
