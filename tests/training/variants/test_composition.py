"""Pairs of methods that may be combined are trained, others are refused, and a switch that is off is GRPO."""

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.envs.errors import ConfigError, EnvironmentFailure
from holdergym.training import GroupAdvantage, Method, preset
from holdergym.training import run as training_run
from holdergym.training.advantages import State
from holdergym.training.aggregation import HolderAggregation
from holdergym.training.composition import VARIANTS, identities_of, notes_of, stages_of, without_effect
from holdergym.training.config import TrainConfig
from holdergym.training.experience import RewardSettings
from holdergym.training.exponents import ConstantExponent
from holdergym.training.learner import Learned, Learner, Lesson
from holdergym.training.metrics_log import read_metrics
from holdergym.training.models import open_models
from holdergym.training.playground import Playground
from holdergym.training.presets import parts_of
from holdergym.training.run import train
from holdergym.training.selection import DropUniformGroups
from holdergym.training.trainer import Progress, Trainer
from holdergym.training.variants.avspo import VirtualSampleAdvantage
from holdergym.training.variants.codistill import CoDistill
from holdergym.training.variants.cov_gaussian import GaussianCovariance
from holdergym.training.variants.expo import AccuracyScale, GaussianCurriculum
from holdergym.training.variants.s2l import ExplorerMix

from ..word_game import LETTERS, PANEL, WordGame, play, settings

ADDED = ("s2l-po", "cov_gaussian", "avspo", "expo", "codistill")
BASES = ("holderpo", "dr-grpo", "gspo", "dapo", "gigpo", "clip-cov", "kl-cov", "rloo", "reinforce++")
REFUSED = {
    "s2l-po+codistill": "both say who plays",
    "dapo+avspo": "AVSPO repairs the groups that drop_uniform throws away",
    "dapo+codistill": "has a selection already",
    "gigpo+avspo": "the advantage 'gigpo'",
    "rloo+avspo": "the advantage 'leave_one_out'",
    "reinforce+++avspo": "the advantage 'global'",
    "clip-cov+cov_gaussian": "clip_cov and cov_gaussian are two answers",
    "kl-cov+cov_gaussian": "cov_gaussian and kl_cov are two answers",
    "kl-cov+expo": "against the policy at the start of the round",
}
# Pairs of variants and those with HölderPO are quick; the other methods are many.
QUICK = (*ADDED, "holderpo")
PAIRS = ["+".join(pair) for pair in (*combinations(ADDED, 2), *((base, added) for base in BASES for added in ADDED))]


@pytest.fixture
def models(explorer: Path, partner: Path) -> dict[str, LanguageModelSettings]:
    return {
        "explorer": LanguageModelSettings(model=str(explorer)),
        "partner": LanguageModelSettings(model=str(partner)),
    }


def run_of(checkpoint: Path, method: Method, models: dict[str, LanguageModelSettings], **changes: Any) -> TrainConfig:
    """A run of two rounds with the models that the method asks for."""
    wanted = {"explorer": isinstance(method.source, ExplorerMix), "partner": method.partner is not None}
    return settings(checkpoint, method, **{name: models[name] for name in models if wanted[name]}, **changes)


def allowed() -> list[Any]:
    pairs = [pair for pair in PAIRS if pair not in REFUSED]
    return [pair if set(parts_of(pair)) <= set(QUICK) else pytest.param(pair, marks=pytest.mark.slow) for pair in pairs]


@pytest.mark.parametrize("name", allowed())
def test_two_rounds_of_every_pair(tiny_checkpoint: Path, models: dict[str, LanguageModelSettings], name: str) -> None:
    method = preset(name)
    if isinstance(method.source, ExplorerMix):
        # A round with both kinds of episodes, then one without the explorer.
        method = replace(method, source=ExplorerMix(transition=2))
    method = replace(method, reward=None)
    reports, weights = play(run_of(tiny_checkpoint, method, models))
    assert [report.progress.round for report in reports] == [1, 2]
    assert all(math.isfinite(report.metrics["loss"]) for report in reports)
    assert sum(report.metrics["gradient_norm"] for report in reports) > 0
    assert all(torch.isfinite(one).all() for one in weights.values())
    expected = {
        "s2l-po": "explorer/episodes",
        "cov_gaussian": "cov_weight_ess_share",
        "avspo": "repaired_groups",
        "expo": "kl_coefficient",
        "codistill": "partner/loss",
    }
    assert all(key in reports[-1].metrics for part, key in expected.items() if part in parts_of(name))


