"""Trains a tiny policy by every variant of GRPO, with the same seeds and budget, and writes their table.

    python benchmarks/variants.py --out DIR [--study scratchpad] [--seeds 0 1 2] [--methods grpo grpo+avspo ...]

There are two studies. In ``recall`` the policy sees 80 sums and differences again and again, and what is compared is
how many of these it has learned by heart. In ``scratchpad`` it has been warmed up to answer differences at once and by
a scratchpad in equal parts, as in the recipe ``quick``, and what is compared is how often it answers problems that it
has never seen.

Each seed has a policy of its own, and an explorer and a partner of other sizes for the methods that want them. From the
warm start each method trains for the same number of rounds, episodes and optimiser steps (CoDistill-GRPO plays twice as
many episodes, as it is defined). The last checkpoint of each run, not the best, plays every task of a panel several
times, sampling as in training, which is what the methods optimise.

The table has, for each method, the success rate over all tasks and seeds with its interval, its difference from GRPO
with interval and p-value, the seeds one by one, the mean success of the policy's episodes in training, and the mean
collapse rate. Intervals are cluster bootstraps over tasks and tests are paired permutations over tasks (Holm's
correction over all rows): they speak of other tasks, given these trained policies. What another seed would give, the
column of seeds shows.

Its last two columns say what the rollouts cost, in sampled tokens times the weights of the model that sampled them. The
cost of a token is beside the policy's: less than 1 where a smaller model samples some of them. The cost of all counts
every token that was sampled in the run, and is beside that of GRPO's run of the same seed, in the mean over the seeds:
2 where twice as many episodes are played. Scoring and training are in neither.

Everything is gone on with where it was interrupted, with the settings that stand in ``settings.json``: others want
another folder. ``--table`` writes the table of what there is, and trains nothing.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from holdergym.agents.agent import episode_seed
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.rollout import EpisodeJob, roll_out
from holdergym.agents.trajectory import Outcome
from holdergym.eval.at_k import Attempts
from holdergym.eval.bootstrap import bootstrap_rate
from holdergym.eval.pairing import Paired, pair
from holdergym.eval.significance import holm
from holdergym.training.config import OptimiserSettings, TrainConfig, ValidationSettings
from holdergym.training.method import Method
from holdergym.training.metrics_log import read_metrics
from holdergym.training.models import open_models
from holdergym.training.needs import parameters_of_model
from holdergym.training.playground import open_playground
from holdergym.training.presets import preset
from holdergym.training.run import train
from holdergym.training.schedules import Schedule
from holdergym.training.sft import DemonstrationSettings, ImitationOptimiserSettings, SftConfig, warm_start
from holdergym.training.tiny.making import TinySize, make_tiny_policy
from holdergym.training.variants.s2l import ExplorerMix

ALONE = ("s2l-po", "cov_gaussian", "avspo", "expo", "expo-constant", "codistill", "codistill-tis")
METHODS = (
    "grpo",
    *(f"grpo+{name}" for name in ALONE),
    "holderpo",
    *(f"holderpo+{name}" for name in ALONE if name != "expo-constant"),
    "holderpo+cov_gaussian+avspo+expo",
    "holderpo+s2l-po+cov_gaussian+expo",
)


class Study(NamedTuple):
    """What is learned, and how much is played for it.

    Attributes:
        panel: Tasks that are trained on, and that demonstrations are given of.
        compared: Tasks on which the methods are compared.
        demonstrations: What the warm start imitates.
        sizes: The policy and the other models.
        warm_rounds, warm_updates: Rounds of the warm start, and optimiser steps of each.
        max_tokens: Most tokens of an answer.
        rounds, groups, group_size, updates: As in ``TrainConfig``.
        samples: Episodes of each task that the last checkpoint plays.
    """

    panel: str
    compared: str
    demonstrations: DemonstrationSettings
    sizes: Mapping[str, TinySize]
    warm_rounds: int
    warm_updates: int
    max_tokens: int
    rounds: int
    groups: int
    group_size: int
    updates: int
    samples: int


STUDIES = {
    "recall": Study(
        panel="builtin_small_valid",
        compared="builtin_small_valid",
        demonstrations=DemonstrationSettings(),
        sizes={
            "policy": TinySize(layers=2, width=64, heads=4, inner=128),
            "explorer": TinySize(layers=1, width=48, heads=4, inner=96),
            "partner": TinySize(layers=3, width=96, heads=4, inner=192),
        },
        warm_rounds=2,
        warm_updates=60,
        max_tokens=8,
        rounds=40,
        groups=16,
        group_size=8,
        updates=4,
        samples=8,
    ),
    "scratchpad": Study(
        panel="builtin_difference_train",
        compared="builtin_difference_valid",
        demonstrations=DemonstrationSettings(agent="scratchpad"),
        sizes={
            "policy": TinySize(layers=3, width=96, heads=8, inner=192),
            "explorer": TinySize(layers=2, width=64, heads=8, inner=128),
            "partner": TinySize(layers=3, width=128, heads=8, inner=256),
        },
        warm_rounds=20,
        warm_updates=50,
        max_tokens=32,
        rounds=10,
        groups=64,
        group_size=8,
        updates=4,
        samples=4,
    ),
}


class Cost(NamedTuple):
    """What the rollouts of a run cost.

    Attributes:
        tokens: All sampled tokens.
        weighed: The same, each times the weights of the model that sampled it as a share of the policy's.
    """

    tokens: float
    weighed: float


Score = Mapping[str, Attempts]
"""What the last checkpoint of a run did: by task how often it was played and won."""


_ADJUSTABLE = ("warm_rounds", "rounds", "groups", "group_size", "updates", "samples")
_SETTINGS = ("study", "learning_rate", *_ADJUSTABLE)


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    _require_same_settings(options)
    if not options.table:
        for seed in options.seeds:
            begun = {name: _warm(options, name, seed) for name in STUDIES[options.study].sizes}
            _score(options, "warm start", seed, begun["policy"])
            for method in options.methods:
                _run(options, method, seed, begun)
    table = _table(options)
    (options.out / "table.md").write_text(table, encoding="utf-8")
    print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--study", choices=list(STUDIES), default="recall")
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    for name in _ADJUSTABLE:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, help="in place of the study's own")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="train nothing")
    options = parser.parse_args()
    options.out = options.out.absolute()
    for name in _ADJUSTABLE:
        if getattr(options, name) is None:
            setattr(options, name, getattr(STUDIES[options.study], name))
    return options


def _require_same_settings(options: argparse.Namespace) -> None:
    """Refuses a folder whose runs have other settings, and writes down those of a new one."""
    path, own = options.out / "settings.json", {name: getattr(options, name) for name in _SETTINGS}
    if path.is_file():
        for name, there in json.loads(path.read_text(encoding="utf-8")).items():
            if own.get(name) != there:
                sys.exit(
                    f"{options.out} has runs with {name} {there}, not {own.get(name)}: give "
                    f"--{name.replace('_', '-')} {there}, or another --out"
                )
    elif not options.table:
        options.out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(own), encoding="utf-8")


def _warm(options: argparse.Namespace, name: str, seed: int) -> Path:
    """The model of this name after its warm start."""
    study = STUDIES[options.study]
    folder = options.out / f"seed-{seed}" / name
    if not (folder / "new" / "config.json").is_file():
        make_tiny_policy(folder / "new", "math", size=study.sizes[name], seed=seed)
    config = SftConfig(
        env="math",
        panel=study.panel,
        agent=LanguageModelSettings(model=str(folder / "new"), prompt="free", max_tokens=study.max_tokens),
        demonstrations=study.demonstrations,
        rounds=options.warm_rounds,
        updates=study.warm_updates,
        optimiser=ImitationOptimiserSettings(learning_rate=4e-3, warmup=20),
        validation=ValidationSettings(every=0),
        seed=seed,
        in_flight=64,
        out=folder / "warm",
    )
    _say(f"seed {seed}: warm start of the {name}")
    return warm_start(config, resume=(folder / "warm" / "config.toml").is_file(), say=_say)


def _method(name: str, rounds: int) -> Method:
    """The method, its schedule of p over this run."""
    method = preset(name)
    exponent = method.aggregation.exponent
    if isinstance(exponent, Schedule):
        method = replace(method, aggregation=replace(method.aggregation, exponent=replace(exponent, rounds=rounds)))
    return method


def _run(options: argparse.Namespace, name: str, seed: int, begun: Mapping[str, Path]) -> None:
    folder = options.out / f"seed-{seed}" / name
    if (folder / "score.json").is_file():
        return
    method = _method(name, options.rounds)
    wanted = {"explorer": isinstance(method.source, ExplorerMix), "partner": method.partner is not None}
    config = TrainConfig(
        env="math",
        panel=STUDIES[options.study].panel,
        agent=_agent(begun["policy"], STUDIES[options.study]),
        method=method,
        **{model: LanguageModelSettings(model=str(begun[model])) for model in wanted if wanted[model]},
        rounds=options.rounds,
        groups=options.groups,
        group_size=options.group_size,
        updates=options.updates,
        optimiser=OptimiserSettings(learning_rate=options.learning_rate, warmup=4),
        validation=ValidationSettings(every=0),
        save_every=max(1, options.rounds // 3),
        keep_last=1,
        seed=seed,
        in_flight=64,
        out=folder / "run",
    )
    began = time.perf_counter()
    last = train(config, resume=(folder / "run" / "config.toml").is_file(), say=_say)
    seconds = time.perf_counter() - began
    _score(options, name, seed, last)
    _say(f"seed {seed}: {name}: {seconds:.0f} s")


def _score(options: argparse.Namespace, name: str, seed: int, model: Path) -> None:
    """Plays the panel and writes down which tasks were won, unless that was done before."""
    path = options.out / f"seed-{seed}" / name / "score.json"
    if path.is_file():
        return
    found = _play(model, seed, STUDIES[options.study], options.samples)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found), encoding="utf-8")
    _say(f"seed {seed}: {name}: {_rate(found):.1%}")


def _play(model: Path, seed: int, study: Study, samples: int) -> dict[str, Attempts]:
    """How often a model wins each task, sampling as it was trained."""
    config = TrainConfig(
        env="math",
        panel=study.compared,
        agent=_agent(model, study),
        method=Method(name="none"),
        seed=seed,
        in_flight=64,
    )
    playground = open_playground(config)
    jobs = [
        EpisodeJob(task, sample, episode_seed(seed, f"score of {task.id}", sample))
        for task in playground.train.tasks
        for sample in range(samples)
    ]
    won = {task.id: 0 for task in playground.train.tasks}
    with open_models(config) as models:
        for one in roll_out(jobs, models.policy.agent(playground.kind), playground.make_train, config.in_flight):
            won[one.task_id] += one.outcome is Outcome.WON
    return {task: Attempts(samples=samples, won=number) for task, number in won.items()}


def _agent(model: Path, study: Study) -> LanguageModelSettings:
    return LanguageModelSettings(model=str(model), prompt="free", max_tokens=study.max_tokens, temperature=1.0)


def _table(options: argparse.Namespace) -> str:
    """The table of all runs that have ended for every seed."""
    scores = {name: _scores(options, name) for name in ("warm start", *options.methods)}
    whole = {name: found for name, found in scores.items() if len(found) == len(options.seeds)}
    if not whole:
        return "no method has ended for every seed yet\n"
    compared = {name: _against(whole["grpo"], found) for name, found in whole.items() if "grpo" in whole}
    tested = [name for name, one in compared.items() if name not in ("grpo", "warm start") and one.p.defined]
    adjusted = dict(zip(tested, holm([compared[name].p.value for name in tested]), strict=True))
    study = STUDIES[options.study]
    lines = [
        f"Trained on `{study.panel}`, compared on `{study.compared}` ({len(whole[next(iter(whole))][0])} tasks, "
        f"{options.samples} samples each): {options.rounds} rounds of {options.groups} x {options.group_size} "
        f"episodes, {options.updates} optimiser steps a round, learning rate {options.learning_rate:g}, seeds "
        f"{', '.join(map(str, options.seeds))}.",
        "",
        "| method | success | less GRPO | p (Holm) | by seed | while training | ACR | cost of a token | of all |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in whole.items():
        attempts = _attempts(found)
        interval = bootstrap_rate([one.won for one in attempts.values()], [one.samples for one in attempts.values()])
        rates = [_rate(one) for one in found]
        less, p = "", ""
        if name in compared and name != "grpo":
            one = compared[name]
            less = f"{one.difference.value:+.1%} [{one.interval.low:+.1%}, {one.interval.high:+.1%}]"
            p = "-" if name not in adjusted else "< 0.001" if adjusted[name] < 0.001 else f"{adjusted[name]:.3f}"
        lines.append(
            f"| {name} | {sum(rates) / len(rates):.1%} [{interval.low:.1%}, {interval.high:.1%}] | {less} | {p} | "
            f"{', '.join(f'{rate:.1%}' for rate in rates)} | {_mean(options, name, 'success', '.1%')} | "
            f"{_mean(options, name, 'collapsed_groups', '.2f')} | {_cost_of_token(options, name)} | "
            f"{_cost_of_all(options, name)} |"
        )
    missing = [name for name in options.methods if name not in whole]
    notes = [_note_on_costs(options, list(whole))]
    notes += [f"Not ended for every seed: {', '.join(missing)}."] if missing else []
    return "\n".join([*lines, *(line for note in notes for line in ("", note))]) + "\n"


def _scores(options: argparse.Namespace, name: str) -> list[Score]:
    paths = [options.out / f"seed-{seed}" / name / "score.json" for seed in options.seeds]
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]
    # Scores of both panels, as they were written before there were two studies: the first is the one of ``recall``.
    found = [one["train"] if one.keys() == {"train", "held_out"} else one for one in found]
    return [{task: Attempts(*each) for task, each in one.items()} for one in found]


def _rate(played: Mapping[str, Attempts]) -> float:
    return sum(one.won / one.samples for one in played.values()) / len(played)


def _attempts(played: Sequence[Mapping[str, Attempts]]) -> dict[str, Attempts]:
    """Each task's episodes, of all seeds."""
    return {
        task: Attempts(samples=sum(one[task].samples for one in played), won=sum(one[task].won for one in played))
        for task in played[0]
    }


