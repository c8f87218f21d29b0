"""Plays episodes: one, or many at once.

Every episode in flight has a thread and an environment of its own. The thread waits while the agent thinks, so an agent
that answers many conversations together, as a language model does, gets them as they come: no episode waits for
another one's turn, and the place of an episode that has ended goes to the next at once.
"""

import math
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from itertools import chain, islice
from time import perf_counter
from typing import NamedTuple

import gymnasium

from ..envs.errors import EnvironmentFailure, EnvironmentTimeout
from ..envs.task import Task
from .agent import Agent, AgentError, AgentTimeout, Conversation, EpisodeLimit, Exchange, Response
from .trajectory import Outcome, Trajectory, Turn

_BREAK_OFF_SECONDS = 0.2


class EpisodeJob(NamedTuple):
    """An episode to be played.

    Attributes:
        task: What is played.
        sample: 0, 1, ... when a task is played several times.
        seed: Seed of the episode, for the environment and the agent.
    """

    task: Task
    sample: int
    seed: int


def roll_out(
    jobs: Iterable[EpisodeJob],
    agent: Agent,
    make_env: Callable[[], gymnasium.Env[str, str]],
    in_flight: int,
    break_off: Callable[[], None] = lambda: None,
) -> Generator[Trajectory]:
    """Plays episodes and yields them as they end. Closing the generator ends those that are being played.

    Args:
        jobs: What to play; it is read as places come free, so it may go on for ever.
        agent: Who plays; its ``act`` is called from several threads.
        make_env: Makes an environment that knows all tasks.
        in_flight: Most episodes at once.
        break_off: Called when the generator is closed before the last episode has ended; closing the agent makes
            the episodes end at once that wait for it.
    """
    if in_flight == 1:
        with closing(make_env()) as env:
            for job in jobs:
                yield play_episode(env, agent, *job)
        return
    source = _Source(jobs)
    events: queue.SimpleQueue[Trajectory | Future[None]] = queue.SimpleQueue()
    firsts = list(islice(source, in_flight))
    with ExitStack() as opened:
        envs = [opened.enter_context(closing(make_env())) for _ in firsts]
        threads = opened.enter_context(ThreadPoolExecutor(in_flight, thread_name_prefix="episode"))
        places = [
            threads.submit(_play_on, env, agent, chain([first], source), events.put)
            for env, first in zip(envs, firsts, strict=True)
        ]
        opened.callback(_end, source, places, envs, break_off)
        for place in places:
            place.add_done_callback(events.put)
        ended = 0
        while ended < len(places):
            event = events.get()
            if isinstance(event, Trajectory):
                yield event
            else:
                event.result()
                ended += 1


class _Source(Iterator[EpisodeJob]):
    """The jobs, for several threads."""

    def __init__(self, jobs: Iterable[EpisodeJob]) -> None:
        self._jobs = iter(jobs)
        self._lock = threading.Lock()

    def __next__(self) -> EpisodeJob:
        """The next job."""
        with self._lock:
            return next(self._jobs)

    def stop(self) -> None:
        """Gives no more jobs."""
        with self._lock:
            self._jobs = iter(())


def _play_on(
    env: gymnasium.Env[str, str], agent: Agent, jobs: Iterable[EpisodeJob], give: Callable[[Trajectory], None]
) -> None:
    """Plays one episode after the other in one place."""
    for job in jobs:
        give(play_episode(env, agent, *job))


def _end(
    source: _Source,
    places: Sequence[Future[None]],
    envs: Sequence[gymnasium.Env[str, str]],
    break_off: Callable[[], None],
) -> None:
    """Ends episodes that are still being played, by ending what they wait for; does nothing when all are over."""
    source.stop()
    if all(place.done() for place in places):
        return
    break_off()
    while pending := [place for place in places if not place.done()]:
        for env in envs:
            env.close()  # again and again, as an engine that is just being started escapes the first time
        wait(pending, timeout=_BREAK_OFF_SECONDS)


def play_episode(env: gymnasium.Env[str, str], agent: Agent, task: Task, sample: int, seed: int) -> Trajectory:
    """Plays one episode.

    Failures of the machinery end the episode as ``error`` or ``timeout`` with their reason, so that they are
    never counted as losses; a command that got no answer is not among the turns. Anything else propagates:
    it is a mistake in the set-up or in the code, and would only repeat itself in the next episode.

    Args:
        env: Any environment with our info keys ``won``, ``admissible_commands`` and
            ``goal_condition_success_rate``. It is reset first and can be used again afterwards.
        agent: Who plays.
        task: What is played; the environment must know its id.
        sample: 0, 1, ... when a task is played several times.
        seed: Seed of the episode, for the environment and the agent.
    """
    turns: list[Turn] = []
    history: list[Exchange] = []
    observation, success_rate, reason = "", math.nan, ""
    answer: str | None = None
    verdict: str | None = None
    try:
        observation, info = env.reset(seed=seed, options={"task": task.id})
        terminated = truncated = False
        while not (terminated or truncated):
            success_rate = info["goal_condition_success_rate"]
            commands: list[str] = info["admissible_commands"]
            conversation = Conversation(task, sample, seed, tuple(history), observation, commands)
            began = perf_counter()
            response = agent.act([conversation])[0]
            answered = perf_counter()
            following, reward, terminated, truncated, info = env.step(response.action)
            ended = perf_counter()
            if info.get("verdict"):  # the two belong to one attempt
                answer, verdict = info.get("answer") or None, info["verdict"]
            turns.append(
                Turn(
                    observation=observation,
                    action=response.action,
                    valid=_is_valid(response, commands),
                    reward=float(reward),
                    reply=response.reply,
                    prompt_ids=response.prompt_ids,
                    response_ids=response.response_ids,
                    logprobs=response.logprobs,
                    agent_seconds=answered - began,
                    env_seconds=ended - answered,
                    finish=response.finish,
                    unparsable=response.unparsable,
                    remarks=response.remarks,
                    snapped_from=response.snapped_from,
                    usage=response.usage,
                    admissible_commands=tuple(commands),
                )
            )
            history.append(Exchange(observation, response.action, commands, response))
            observation = following
        success_rate = info["goal_condition_success_rate"]
        outcome = Outcome.WON if info["won"] else Outcome.LOST if terminated else Outcome.LIMIT
    except EpisodeLimit as limit:
        outcome, reason = limit.outcome, _one_line(limit)
    except (EnvironmentTimeout, AgentTimeout) as error:
        outcome, reason = Outcome.TIMEOUT, _one_line(error)
    except (EnvironmentFailure, AgentError) as error:
        outcome, reason = Outcome.ERROR, _one_line(error)
    return Trajectory(
        task_id=task.id,
        task_type=task.type,
        sample=sample,
        seed=seed,
        agent=agent.fingerprint,
        turns=tuple(turns),
        outcome=outcome,
        goal_condition_success_rate=success_rate,
        final_observation=observation,
        reason=reason,
        answer=answer,
        verdict=verdict,
    )


def _is_valid(response: Response, commands: Sequence[str]) -> bool:
    """Whether a command was admissible. Where the environment lists none, any text may be sent."""
    if response.unparsable:
        return False
    # Blanks around a command are forgiven by the game, so they do not make it invalid.
    return not commands or response.action.strip() in commands


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