@pytest.mark.parametrize("name", REFUSED)
def test_pairs_that_do_not_go_together_are_refused_with_the_reason(name: str) -> None:
    with pytest.raises(ConfigError, match=REFUSED[name]) as failure:
        preset(name)
    assert "\n" not in str(failure.value)


def test_the_matrix_is_whole() -> None:
    assert set(REFUSED) <= set(PAIRS)
    assert len(PAIRS) == 10 + 45


def test_stages_that_contradict_each_other_are_refused_however_they_come_together() -> None:
    with pytest.raises(ConfigError, match="AVSPO repairs"):
        Method(name="m", advantage=VirtualSampleAdvantage(), selection=DropUniformGroups())
    with pytest.raises(ConfigError, match="both say who plays"):
        Method(name="m", source=ExplorerMix(), partner=CoDistill())
    with pytest.raises(ConfigError, match=r"kl\.against is 'old'"):
        replace(preset("kl-cov"), kl=replace(preset("kl-cov").kl, scale=AccuracyScale()))
    with pytest.raises(ConfigError, match="sets the denominators of both"):
        Method(name="m", aggregation=HolderAggregation(denominator="behaviour"), partner=CoDistill())
    for name, message in (
        ("grpo+holderpo", "are whole methods"),
        ("expo+expo-akl", "both fill"),
        ("expo+expo", "twice"),
    ):
        with pytest.raises(ConfigError, match=message):
            preset(name)


PLAIN = replace(preset("avspo"), name="grpo", advantage=GroupAdvantage())
OFF = {
    "s2l-po": replace(PLAIN, source=ExplorerMix(transition=0)),
    "cov_gaussian": replace(PLAIN, token_weights=(GaussianCovariance(sigma=math.inf),)),
    "avspo": replace(PLAIN, advantage=VirtualSampleAdvantage(threshold=1.0)),
    "avspo-code": replace(PLAIN, advantage=VirtualSampleAdvantage(threshold=1.0, mode="code")),
    "expo-gcs": replace(PLAIN, sampler=GaussianCurriculum(sigma=math.inf)),
    "codistill": replace(PLAIN, partner=CoDistill(alpha=0.0)),
    "codistill-tis": replace(PLAIN, partner=CoDistill(alpha=0.0, form="tis")),
    "holderpo": replace(
        PLAIN, aggregation=replace(preset("holderpo").aggregation, exponent=ConstantExponent(p=1.0), clip="token")
    ),
    "everything": Method(
        name="everything",
        sampler=GaussianCurriculum(sigma=math.inf),
        source=ExplorerMix(transition=0),
        advantage=VirtualSampleAdvantage(threshold=1.0),
        token_weights=(GaussianCovariance(sigma=math.inf),),
        aggregation=PLAIN.aggregation,
    ),
}


@pytest.fixture(scope="module")
def grpo(tiny_checkpoint: Path) -> tuple[list[dict[str, float]], dict[str, torch.Tensor]]:
    reports, weights = play(settings(tiny_checkpoint, PLAIN))
    return [report.metrics for report in reports], weights


CLOCK = ("sampled_tokens_per_s", "trained_tokens_per_s", "memory_gib")


@pytest.mark.parametrize("name", OFF)
def test_turned_off_it_is_grpo_to_the_last_bit(tiny_checkpoint: Path, models, grpo, name: str) -> None:  # type: ignore[no-untyped-def]
    method = OFF[name]
    # Without an explorer's episodes none need be named.
    wanted = {} if isinstance(method.source, ExplorerMix) else models
    config = run_of(tiny_checkpoint, method, wanted)
    reports, weights = play(config)
    for report, expected in zip(reports, grpo[0], strict=True):
        assert {key: report.metrics[key] for key in expected if key not in CLOCK} == {
            key: value for key, value in expected.items() if key not in CLOCK
        }
    assert all(torch.equal(weights[key], grpo[1][key]) for key in weights)


