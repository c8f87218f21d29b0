from dataclasses import replace
from pathlib import Path

import pytest
import torch
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.envs.errors import ConfigError
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.training import Context, GroupAdvantage, Layout, Rollout, preset
from holdergym.training import run as training_run
from holdergym.training.config import OptimiserSettings, ValidationSettings
from holdergym.training.experience import Experience
from holdergym.training.metrics_log import read_metrics
from holdergym.training.models import open_models
from holdergym.training.playground import Playground
from holdergym.training.run import train
from holdergym.training.saving import Checkpoints
from holdergym.training.sources import OnPolicy
from holdergym.training.trainer import Progress, Trainer
from holdergym.training.updating import MiniBatch, Updater
from holdergym.training.variants.codistill import CoDistill, DistillationReward, KeepExtremes

from ..word_game import LETTERS, WordGame, play, settings


def rollout(rewards: list[float], differences: list[float], length: int) -> Rollout:
    """Episodes of one turn whose tokens have these differences log pi_large - log pi_small."""
    layout = Layout.of_single_turns([length] * len(rewards), group_size=len(rewards))
    old_T = torch.full((len(differences),), -1.0, dtype=torch.float64)
    return Rollout(
        layout=layout,
        reward_E=torch.tensor(rewards, dtype=torch.float64),
        verifier_E=torch.tensor(rewards, dtype=torch.float64),
        old_logp_T=old_T,
        peer_logp_T=old_T + torch.tensor(differences, dtype=torch.float64),
    )


def test_the_reward_of_the_small_model() -> None:
    made = rollout([1.0], [0.2, -0.4, 0.1], 3)
    assert DistillationReward(alpha=0.1)(made).tolist() == pytest.approx([0.996667], abs=1e-6)
    # The large model sees its own log-probabilities as its own and the small one's as the peer's.
    swapped = replace(made, old_logp_T=made.peer_logp_T, peer_logp_T=made.old_logp_T)
    assert DistillationReward(alpha=0.1, teacher="own")(swapped).tolist() == pytest.approx([0.996667], abs=1e-6)
    assert DistillationReward(alpha=0.0)(made) is made.reward_E


def test_the_most_different_episodes_are_kept() -> None:
    made = rollout([0.1, 0.9, 0.5, 0.4, 0.8, 0.2, 0.6, 0.3], [0.0] * 8, 1)
    assert KeepExtremes()(made).nonzero().flatten().tolist() == [0, 1, 4, 5]
    assert KeepExtremes(share=3 / 8)(made).nonzero().flatten().tolist() == [0, 1, 4]
    assert KeepExtremes(share=1.0)(made).all()
    # A group of one has nothing to be compared with, so two of few are kept.
    assert KeepExtremes()(rollout([1.0, 0.0], [0.0] * 2, 1)).tolist() == [True, True]
    assert KeepExtremes()(rollout([0.5, 1.0, 0.0], [0.0] * 3, 1)).tolist() == [False, True, True]
    assert KeepExtremes()(rollout([0.5], [0.0], 1)).tolist() == [True]
    # No other half has a larger variance, however many of two values are the higher one; of other rewards one may.
    for won in range(9):
        two = rollout([1.0] * won + [0.0] * (8 - won), [0.0] * 8, 1)
        assert two.reward_E[KeepExtremes()(two)].var() >= torch.combinations(two.reward_E, 4).var(dim=1).max() - 1e-12
    uneven = rollout([100.0, 1, 1, 1, 0, 0, 0, 0], [0.0] * 8, 1)
    assert uneven.reward_E[KeepExtremes()(uneven)].var() < torch.combinations(uneven.reward_E, 4).var(dim=1).max()
    with pytest.raises(ConfigError, match="share"):
        KeepExtremes(share=0.0)


def test_the_views_of_both_learners() -> None:
    method = preset("codistill")
    assert method.partner == CoDistill(alpha=0.1)
    own, partner = method.views
    assert (own.learner, partner.learner) == ("policy", "partner")
    assert [stage.name for stage in own.rewards] == ["distillation"]
    assert [stage.name for stage in partner.rewards] == ["verifier"]
    assert (own.method.aggregation.denominator, partner.method.aggregation.denominator) == ("old", "behaviour")
    weighed = preset("codistill-tis").views[1].method
    assert weighed.aggregation.denominator == "old"
    assert [stage.name for stage in weighed.token_weights] == ["truncated_importance"]
    shaped = replace(method, partner=CoDistill(partner_reward="shaped")).views[1]
    assert shaped.rewards == (DistillationReward(alpha=0.1, teacher="own"),)
    assert not any(view.method.needs_reference for view in method.views)


