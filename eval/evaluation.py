"""Plays a panel into a run folder: every task and sample exactly once, however often it is interrupted."""

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from ..agents.agent import episode_seed
from ..agents.checkpoints import ModelError
from ..agents.language_model_settings import LanguageModelSettings
from ..agents.rollout import EpisodeJob, roll_out
from ..agents.trajectory import Outcome
from ..envs.errors import ConfigError
from .arena import Arena, open_arena
from .config import EvalConfig
from .episode import Episode
from .prompt_texts import read_texts
from .provenance import begin_session
from .results import Slot
from .run import MANIFEST, Run
from .run_folder import Plan, RunFolder
from .tokens import write_tokens


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
        ModelError: If a server refuses all requests; what was played before is kept.
        HolderGymError: If the games or the agent cannot be loaded.
    """
    if config.out is None:
        raise ConfigError("the setting 'out' is missing: give --out FOLDER")
    arena = open_arena(config)
    for note in arena.notes:
        say(note)
    agent = arena.agent
    texts = read_texts(arena.config.agent, agent.fingerprint)
    plan = Plan(arena.config, arena.panel, arena.dialect, agent.name, agent.fingerprint, texts)
    session = replace(begin_session(arena.source, arena.workers), settings=config.circumstances())
    slots = plan.schedule.slots()
    if not (config.out / MANIFEST).exists():
        agent.open()  # a model that cannot be loaded leaves no folder behind
    with closing(agent), RunFolder(config.out, plan, session, resume=resume, say=say) as folder:
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
        with bar, _told_to_resume(config.out), closing(_play(arena, missing)) as episodes:
            won = finished = 0
            for episode in episodes:
                folder.append(episode)
                won += episode.trajectory.outcome is Outcome.WON
                finished += episode.trajectory.outcome.finished
                bar.set_postfix_str(f"won {won}/{finished}", refresh=False)
                bar.update()
        run = folder.summarise()
    if isinstance(config.agent, LanguageModelSettings):
        write_tokens(run)
    return run


@contextmanager
def _told_to_resume(out: Path) -> Iterator[None]:
    """Says of a model that answers nothing more, as with a key that is not known, that the run can go on."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{error}; what was played is in {out}, and --resume goes on from there") from None


def _play(arena: Arena, slots: Sequence[Slot]) -> Generator[Episode]:
    """Yields episodes as they end. Closing it ends all environments and the agent."""
    if not slots:
        return
    arena.agent.open()
    jobs = [
        EpisodeJob(
            arena.panel.task(slot.task_id),
            slot.sample,
            episode_seed(arena.config.seed, slot.task_id, slot.sample),
        )
        for slot in slots
    ]
    in_flight = min(arena.workers, len(slots))
    with closing(roll_out(jobs, arena.agent, arena.make_env, in_flight, break_off=arena.agent.close)) as trajectories:
        for trajectory in trajectories:
            yield Episode(arena.settle(trajectory), arena.shortest(trajectory.task_id))