def test_a_constant_factor_of_one_is_the_constant_coefficient(tiny_checkpoint: Path) -> None:
    constant = preset("grpo")
    scaled = replace(constant, kl=replace(constant.kl, scale=AccuracyScale(rho="one")))
    adaptive = replace(constant, kl=replace(constant.kl, scale=AccuracyScale()))
    found = [play(settings(tiny_checkpoint, method))[1] for method in (constant, scaled, adaptive)]
    assert all(torch.equal(found[0][key], found[1][key]) for key in found[0])
    assert any(not torch.equal(found[0][key], found[2][key]) for key in found[0])


@pytest.mark.parametrize("name", ["s2l-po+cov_gaussian+avspo+expo", "holderpo+s2l-po+expo"])
def test_a_resumed_run_remembers_every_stage(
    tiny_checkpoint: Path,
    models,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,  # type: ignore[no-untyped-def]
) -> None:
    monkeypatch.setattr(training_run, "open_playground", lambda config: LETTERS)
    method = replace(preset(name), source=ExplorerMix(transition=3))
    # The play of the explorer is the same in every process, as it has one episode at a time too.
    config = run_of(tiny_checkpoint, method, models, rounds=5, save_every=1, out=tmp_path / "whole")
    train(config)
    for rounds in (1, 3, 5):
        train(replace(config, rounds=rounds, out=tmp_path / "stopped"), resume=rounds > 1)
    left_out = ("seconds", *CLOCK)
    logs = [
        [{key: value for key, value in line.items() if not key.startswith(left_out)} for line in read_metrics(folder)]
        for folder in (tmp_path / "whole", tmp_path / "stopped")
    ]
    assert logs[0] == logs[1]
    assert [line["round"] for line in logs[0]] == [0, 1, 2, 3, 4, 5]


