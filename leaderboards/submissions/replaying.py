"""Plays a run's recorded actions again, and holds what the engine answers against what the run says it did."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ...agents.registry import ReplaySettings
from ...agents.rollout import EpisodeJob, roll_out
from ...agents.trajectory import Outcome, Trajectory, Turn
from ...envs.errors import HolderGymError
from ...eval.arena import open_arena
from ...eval.journal import read_journal
from ...eval.results import Slot
from ...eval.run import EPISODES, Run
from ..numbers import plain
from .checking import RefusedError


class Replayed(NamedTuple):
    """How much was played again.

    Attributes:
        episodes: Number of episodes.
        turns: Number of their turns.
    """

    episodes: int
    turns: int


def replay_run(
    run: Run, data: Path | None = None, *, each: Callable[[Trajectory], None] = lambda played: None
) -> Replayed:
    """Plays all episodes of a run again: in ALFWorld on the run's engine, in mathematics by grading the answers anew.

    Args:
        run: A complete run.
        data: Games or problems; None for generated ones, or for what the environment names.
        each: Told each episode as it was played again.

    Raises:
        RefusedError: If the tasks are not those of the run, an episode went another way than the run says, or playing
            would run the programs in it.
        HolderGymError: If the games or problems cannot be opened.
    """
    if run.config.env == "math_python":
        raise RefusedError(
            f"{run.folder} cannot be played again: that would run programs that a stranger may have written"
        )
    config = replace(run.config, agent=ReplaySettings(path=run.folder), protocol=None, data=data, out=None, workers=1)
    try:
        arena = open_arena(config)
    except HolderGymError as error:
        raise RefusedError(
            f"{run.folder} cannot be played again: {error} (--data says where games or problems are)"
        ) from None
    if arena.panel.sha256 != run.panel.sha256:
        raise RefusedError(
            f"{run.folder} is refused: the tasks of panel {arena.panel.label!r} here are not those that it says to "
            "have "
            f"played (sha256 {arena.panel.sha256[:12]} here, {run.panel.sha256[:12]} there)"
        )
    recorded = _recorded(run)
    jobs = (EpisodeJob(arena.panel.task(played.task_id), played.sample, played.seed) for played, _ in recorded.values())
    episodes = turns = 0
    with closing(arena.agent), closing(roll_out(jobs, arena.agent, arena.make_env, in_flight=1)) as again:
        for played in again:
            told, line = recorded[Slot(played.task_id, played.sample)]
            problem = _difference(told, played, arena.settle)
            if problem:
                raise RefusedError(
                    f"{run.folder} is refused: line {line} of {EPISODES}, played again: {plain(problem)}"
                )
            episodes += 1
            turns += len(played.turns)
            each(played)
    return Replayed(episodes, turns)


def _recorded(run: Run) -> dict[Slot, tuple[Trajectory, int]]:
    """The episodes that count, with their lines, in the order of the panel."""
    lines = {result.line for result in run.results}
    found = {
        Slot(episode.trajectory.task_id, episode.trajectory.sample): (episode.trajectory, line)
        for line, episode in read_journal(run.folder / EPISODES)
        if line in lines
    }
    return {slot: found[slot] for slot in (Slot(result.task_id, result.sample) for result in run.results)}


def _difference(told: Trajectory, again: Trajectory, settle: Callable[[Trajectory], Trajectory]) -> str:
    """In what the engine's answers differ from the record, or nothing."""
    if len(told.turns) != len(again.turns):
        return f"the game ended after {len(again.turns)} turns, and the record has {len(told.turns)}"
    for number, (one, other) in enumerate(zip(told.turns, again.turns, strict=True), start=1):
        problem = _turn_difference(one, other)
        if problem:
            return f"turn {number}: {problem}"
    if told.final_observation != again.final_observation:
        return f"the last answer is {again.final_observation[:60]!r}, not {told.final_observation[:60]!r}"
    if again.goal_condition_success_rate != told.goal_condition_success_rate:
        return (
            f"the share of goal conditions is {again.goal_condition_success_rate:g}, not "
            f"{told.goal_condition_success_rate:g}"
        )
    if told.outcome in (Outcome.TOKENS, Outcome.CONTEXT) and again.outcome is Outcome.ERROR:
        return ""  # the model was stopped in the middle of the game, so the record ends there
    # Whether a reply was cut stands in the record alone.
    outcome = settle(replace(again, turns=told.turns)).outcome
    if outcome is not told.outcome:
        return f"the outcome is {outcome.value!r}, not {told.outcome.value!r}"
    if (again.answer, again.verdict) != (told.answer, told.verdict):
        found, said = (f"{one.verdict!r} on {str(one.answer)[:40]!r}" for one in (again, told))
        return f"the verdict is {found}, not {said}"
    return ""


def _turn_difference(told: Turn, again: Turn) -> str:
    if told.observation != again.observation:
        return f"the observation is {again.observation[:60]!r}, not {told.observation[:60]!r}"
    if told.reward != again.reward:
        return f"the reward is {again.reward:g}, not {told.reward:g}"
    if told.admissible_commands and told.admissible_commands != again.admissible_commands:
        return "the admissible commands are others"
    return (
        "" if told.unparsable or told.valid == again.valid else "it is called valid where it is not, or not where it is"
    )
