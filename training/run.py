"""A training run from its settings to its last checkpoint, gone on with wherever it was interrupted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ..agents.checkpoints import absolute_name
from ..agents.token_file import TokenArrays
from ..agents.trajectory import Outcome
from ..envs.errors import ConfigError, HolderGymError
from ..envs.files import replace_file
from ..envs.folder_lock import LOCK, FolderLock
from ..envs.settings import file_layer, first_difference, resolve
from .composition import without_effect
from .config import CIRCUMSTANCES, PLACES, OptimiserSettings, TrainConfig, ValidationSettings
from .exponents import ConstantExponent
from .learner import Learner, NotFiniteError
from .models import open_models
from .optimiser import Optimiser
from .playground import open_playground
from .policy import Policy
from .processes import ALONE, Processes
from .records import NoRecords, Records, run_records
from .saving import Checkpoints, Restored, load_learner
from .trackers import TrackerName, open_trackers, require_trackers
from .trainer import EachEpisode, Progress, RoundReport, Trainer
from .variants.stored_sampling import check_stored_episodes

CONFIG = "config.toml"
CIRCUMSTANCES_FILE = "circumstances.toml"
"""What changes no number and is not in ``config.toml``: a run that is gone on with has it unless another is given."""


Round = Callable[[Progress], RoundReport]
Prepare = Callable[[Policy, Optimiser, Trainer, Progress], Round]


class TrainingError(HolderGymError):
    """A training run that cannot begin or go on."""


def train(
    config: TrainConfig,
    *,
    resume: bool = False,
    say: Callable[[str], None] = lambda message: None,
    each_round: Callable[[int, dict[str, float]], None] = lambda number, metrics: None,
    each_episode: EachEpisode = lambda ended, episodes: None,
    processes: Processes = ALONE,
) -> Path:
    """Trains, and returns the model of the best round, or of the last one where nothing was validated.

    Args:
        config: The settings; ``config.out`` is the folder of the run.
        resume: Whether to go on with an interrupted run.
        say: Told in one line what is to be known.
        each_round: Told the metrics of each round as it ends.
        each_episode: Told how many episodes have ended, of how many, as this process plays them.
        processes: Who shares the work. The first writes the folder; all must see it.

    Raises:
        HolderGymError: If the settings contradict each other, something cannot be loaded or written, or the loss is
            no longer a number.
    """
    config = replace(config, agent=replace(config.agent, temperature=config.agent.temperature or 1.0))
    config = with_absolute_paths(config)
    for line in (*without_effect(config.method), *_powerless(config), *check_stored_episodes(config)):
        say(line)

    def prepare(policy: Policy, optimiser: Optimiser, trainer: Trainer, progress: Progress) -> Round:
        def play(done: Progress) -> RoundReport:
            with _keeping_the_batch(folder_of(config), processes):
                return trainer.round(done)

        return play

    return run_rounds(
        config,
        config,
        prepare,
        validate_first=True,
        resume=resume,
        say=say,
        each_round=each_round,
        each_episode=each_episode,
        processes=processes,
    )


def with_absolute_paths(config: TrainConfig) -> TrainConfig:
    """The same settings wherever a run is gone on with from. Names of the hub stay what they are."""
    models = {
        name: replace(settings, model=absolute_name(settings.model))
        for name in ("agent", "explorer", "partner")
        if (settings := getattr(config, name)) is not None
    }
    samples = config.explorer_samples
    data = None if config.data is None else config.data.absolute()
    return replace(config, explorer_samples=None if samples is None else samples.absolute(), data=data, **models)


def _powerless(config: TrainConfig) -> list[str]:
    """What a run of one step a round is told whose method is about more than one."""
    exponent = config.method.aggregation.exponent
    if config.steps_a_round > 1 or (isinstance(exponent, ConstantExponent) and exponent.p == 1):
        return []
    return [
        "With one optimiser step a round every importance ratio is 1, so p has no effect: set updates or epochs to 2 "
        "or more."
    ]


class RunSettings(Protocol):
    """Settings of any kind of run that trains; the attributes are those of ``TrainConfig``."""

    @property
    def out(self) -> Path | None:
        """Folder of the run."""

    @property
    def rounds(self) -> int:
        """Number of rounds."""

    @property
    def updates(self) -> int:
        """Optimiser steps of a pass over a round's episodes."""

    @property
    def optimiser(self) -> OptimiserSettings:
        """AdamW."""

    @property
    def validation(self) -> ValidationSettings:
        """What is played between rounds."""

    @property
    def save_every(self) -> int:
        """Rounds between two checkpoints."""

    @property
    def keep_last(self) -> int:
        """Checkpoints that are kept besides the best."""

    @property
    def log_to(self) -> tuple[TrackerName, ...]:
        """Services that get the numbers of each round."""

    def to_toml(self) -> str:
        """The text of ``config.toml``."""

    def circumstances(self) -> str:
        """The text of ``circumstances.toml``."""


