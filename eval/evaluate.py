"""Plays a panel into a run folder: every task and sample exactly once, however often it is interrupted."""

import queue
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack, closing

import gymnasium
from tqdm import tqdm

from ..agents.agent import episode_seed
from ..agents.rollout import play_episode
from ..agents.trajectory import Outcome
from ..envs.errors import ConfigError
from .arena import Arena, open_arena
from .config import EvalConfig
from .episode import Episode
from .provenance import begin_session
from .results import Slot
from .run import Run
from .run_folder import Plan, RunFolder

_BREAK_OFF_SECONDS = 0.2


def evaluate(
    config: EvalConfig,
    *,
    resume: bool = False,
    progress: bool = False,
    say: Callable[[str], None] = lambda message: None,
) -> Run:
    """Plays what is not there yet, writes the summary and returns the run.

    Args:
        config: The settings; ``config.out`` is the run folder.
        resume: Whether to go on with an interrupted run: finished episodes stay, those that ended as
            ``error`` or ``timeout`` are played again.
        progress: Whether to show a progress bar on standard error.
        say: Told in one line what was found or repaired in the folder.

    Raises:
        ConfigError: If ``config.out`` is not set.
        RunError: If the folder cannot be used (see ``RunFolder``); finished episodes are never lost.
        HolderGymError: If the games or the agent cannot be loaded.
    """
    if config.out is None:
        raise ConfigError("the setting 'out' is missing: give --out FOLDER")
    arena = open_arena(config)
    for note in arena.notes:
        say(note)
    agent = arena.agent
    plan = Plan(arena.config, arena.panel, arena.dialect, agent.name, agent.fingerprint)
    session = begin_session(None if config.data is None else str(config.data), config.workers)
    slots = plan.schedule.slots()
    with RunFolder(config.out, plan, session, resume=resume, say=say) as folder:
        missing = [slot for slot in slots if slot not in folder.finished]
        bar = tqdm(
            total=len(slots),
            initial=len(slots) - len(missing),
            desc=f"{agent.name} on {arena.panel.label}",
            unit=" episodes",
            file=sys.stderr,
            disable=not progress,
            dynamic_ncols=True,
        )
        with bar, closing(_play(arena, missing, config.workers)) as episodes:
            won = finished = 0
            for episode in episodes:
                folder.append(episode)
                won += episode.trajectory.outcome is Outcome.WON
                finished += episode.trajectory.outcome.finished
                bar.set_postfix_str(f"won {won}/{finished}", refresh=False)
                bar.update()
        return folder.summarise()


def _play(arena: Arena, slots: Sequence[Slot], workers: int) -> Generator[Episode]:
    """Yields episodes as they end. Closing it ends all environments."""
    if not slots:
        return
    with ExitStack() as opened:
        idle: queue.SimpleQueue[gymnasium.Env[str, str]] = queue.SimpleQueue()
        envs = [opened.enter_context(closing(arena.make_env())) for _ in range(min(workers, len(slots)))]
        for env in envs:
            idle.put(env)

        def play(slot: Slot) -> Episode:
            env = idle.get()
            try:
                return _play_one(arena, env, slot)
            finally:
                idle.put(env)

        if workers == 1:
            yield from map(play, slots)
            return
        # Threads suffice: an environment of the stock engine is a process of its own, and its thread waits.
        players = opened.enter_context(ThreadPoolExecutor(workers, thread_name_prefix="player"))
        futures = [players.submit(play, slot) for slot in slots]
        opened.callback(_break_off, players, futures, envs)
        for future in as_completed(futures):
            yield future.result()


def _break_off(
    players: ThreadPoolExecutor, futures: Sequence[Future[Episode]], envs: Sequence[gymnasium.Env[str, str]]
) -> None:
    """Ends episodes that are still being played, by ending their engines; does nothing when all are over."""
    players.shutdown(wait=False, cancel_futures=True)
    while running := [future for future in futures if not future.done()]:
        for env in envs:
            env.close()  # again and again, as an engine that is just being started escapes the first time
        wait(running, timeout=_BREAK_OFF_SECONDS)


def _play_one(arena: Arena, env: gymnasium.Env[str, str], slot: Slot) -> Episode:
    task = arena.panel.task(slot.task_id)
    seed = episode_seed(arena.config.seed, slot.task_id, slot.sample)
    trajectory = play_episode(env, arena.agent, task, slot.sample, seed)
    return Episode(trajectory, arena.shortest(slot.task_id))