def _against(grpo: Sequence[Score], other: Sequence[Score]) -> Paired:
    first, second = _attempts(grpo), _attempts(other)
    return pair(first, second, tasks=len(first))


def _mean(options: argparse.Namespace, name: str, metric: str, form: str) -> str:
    """Mean of a metric over all rounds and seeds; rounds that have none are left out."""
    if name == "warm start":
        return "-"
    values = [
        float(line[metric])
        for seed in options.seeds
        for line in read_metrics(options.out / f"seed-{seed}" / name / "run")
        if line.get(metric) is not None and not math.isnan(line[metric])
    ]
    return format(sum(values) / len(values), form) if values else "-"


def _cost(options: argparse.Namespace, name: str, seed: int) -> Cost:
    """The cost of a run, by its log alone."""
    tokens = weighed = 0.0
    for line in read_metrics(options.out / f"seed-{seed}" / name / "run"):
        if "episodes" not in line:
            continue  # a validation before the first round
        if "policy/tokens" in line:
            sampled = float(line["policy/tokens"]) + float(line.get("explorer/tokens", 0))
        else:
            # Runs without an explorer did not always log it. Their episodes are those that did not fail.
            sampled = float(line["episodes"]) * float(line["turns"]) * float(line["response_tokens"])
        tokens += sampled
        weighed += sampled * float(line.get("rollout_cost_share", 1))
    return Cost(tokens, weighed)