def folder_of(config: RunSettings) -> Path:
    """The folder of a run.

    Raises:
        ConfigError: If it is not set.
    """
    if config.out is None:
        raise ConfigError("the setting 'out' is missing: give --out FOLDER")
    return config.out


def run_rounds(
    config: RunSettings,
    playing: TrainConfig,
    prepare: Prepare,
    *,
    validate_first: bool,
    resume: bool,
    say: Callable[[str], None],
    each_round: Callable[[int, dict[str, float]], None],
    each_episode: EachEpisode,
    processes: Processes,
) -> Path:
    """Runs the rounds of any kind of training, with validations and checkpoints, from wherever the run was left.

    Args:
        config: The settings of the run.
        playing: The settings of the policy and of what it is validated on.
        prepare: Gets ready for the rounds, and says what one of them does.
        validate_first: Whether the policy is validated and saved before the first round.
        resume: Whether to go on with an interrupted run.
        say: Told in one line what is to be known.
        each_round: Told the metrics of each round as it ends.
        each_episode: Told how many episodes have ended, of how many.
        processes: Who shares the work.

    Returns:
        The model of the best round, or of the last one where nothing was validated.
    """
    out = folder_of(config)
    require_trackers(config.log_to)
    checkpoints = Checkpoints(out / "checkpoints", config.keep_last)
    restored = look(config, checkpoints, resume)
    playground = open_playground(playing)
    # Nobody writes before all have looked.
    processes.require_same("the round to go on from", None if restored is None else restored.progress.round)
    processes.require_same("the tasks", playground.train.sha256)
    if restored is not None and restored.progress.round >= config.rounds:
        say(f"{out}: all {config.rounds} rounds are done")
        return checkpoints.model_of(restored.best[1] if restored.best else restored.progress.round)
    # What cannot be loaded leaves no folder behind: it is set up only then.
    with (
        open_models(playing, processes) as models,
        _records(config, checkpoints, restored, say, processes) as records,
    ):
        progress, best = Progress(), None
        if restored is not None:
            for learner in models.learners:
                load_learner(learner, restored, checkpoints.model_of(restored.progress.round).parent)
            progress, best = restored.progress, restored.best
            say(f"{out}: goes on after round {progress.round} of {config.rounds}")
        trainer = Trainer(playing, models, playground, processes, each_episode)
        play = prepare(models.policy, models.learners[0].optimiser, trainer, progress)
        if validate_first and restored is None and playground.validation is not None:
            untrained: dict[str, float] = {}
            best = (validate(trainer, untrained), 0)
            records.round(0, untrained, {})
            each_round(0, untrained)
            records.checkpoint(progress, models.learners, best)
        while progress.round < config.rounds:
            report = play(progress)
            progress, metrics = report.progress, dict(report.metrics)
            last = progress.round == config.rounds
            if _is_due(config.validation.every, progress.round, last) and playground.validation is not None:
                rate = validate(trainer, metrics)
                if best is None or rate > best[0]:
                    best = (rate, progress.round)
            records.round(progress.round, metrics, report.seconds)
            each_round(progress.round, metrics)
            is_best = best is not None and best[1] == progress.round
            if last or is_best or progress.round % config.save_every == 0:
                records.checkpoint(progress, models.learners, best)
        processes.gather(None)  # the last checkpoint is written before anyone takes it for done
    return checkpoints.model_of(progress.round if best is None else best[1])