def test_a_run_trains_both(tiny_checkpoint: Path, partner: Path) -> None:
    for name in ("codistill", "codistill-tis"):
        named = LanguageModelSettings(model=str(partner))
        config = settings(tiny_checkpoint, preset(name), partner=named, updates=1)
        with open_models(config) as models:
            trainer = Trainer(config, models, LETTERS)
            before = [[one.detach().clone() for one in learner.policy.trained] for learner in models.learners]
            metrics = trainer.round(Progress()).metrics
            for learner, weights in zip(models.learners, before, strict=True):
                moved = [not torch.equal(old, new) for old, new in zip(weights, learner.policy.trained, strict=True)]
                assert any(moved), f"{learner.name} of {name} has not learned"
        # Twice as many are played as are learned from.
        assert metrics["episodes"] == 24
        if name == "codistill":
            # Two models with random weights: most ratios are outside the clip from the first step.
            assert metrics["partner/clip_share"] > 0.2
            assert metrics["partner/ratio_moved_share"] > 0.9
        else:
            assert metrics["partner/clip_share"] == 0
            assert 0 < metrics["partner/importance_weight"] <= 2


@pytest.mark.slow
def test_the_small_model_moves_towards_the_large_one(tiny_checkpoint: Path, partner: Path) -> None:
    """In a game that nobody wins only the distillation term can be learned from, and the large model stands still."""
    panel = Panel.of(
        "nothing", [Task(f"made_up/letters/{letter}", letter, "0" * 64) for letter in "\u03b1\u03b2\u03b3"]
    )
    hopeless = Playground("math", panel, None, WordGame, WordGame)
    divergences = {}
    for alpha in (0.0, 1.0):
        config = settings(
            tiny_checkpoint,
            replace(preset("codistill"), partner=CoDistill(alpha=alpha)),
            partner=LanguageModelSettings(model=str(partner)),
            rounds=5,
            group_size=16,
            in_flight=32,
            optimiser=OptimiserSettings(learning_rate=1e-2),
        )
        with open_models(config) as models:
            trainer, progress, seen = Trainer(config, models, hopeless), Progress(), []
            large = [one.detach().clone() for one in models.learners[1].policy.trained]
            for _ in range(config.rounds):
                report = trainer.round(progress)
                progress = report.progress
                seen.append(report.metrics["divergence_from_partner"])
            assert all(torch.equal(old, new) for old, new in zip(large, models.learners[1].policy.trained, strict=True))
        divergences[alpha] = seen
    assert divergences[1.0][-1] < 0.7 * divergences[1.0][0]
    # Without the term there is no advantage at all, and the small model stands still as well.
    assert divergences[0.0][-1] > 0.9 * divergences[0.0][0]


def test_without_distillation_the_policy_is_trained_as_alone(tiny_checkpoint: Path, partner: Path) -> None:
    alone = replace(preset("codistill"), partner=None, selection=None, source=OnPolicy())
    off = replace(alone, partner=CoDistill(alpha=0.0))
    expected, weights = play(settings(tiny_checkpoint, alone))
    found, same = play(settings(tiny_checkpoint, off, partner=LanguageModelSettings(model=str(partner))))
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert [report.metrics["loss"] for report in found] == [report.metrics["loss"] for report in expected]


