"""Which episode counts for which task and sample, and what the metrics need to know of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..agents.agent import episode_seed
from ..agents.trajectory import Outcome
from ..agents.usage import Usage
from ..envs.panel import Panel
from .episode import Episode
from .errors import RunError


@dataclass(frozen=True, slots=True)
class Result:
    """An episode without its texts.

    Attributes:
        task_id: The task.
        task_type: Its type.
        sample: 0, 1, ... when a task is played several times.
        outcome: How it ended.
        steps: Number of commands given.
        invalid_commands: How many of them were not among the admissible ones.
        shortest: Length of the shortest plan, or None where it is not known.
        goal_condition_success_rate: Share of the goal's conditions that held at the end; NaN where it failed at once.
        last_reward: Reward of the last step; 0 without steps.
        replies: Turns in which a language model replied.
        unparsable_replies: How many of the replies held no command.
        cut_replies: How many were cut at a limit of tokens.
        usage: Tokens of all replies, or None where the back end did not count those of each.
        agent_seconds: Wall time in the agent.
        env_seconds: Wall time in the environment.
        answer: The last answer that was graded, as written; None where nothing was.
        verdict: What the grader found of it; None where nothing is graded.
        line: Line of the episode in ``episodes.jsonl``, from 1; 0 for one that is in no file.
        reason: Why it ended, where neither the agent's commands nor the step limit ended it; else empty.
    """

    task_id: str
    task_type: str
    sample: int
    outcome: Outcome
    steps: int
    invalid_commands: int
    shortest: int | None
    goal_condition_success_rate: float
    last_reward: float = 0.0
    replies: int = 0
    unparsable_replies: int = 0
    cut_replies: int = 0
    usage: Usage | None = None
    agent_seconds: float = 0.0
    env_seconds: float = 0.0
    answer: str | None = None
    verdict: str | None = None
    line: int = 0
    reason: str = ""

    @classmethod
    def of(cls, episode: Episode, line: int = 0) -> "Result":
        """Takes from an episode what the metrics need."""
        played = episode.trajectory
        replied = [turn for turn in played.turns if turn.reply is not None]
        usages = [turn.usage for turn in played.turns if turn.usage is not None]
        return cls(
            task_id=played.task_id,
            task_type=played.task_type,
            sample=played.sample,
            outcome=played.outcome,
            steps=len(played.turns),
            invalid_commands=sum(not turn.valid for turn in played.turns),
            shortest=episode.shortest,
            goal_condition_success_rate=played.goal_condition_success_rate,
            last_reward=played.turns[-1].reward if played.turns else 0.0,
            replies=len(replied),
            unparsable_replies=sum(turn.unparsable for turn in replied),
            cut_replies=sum(turn.finish == "length" for turn in replied),
            usage=Usage.total(usages) if usages and len(usages) >= len(replied) else None,
            agent_seconds=sum(turn.agent_seconds for turn in played.turns),
            env_seconds=sum(turn.env_seconds for turn in played.turns),
            answer=played.answer,
            verdict=played.verdict,
            line=line,
            reason=played.reason,
        )


class Played(NamedTuple):
    """A line of the journal: a result, and what shows that it belongs to a run.

    Attributes:
        line: Its number, from 1.
        seed: Seed of the episode.
        agent: Fingerprint of the agent.
        result: The episode without its texts.
    """

    line: int
    seed: int
    agent: str
    result: Result

    @classmethod
    def of(cls, episode: Episode, line: int) -> "Played":
        """Takes it from a whole episode."""
        return cls(line, episode.trajectory.seed, episode.trajectory.agent, Result.of(episode, line))


class Slot(NamedTuple):
    """A task and a sample: what is played exactly once."""

    task_id: str
    sample: int


class Schedule(NamedTuple):
    """What a run has to play: every slot, in panel order, with the seed and agent that belong to it."""

    panel: Panel
    samples: int
    seed: int
    agent_fingerprint: str

    def slots(self) -> list[Slot]:
        """All slots in the order in which summaries list them. A task that was drawn twice has twice the samples."""
        return [
            Slot(task.id, sample)
            for number, task in enumerate(self.panel.tasks)
            for sample in range(self.samples * self.panel.draws_of(number))
        ]

    def samples_of(self) -> dict[str, int]:
        """How often each task is to be played, by its id."""
        return {task.id: self.samples * self.panel.draws_of(number) for number, task in enumerate(self.panel.tasks)}


class Collected(NamedTuple):
    """The results that count, in the order of the schedule, and how many failed episodes were played again."""

    results: tuple[Result, ...]
    replayed: int


def collect(schedule: Schedule, episodes: Iterable[Played], path: Path) -> Collected:
    """Sorts out a run's episodes.

    An episode that ended as ``error`` or ``timeout`` is superseded by a later one of the same slot. Anything
    else that is there twice would be counted twice, so it is refused.

    Args:
        schedule: What was to be played.
        episodes: The lines of the journal.
        path: The journal, for messages.

    Raises:
        RunError: If a line belongs to another panel, agent or seed, contradicts itself, or repeats a finished episode.
    """
    types = {task.id: task.type for task in schedule.panel.tasks}
    samples = schedule.samples_of()
    by_slot: dict[Slot, Result] = {}
    replayed = 0
    for played in episodes:
        result = played.result
        slot = Slot(result.task_id, result.sample)
        problem = _mismatch(schedule, types, samples, played)
        if problem:
            raise RunError(f"line {played.line} of {path} does not belong to this run: {problem}")
        problem = contradiction(result)
        if problem:
            raise RunError(f"line {played.line} of {path} was changed or is damaged: {problem}")
        earlier = by_slot.get(slot)
        if earlier is not None:
            if earlier.outcome.finished:
                raise RunError(
                    f"line {played.line} of {path} does not belong to this run: task {slot.task_id!r}, sample "
                    f"{slot.sample} is already in line {earlier.line}: remove one of the two lines"
                )
            replayed += 1
        by_slot[slot] = result
    results = tuple(by_slot[slot] for slot in schedule.slots() if slot in by_slot)
    return Collected(results, replayed)


def contradiction(result: Result) -> str:
    """Says why an episode cannot have ended so, or nothing.

    The outcome is said three times: itself, by the goal's conditions, which all hold exactly in a won episode, and in
    ALFWorld by the last reward. Answers that were cut may be right and still not count, so they are excepted.
    """
    won = result.outcome is Outcome.WON
    met = result.goal_condition_success_rate == 1.0
    household = result.task_id.startswith("alfworld/")
    if won != met and not (met and result.outcome is Outcome.TOKENS and not household):
        return (
            f"its outcome is {result.outcome.value!r}, but its goal_condition_success_rate is "
            f"{result.goal_condition_success_rate:g}"
        )
    if household and result.steps and won != (result.last_reward > 0):
        return f"its outcome is {result.outcome.value!r}, but its last reward is {result.last_reward:g}"
    return ""


def _mismatch(schedule: Schedule, types: dict[str, str], samples: dict[str, int], played: Played) -> str:
    """Says why an episode cannot be one of the schedule's, or nothing."""
    result = played.result
    if result.task_id not in types:
        return f"task {result.task_id!r} is not in panel {schedule.panel.label!r}"
    if result.task_type != types[result.task_id]:
        return f"task {result.task_id!r} is of type {types[result.task_id]!r}, not {result.task_type!r}"
    if result.sample >= samples[result.task_id]:
        return f"sample {result.sample} of task {result.task_id!r}, where {samples[result.task_id]} were asked for"
    if played.seed != episode_seed(schedule.seed, result.task_id, result.sample):
        return f"task {result.task_id!r} was played with another seed"
    if played.agent != schedule.agent_fingerprint:
        return f"it was played by {played.agent!r}, not by {schedule.agent_fingerprint!r}"
    return ""