def _cost_of_token(options: argparse.Namespace, name: str) -> str:
    if name == "warm start":
        return "-"
    costs = [_cost(options, name, seed) for seed in options.seeds]
    return f"{sum(one.weighed for one in costs) / sum(one.tokens for one in costs):.2f}"


def _cost_of_all(options: argparse.Namespace, name: str) -> str:
    """Beside GRPO's run of the same seed, in the mean over the seeds."""
    ended = [(options.out / f"seed-{seed}" / "grpo" / "score.json").is_file() for seed in options.seeds]
    if name == "warm start" or not all(ended):
        return "-"
    return f"{_mean_ratio(options, name):.2f}"


def _mean_ratio(options: argparse.Namespace, name: str) -> float:
    ratios = [_cost(options, name, seed).weighed / _cost(options, "grpo", seed).weighed for seed in options.seeds]
    return sum(ratios) / len(ratios)


def _note_on_costs(options: argparse.Namespace, names: Sequence[str]) -> str:
    """What the columns of costs mean, and what the partner would have cost that CoDistill-GRPO spares."""
    note = (
        "Costs are sampled tokens times the weights of the model that sampled them: of a token beside the policy's, "
        "and of all tokens beside GRPO's run of the same seed."
    )
    folder = options.out / f"seed-{options.seeds[0]}"
    policy, partner = (parameters_of_model(str(folder / name / "new")) for name in ("policy", "partner"))
    if policy is None or partner is None or not any("codistill" in name for name in names):
        return note
    return (
        f"{note} CoDistill-GRPO plays with the policy for a partner of {partner / policy:.2f} times its weights: "
        "beside GRPO of the partner, with as many tokens as GRPO of the policy, divide its cost of all by "
        f"{partner / policy:.2f}."
    )


def _say(message: str) -> None:
    print(message, flush=True)


if __name__ == "__main__":
    main()
