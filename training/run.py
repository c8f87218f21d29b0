"""A training run from its settings to its last checkpoint, gone on with wherever it was interrupted."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from ..agents.token_file import TokenArrays
from ..agents.trajectory import Outcome
from ..envs.errors import ConfigError, HolderGymError
from ..envs.settings import file_layer, first_difference, resolve
from .config import CIRCUMSTANCES, TrainConfig
from .metrics_log import MetricsLog
from .optimiser import Optimiser
from .playground import open_playground
from .policy import Policy
from .saving import Checkpoints, Restored, load_weights
from .trainer import NotFiniteError, Progress, Trainer

CONFIG = "config.toml"


class TrainingError(HolderGymError):
    """A training run that cannot begin or go on."""


def train(
    config: TrainConfig,
    *,
    resume: bool = False,
    say: Callable[[str], None] = lambda message: None,
    each_round: Callable[[int, dict[str, float]], None] = lambda number, metrics: None,
) -> Path:
    """Trains, and returns the model of the best round, or of the last one where nothing was validated.

    Args:
        config: The settings; ``config.out`` is the folder of the run.
        resume: Whether to go on with an interrupted run.
        say: Told in one line what is to be known.
        each_round: Told the metrics of each round as it ends.

    Raises:
        HolderGymError: If the settings contradict each other, something cannot be loaded or written, or the loss is
            no longer a number.
    """
    out = config.out
    if out is None:
        raise ConfigError("the setting 'out' is missing: give --out FOLDER")
    checkpoints = Checkpoints(out / "checkpoints", config.keep_last)
    config = replace(config, agent=replace(config.agent, temperature=config.agent.temperature or 1.0))
    restored = _begin(config, checkpoints, resume)
    playground = open_playground(config)
    if restored is not None and restored.progress.round >= config.rounds:
        say(f"{out}: all {config.rounds} rounds are done")
        return checkpoints.model_of(restored.best[1] if restored.best else restored.progress.round)
    with closing(Policy(config)) as policy:
        optimiser = Optimiser(policy.trained, config.optimiser, config.rounds * config.updates)
        progress, best = Progress(), None
        if restored is not None:
            latest = checkpoints.model_of(restored.progress.round).parent
            load_weights(policy.model, restored.weights, latest)
            optimiser.restore(restored.optimiser)
            policy.weights_changed()
            progress, best = restored.progress, restored.best
            say(f"{out}: goes on after round {progress.round} of {config.rounds}")
        trainer = Trainer(config, policy, playground, optimiser)
        with closing(MetricsLog(out, progress.round)) as log:
            if progress.round == 0 and playground.validation is not None:
                untrained: dict[str, float] = {}
                best = (_validate(trainer, untrained), 0)
                log.append(0, untrained, {})
                each_round(0, untrained)
                checkpoints.save(progress, policy.model, optimiser.state(), best, policy.save)
            while progress.round < config.rounds:
                with _keeping_the_batch(out):
                    report = trainer.round(progress)
                progress, metrics = report.progress, dict(report.metrics)
                last = progress.round == config.rounds
                if _is_due(config.validation.every, progress.round, last) and playground.validation is not None:
                    rate = _validate(trainer, metrics)
                    if best is None or rate > best[0]:
                        best = (rate, progress.round)
                log.append(progress.round, metrics, report.seconds)
                each_round(progress.round, metrics)
                is_best = best is not None and best[1] == progress.round
                if last or is_best or progress.round % config.save_every == 0:
                    checkpoints.save(progress, policy.model, optimiser.state(), best, policy.save)
    return checkpoints.model_of(progress.round if best is None else best[1])


def _begin(config: TrainConfig, checkpoints: Checkpoints, resume: bool) -> Restored | None:
    """Sets up the folder, or finds out from where the run goes on."""
    assert config.out is not None
    path = config.out / CONFIG
    if not path.exists():
        try:
            config.out.mkdir(parents=True, exist_ok=True)
            if present := sorted(one.name for one in config.out.iterdir()):
                raise TrainingError(
                    f"{config.out} is not empty (it holds {present[0]!r}) and is no training run: choose another --out"
                )
            new = path.with_name(f".{path.name}.new")
            new.write_text(config.to_toml(), encoding="utf-8")
            os.replace(new, path)
        except OSError as error:
            raise TrainingError(f"cannot make the folder {config.out}: {error.strerror}") from None
        return None
    if not resume:
        raise TrainingError(f"{config.out} holds a training run: add --resume to go on, or choose another --out")
    saved = resolve(TrainConfig, [file_layer(path)])
    changed = first_difference(saved, config, leave_out=(*CIRCUMSTANCES, "rounds"))
    if changed:
        raise TrainingError(
            f"cannot resume {config.out}: the setting {changed.key!r} is {changed.first!r} there and "
            f"{changed.second!r} here; leave it out, or choose another --out"
        )
    latest = checkpoints.latest()
    return None if latest is None else checkpoints.restore(latest)


def _validate(trainer: Trainer, metrics: dict[str, float]) -> float:
    """Plays the validation panel and adds what came of it to the metrics."""
    played = trainer.validate()
    finished = [one for one in played if one.outcome.finished]
    if not finished:
        raise TrainingError(f"no episode of the validation finished: {played[0].reason}")
    rate = sum(one.outcome is Outcome.WON for one in finished) / len(finished)
    metrics["validation/success"] = rate
    metrics["validation/episodes"] = len(finished)
    for kind in sorted({one.task_type for one in finished}):
        of_kind = [one.outcome is Outcome.WON for one in finished if one.task_type == kind]
        metrics[f"validation/success/{kind}"] = sum(of_kind) / len(of_kind)
    return rate


@contextmanager
def _keeping_the_batch(out: Path) -> Iterator[None]:
    """Saves the round whose loss is not a number, so that it can be looked at."""
    try:
        yield
    except NotFiniteError as error:
        path = out / "not-finite.npz"
        TokenArrays.of(error.experience.trajectories).save(path)
        raise TrainingError(f"{error}; the round's tokens are in {path}") from None


def _is_due(every: int, number: int, last: bool) -> bool:
    return every > 0 and (last or number % every == 0)