class Fragile(WordGame):
    """Loses a third of its episodes to the machinery, the same ones whenever it is played."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):  # type: ignore[no-untyped-def]
        if seed is not None and seed % 3 == 0:
            raise EnvironmentFailure("broken on purpose")
        return super().reset(seed=seed, options=options)


@pytest.mark.parametrize(
    "name", ["holderpo+s2l-po+cov_gaussian+avspo+expo", "codistill-tis+cov_gaussian+avspo+expo-gcs"]
)
def test_groups_that_lost_episodes_to_the_machinery(tiny_checkpoint: Path, models, name: str) -> None:  # type: ignore[no-untyped-def]
    """Groups of different sizes, several optimiser steps, and a panel that comes twice in a round."""
    method = preset(name)
    if isinstance(method.source, ExplorerMix):
        method = replace(method, source=ExplorerMix(transition=3))
    config = run_of(tiny_checkpoint, method, models, rounds=3, groups=4, group_size=5, updates=2)
    progress, failed = Progress(), 0.0
    with open_models(config) as opened:
        trainer = Trainer(config, opened, Playground("math", PANEL, None, Fragile, Fragile))
        for _ in range(config.rounds):
            report = trainer.round(progress)
            progress, metrics = report.progress, report.metrics
            oversample = 2 if method.partner is not None else 1
            assert metrics["episodes"] + metrics["failed_episodes"] + metrics["left_out_episodes"] == 20 * oversample
            assert all(math.isfinite(metrics[key]) for key in metrics if key.endswith(("loss", "gradient_norm")))
            assert 0 <= metrics["avspo_acr"] <= 1
            failed += metrics["failed_episodes"]
    assert failed > 0
    assert progress.update == 6
    assert all(0 <= one <= 1 for one in progress.stage["sampler"].values())
    assert set(progress.stage["sampler"]) <= {task.id for task in PANEL.tasks}


def test_a_run_says_what_has_no_effect(tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_run, "open_playground", lambda config: LETTERS)
    powerless = replace(preset("expo-akl"), kl=replace(preset("expo-akl").kl, coefficient=0.0))
    said: list[str] = []
    train(settings(tiny_checkpoint, powerless, rounds=1, out=tmp_path / "run"), say=said.append)
    assert said == ["kl.scale has no effect: kl.coefficient is 0."]


def test_dropped_groups_are_replaced(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lessons: list[Lesson] = []
    learn = Learner.learn

    def spy(self: Learner, lesson: Lesson, state: State) -> Learned:
        lessons.append(lesson)
        return learn(self, lesson, state)

    monkeypatch.setattr(Learner, "learn", spy)
    dapo = replace(preset("dapo"), reward=None)
    reports, _ = play(settings(tiny_checkpoint, dapo, rounds=3))
    batches = [report.metrics["batches"] for report in reports]
    assert max(batches) > 1  # else nothing was tested
    for report, lesson, number in zip(reports, lessons, batches, strict=True):
        assert report.metrics["episodes"] == 12 * number  # the log is of all that was played
        groups = lesson.rollout.layout.groups
        assert groups.sizes.tolist() == [4, 4, 4]
        assert (groups.mean(lesson.rollout.verifier_E.double()) % 1 > 0).all()  # each has both
        # The same task comes again in a small panel, and is another group with other samples.
        slots = [(one.task_id, one.sample) for one in lesson.experience.trajectories]
        assert len(set(slots)) == len(slots) == 12
        tokens = sum(len(one.ids) for one in lesson.experience.sequences)  # what was dropped is not trained on
        assert report.metrics["trained_tokens_per_s"] * report.seconds["update"] == pytest.approx(tokens)


def test_a_round_without_a_group_to_learn_from_trains_on_no_more_than_another(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lost(WordGame):
        def step(self, action: str):  # type: ignore[no-untyped-def]
            return "no", 0.0, True, False, self._info(False)

    lessons: list[Lesson] = []
    learn = Learner.learn

    def spy(self: Learner, lesson: Lesson, state: State) -> Learned:
        lessons.append(lesson)
        return learn(self, lesson, state)

    monkeypatch.setattr(Learner, "learn", spy)
    dapo = replace(preset("dapo"), reward=None, selection=DropUniformGroups(max_rounds=3))
    config = settings(tiny_checkpoint, dapo, rounds=1)
    with open_models(config) as opened:
        report = Trainer(config, opened, Playground("math", PANEL, None, Lost, Lost)).round(Progress())
    assert report.metrics["batches"] == 3
    assert report.metrics["episodes"] == 36
    assert lessons[0].rollout.layout.groups.sizes.tolist() == [4, 4, 4]


def test_a_round_that_never_has_enough_is_trained_on_what_is_left(tiny_checkpoint: Path) -> None:
    hard = replace(preset("dapo"), reward=None, selection=DropUniformGroups(max_rounds=2))
    config = settings(tiny_checkpoint, hard, rounds=1, groups=8, group_size=2, updates=1)
    metrics = play(config)[0][0].metrics
    assert metrics["batches"] == 2
    assert metrics["episodes"] == 32
    once = replace(hard, selection=DropUniformGroups(max_rounds=1))
    metrics = play(replace(config, method=once))[0][0].metrics
    assert "batches" not in metrics
    assert metrics["episodes"] == 16
    with pytest.raises(ConfigError, match="max_rounds is 0"):
        DropUniformGroups(max_rounds=0)


def test_an_explorer_keeps_groups_from_being_replaced() -> None:
    both = preset("dapo+s2l-po")
    assert both.batches == 1
    assert without_effect(both)[0].startswith("selection.max_rounds has no effect beside S2L-PO")
    assert not without_effect(preset("dapo"))


def test_an_explorer_that_is_turned_off_does_not(tiny_checkpoint: Path) -> None:
    dapo = replace(preset("dapo"), reward=None)
    off = replace(dapo, source=ExplorerMix(transition=0))
    assert not without_effect(off)
    (plain, weights), (found, theirs) = (play(settings(tiny_checkpoint, one, rounds=2)) for one in (dapo, off))
    assert max(report.metrics["batches"] for report in plain) > 1  # else nothing was tested
    assert [one.metrics["batches"] for one in found] == [one.metrics["batches"] for one in plain]
    assert all(torch.equal(theirs[name], one) for name, one in weights.items())


def test_what_reads_correctness_reads_no_other_reward(tiny_checkpoint: Path) -> None:
    """Success is paid 7 and failure -3: the curriculum, the KL coefficient and the collapse rate see 1 and 0."""
    method = preset("avspo+expo")
    plain = settings(tiny_checkpoint, method, rounds=1)
    paid = replace(plain, rewards=RewardSettings(won=7.0, lost=-3.0))
    found = [play(config)[0][0] for config in (plain, paid)]
    assert found[1].metrics["reward"] == pytest.approx(10 * found[0].metrics["success"] - 3)
    for name in ("success", "kl_coefficient", "avspo_acr", "collapsed_groups", "curriculum/accuracy"):
        assert found[0].metrics[name] == found[1].metrics[name]
    assert found[0].progress.stage == found[1].progress.stage


def test_names_are_split_where_a_method_ends() -> None:
    assert parts_of("reinforce++") == ("reinforce++",)
    assert parts_of("reinforce+++expo") == ("reinforce++", "expo")
    assert parts_of("expo+reinforce++-baseline+s2l-po") == ("expo", "reinforce++-baseline", "s2l-po")
    assert parts_of("holderpo+cov_gaussian+expo") == ("holderpo", "cov_gaussian", "expo")


def test_the_order_of_names_has_no_say_but_for_the_base() -> None:
    first, second = preset("holderpo+expo+cov_gaussian"), preset("cov_gaussian+holderpo+expo")
    assert replace(first, name="") == replace(second, name="")
    # Without a base the first variant's own GRPO is taken: S2L-PO's has a KL coefficient of 0.001, AVSPO's none.
    assert preset("s2l-po+avspo").kl.coefficient == 1e-3
    assert preset("avspo+s2l-po").kl.coefficient == 0


def test_a_combination_keeps_the_settings_of_its_base() -> None:
    method = preset("holderpo+avspo+expo")
    base = preset("holderpo")
    assert method.aggregation == base.aggregation
    assert isinstance(method.advantage, VirtualSampleAdvantage)
    assert isinstance(base.advantage, GroupAdvantage)
    assert (method.advantage.scale, method.advantage.epsilon) == (base.advantage.scale, base.advantage.epsilon)
    assert (method.kl.coefficient, method.kl.scale) == (0.02, AccuracyScale())
    assert preset("grpo+expo").kl.coefficient == 0.04
    # A method without a scale stays one, the authors' code included.
    for name in ("avspo", "avspo-www", "avspo-code"):
        virtual = preset(f"dr-grpo+{name}").advantage
        assert isinstance(virtual, VirtualSampleAdvantage)
        assert virtual.scale == "none"
    assert preset("gspo+avspo-code").advantage == preset("avspo-code").advantage


def test_what_the_check_says() -> None:
    rows = {row.stage: row for row in stages_of(preset("holderpo+codistill+avspo"))}
    assert rows["5 advantage"].reads == "policy: the shaped reward; partner: correctness (collapse: correctness)"
    assert "partner: the policy's old ones" in rows["7 aggregation"].reads
    tis = {row.stage: row for row in stages_of(preset("codistill-tis"))}
    assert tis["6 token weights"].filled_by == "truncated_importance of the partner"
    assert tis["7 aggregation"].reads == "the learner's own old log-probabilities"
    assert any("rollout rounds, not optimiser steps" in note for note in notes_of(preset("holderpo+s2l-po")))
    assert any("stay as they are" in note for note in notes_of(preset("s2l-po+expo")))
    assert any("collapsed_groups_uniform" in note for note in notes_of(preset("expo+avspo")))
    powerless = replace(preset("expo"), kl=replace(preset("expo").kl, coefficient=0.0))
    assert any("has no effect" in note for note in notes_of(powerless))
    for name in VARIANTS:
        assert identities_of(preset(name)) or name in ("expo-constant", "expo-akl-constant")


def test_without_episodes_of_its_own_the_last_accuracy_is_kept(tiny_checkpoint: Path, models) -> None:  # type: ignore[no-untyped-def]
    """The explorer's successes move neither the table of the curriculum nor the KL coefficient."""
    method = replace(preset("s2l-po+expo"), source=ExplorerMix(transition=1))
    reports, _ = play(run_of(tiny_checkpoint, method, models))
    assert "sampler" not in reports[0].progress.stage
    assert reports[0].metrics["kl_coefficient"] == pytest.approx(1e-3 * 0.5)
    assert reports[1].progress.stage["sampler"]
    assert reports[1].progress.stage["accuracy"]["accuracy"] == reports[1].metrics["success"]