@pytest.mark.parametrize("name", ["codistill", "codistill-tis", "holderpo+codistill+cov_gaussian"])
def test_the_partners_gradient_does_not_hang_on_the_cut(tiny_checkpoint: Path, partner: Path, name: str) -> None:
    config = settings(tiny_checkpoint, preset(name), partner=LanguageModelSettings(model=str(partner)))
    with open_models(config) as models:
        trainer = Trainer(config, models, LETTERS)
        rolled = config.method.source(trainer._request(LETTERS.train.tasks, 1))
        experience = Experience.of(rolled.groups)
        scored = [learner.score(experience) for learner in models.learners]
        learner, method = models.learners[1], config.method.views[1].method
        made = learner.rollout(experience, scored)
        advantage_T = method.advantage(made, {}).advantage_T
        gradients, losses = [], []
        for budget in (100_000, 40):
            batch = MiniBatch.of(experience, range(len(experience.trajectories)), method)
            updater = Updater(method, learner.policy.scorer, budget)
            losses.append(updater.backward(batch, made, advantage_T, Context()).loss)
            gradients.append(torch.cat([one.grad.flatten() for one in learner.policy.trained if one.grad is not None]))
            learner.optimiser.forget_gradient()
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert float(gradients[0].norm()) > 1e-3
    assert float((gradients[1] - gradients[0]).norm() / gradients[0].norm()) < 1e-5


@pytest.mark.parametrize("name", ["codistill", "codistill-tis"])
def test_the_partners_loss_is_the_formula(tiny_checkpoint: Path, partner: Path, name: str) -> None:
    """pi_partner over the policy's old probabilities, clipped, with the whitened correctness, written down plainly.

    The other form has a truncated weight in front of the partner's own ratio, which is 1 here.
    """
    config = settings(tiny_checkpoint, preset(name), partner=LanguageModelSettings(model=str(partner)))
    with open_models(config) as models:
        trainer = Trainer(config, models, LETTERS)
        experience = Experience.of(config.method.source(trainer._request(LETTERS.train.tasks, 1)).groups)
        small, large = (learner.score(experience) for learner in models.learners)
        learner, method = models.learners[1], config.method.views[1].method
        made = learner.rollout(experience, [small, large])
        found = Updater(method, learner.policy.scorer, 10_000).backward(
            MiniBatch.of(experience, range(len(experience.trajectories)), method),
            made,
            method.advantage(made, {}).advantage_T,
            Context(),
        )
    ratio_T = (large.old_logp_T - small.old_logp_T).exp()
    advantage_T = GroupAdvantage()(replace(made, reward_E=made.verifier_E), {}).advantage_T
    surrogate_T = torch.minimum(ratio_T * advantage_T, ratio_T.clamp(0.8, 1.2) * advantage_T)
    if name == "codistill-tis":
        surrogate_T = ratio_T.clamp(max=2) * advantage_T
    assert found.loss == pytest.approx(-float(made.layout.rows.mean(surrogate_T).mean()), abs=1e-5)


@pytest.mark.slow
def test_a_resumed_run_goes_on_with_both_models(
    tiny_checkpoint: Path, partner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_run, "open_playground", lambda config: LETTERS)
    config = settings(
        tiny_checkpoint,
        preset("avspo+codistill"),
        partner=LanguageModelSettings(model=str(partner)),
        rounds=4,
        validation=ValidationSettings(every=2),
        save_every=1,
        out=tmp_path / "whole",
    )
    train(config)
    train(replace(config, rounds=2, out=tmp_path / "stopped"))
    train(replace(config, out=tmp_path / "stopped"), resume=True)
    left_out = ("seconds", "sampled_tokens_per_s", "trained_tokens_per_s", "memory")
    logs = [
        [{key: value for key, value in line.items() if not key.startswith(left_out)} for line in read_metrics(folder)]
        for folder in (tmp_path / "whole", tmp_path / "stopped")
    ]
    assert logs[0] == logs[1]
    assert "partner/validation/success" in logs[0][2]
    whole, stopped = (
        Checkpoints(folder / "checkpoints", 9).restore(folder / "checkpoints" / "round-000004")
        for folder in (tmp_path / "whole", tmp_path / "stopped")
    )
    assert whole.progress == stopped.progress
    assert {"advantage", "partner/advantage", "collapse", "accuracy"} == set(whole.progress.stage)
    for name in ("policy", "partner"):
        first, second = whole.learners[name]["weights"], stopped.learners[name]["weights"]
        assert all(torch.equal(first[key], second[key]) for key in first)  # type: ignore[arg-type]
    # Both are ordinary checkpoints.
    saved = tmp_path / "whole" / "checkpoints" / "round-000004"
    assert (saved / "model" / "config.json").is_file()
    assert (saved / "partner" / "config.json").is_file()