@contextmanager
def _records(
    config: RunSettings,
    checkpoints: Checkpoints,
    restored: Restored | None,
    say: Callable[[str], None],
    processes: Processes,
) -> Iterator[Records]:
    """Sets the folder up and opens what is written there, in the process that leads."""
    if not processes.leads:
        yield NoRecords()
        return
    after = None if restored is None else restored.progress.round
    with (
        set_up(config),
        open_trackers(config.log_to, folder_of(config), config.to_toml(), after, say) as trackers,
        run_records(checkpoints, trackers, after) as records,
    ):
        yield records


def look(config: RunSettings, checkpoints: Checkpoints, resume: bool) -> Restored | None:
    """Finds out from where a run goes on, and writes nothing.

    Raises:
        HolderGymError: If the folder holds something else, another run, or a run that was not to be gone on with.
    """
    assert config.out is not None
    path = config.out / CONFIG
    if not path.exists():
        if resume:
            raise TrainingError(f"{config.out} holds no training run to go on with: leave out --resume to begin one")
        if config.out.is_dir():
            # What a process that was killed in the first moments may leave.
            names = {one.name for one in config.out.iterdir() if one.name != LOCK and not one.name.endswith(".new")}
            if names:
                raise TrainingError(
                    f"{config.out} is not empty (it holds {min(names)!r}) and is no training run: choose another --out"
                )
        return None
    if not resume:
        raise TrainingError(f"{config.out} holds a training run: add --resume to go on, or choose another --out")
    saved = resolve(type(config), [file_layer(path)])
    changed = first_difference(saved, config, leave_out=(*CIRCUMSTANCES, *PLACES, "rounds"))
    if changed:
        raise TrainingError(
            f"cannot resume {config.out}: the setting {changed.key!r} is {changed.first!r} there and "
            f"{changed.second!r} here; leave it out, or choose another --out"
        )
    latest = checkpoints.latest()
    return None if latest is None else checkpoints.restore(latest)


@contextmanager
def set_up(config: RunSettings) -> Iterator[None]:
    """Makes the folder of a run, keeps other processes out of it, and writes its settings.

    Raises:
        HolderGymError: If the folder cannot be written or another process is writing it.
    """
    assert config.out is not None
    try:
        config.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError(f"cannot make the folder {config.out}: {error.strerror}") from None
    lock = FolderLock(config.out)
    try:
        _write(config.out / CONFIG, config.to_toml())
        _write(config.out / CIRCUMSTANCES_FILE, config.circumstances())
        yield
    finally:
        lock.release()


def _write(path: Path, text: str) -> None:
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise TrainingError(f"cannot write {path}: {error.strerror}") from None


def validate(trainer: Trainer, metrics: dict[str, float]) -> float:
    """Lets all learners play the validation panel, and adds what came of it to the metrics.

    Returns:
        The success rate of the policy.
    """
    rates = [_validate(trainer, learner, metrics) for learner in trainer.learners]
    return rates[0]


def _validate(trainer: Trainer, learner: Learner, metrics: dict[str, float]) -> float:
    played = trainer.validate(learner)
    finished = [one for one in played if one.outcome.finished]
    if not finished:
        raise TrainingError(f"no episode of the validation finished: {played[0].reason}")
    rate = sum(one.outcome is Outcome.WON for one in finished) / len(finished)
    metrics[f"{learner.label}validation/success"] = rate
    metrics[f"{learner.label}validation/episodes"] = len(finished)
    for kind in sorted({one.task_type for one in finished}):
        of_kind = [one.outcome is Outcome.WON for one in finished if one.task_type == kind]
        metrics[f"{learner.label}validation/success/{kind}"] = sum(of_kind) / len(of_kind)
    return rate


@contextmanager
def _keeping_the_batch(out: Path, processes: Processes) -> Iterator[None]:
    """Saves the round whose loss is not a number, so that it can be looked at."""
    try:
        yield
    except NotFiniteError as error:
        path = out / "not-finite.npz"
        if processes.leads:
            TokenArrays.of(error.experience.trajectories).save(path)
        processes.gather(None)  # who fails first ends them all
        raise TrainingError(f"{error}; the round's tokens are in {path}") from None


def _is_due(every: int, number: int, last: bool) -> bool:
    return every > 0 and (last or number % every == 0)
