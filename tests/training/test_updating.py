"""The gradient of a mini-batch: the same however it is cut, padded or ordered, and that of the formula."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.training.aggregation import HolderAggregation
from holdergym.training.batch import Context
from holdergym.training.experience import Experience, NothingToTrainOnError, RewardSettings
from holdergym.training.exponents import ConstantExponent
from holdergym.training.kl import EntropyBonus, KLPenalty
from holdergym.training.method import Method
from holdergym.training.presets import preset, preset_names
from holdergym.training.processes import ALONE, Processes
from holdergym.training.scoring import Scorer, cut
from holdergym.training.updating import MiniBatch, Updater
from transformers import AutoModelForCausalLM, PreTrainedModel

from ..agents.conftest import tiny_checkpoint

__all__ = ["tiny_checkpoint"]


@pytest.fixture(scope="module")
def model(tiny_checkpoint: Path) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype=torch.float32).eval()


def turn(generator: torch.Generator, prompt: tuple[int, ...], valid: bool = True) -> Turn:
    length = int(torch.randint(1, 9, (1,), generator=generator))
    response = tuple(torch.randint(3, 300, (length,), generator=generator).tolist())
    logprobs = tuple((-torch.rand(length, generator=generator) - 0.1).tolist())
    return Turn(f"o{len(prompt)}", "look", valid, 0.0, "r", prompt, response, logprobs)


def conversation(generator: torch.Generator, turns: int) -> tuple[Turn, ...]:
    """Turns that go on from each other."""
    played: list[Turn] = []
    seen: tuple[int, ...] = ()
    for number in range(turns):
        new = tuple(torch.randint(3, 300, (5 + number,), generator=generator).tolist())
        played.append(turn(generator, seen + new, valid=number % 2 == 0))
        seen = (played[-1].prompt_ids or ()) + (played[-1].response_ids or ())
    return tuple(played)


def windows(generator: torch.Generator, turns: int) -> tuple[Turn, ...]:
    """Turns with fresh prompts."""
    prompts = [tuple(torch.randint(3, 300, (4 + n,), generator=generator).tolist()) for n in range(turns)]
    return tuple(turn(generator, prompt, valid=number > 0) for number, prompt in enumerate(prompts))


def groups(kind=conversation) -> list[list[Trajectory]]:
    generator = torch.Generator().manual_seed(3)
    made = []
    for task in range(3):
        outcomes = [Outcome.WON, Outcome.LIMIT, Outcome.LOST if task else Outcome.WON]
        made.append(
            [
                Trajectory(f"t{task}", "k", n, n, "a", kind(generator, 1 + (task + n) % 4), outcome, float(n == 0))
                for n, outcome in enumerate(outcomes)
            ]
        )
    return made


def gradients(
    model: PreTrainedModel,
    method: Method,
    experience: Experience,
    budget: int,
    episodes=None,
    processes: Processes = ALONE,
):
    scorer = Scorer(model)
    model.zero_grad()
    old_T = scorer.all(experience.sequences, 200).logp_T
    # The policy has moved since: the ratios are not 1.
    noise = torch.randn(len(old_T), generator=torch.Generator().manual_seed(1)) * 0.2
    needs = method.needs_reference
    rollout = experience.rollout(RewardSettings(invalid_penalty=0.1), old_T + noise, old_T - noise if needs else None)
    advantages = method.advantage(rollout, {})
    episodes = list(range(experience.layout.episodes.count)) if episodes is None else episodes
    batch = MiniBatch.of(experience, episodes, method)
    context = Context(round=2, update=3, accuracy=0.4, accuracy_std=0.3)
    found = Updater(method, scorer, budget, processes).backward(batch, rollout, advantages.advantage_T, context)
    processes.sum_gradients(list(model.parameters()))
    whole = [one.grad.full_tensor() if hasattr(one.grad, "full_tensor") else one.grad for one in model.parameters()]
    return found, torch.cat([one.flatten() for one in whole if one is not None])


VARIANTS = {
    "turn": HolderAggregation(exponent=ConstantExponent(p=-1.0), per="turn"),
    "trajectory": HolderAggregation(exponent=ConstantExponent(p=-1.0), per="trajectory"),
    "token": HolderAggregation(exponent=ConstantExponent(p=1.0), clip="token"),
}


@pytest.mark.parametrize("kind", [conversation, windows])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_gradient_does_not_hang_on_the_cut(model, kind, variant: str) -> None:
    experience = Experience.of(groups(kind))
    method = Method(
        name="m",
        aggregation=VARIANTS[variant],
        kl=KLPenalty(coefficient=0.05),
        entropy=EntropyBonus(coefficient=0.02),
    )
    whole, gradient = gradients(model, method, experience, 100_000)
    assert float(gradient.norm()) > 1e-3
    for budget in (1, 60, 150, 400):
        found, other = gradients(model, method, experience, budget)
        assert found.loss == pytest.approx(whole.loss, abs=1e-6)
        assert found.policy + found.kl + found.entropy == pytest.approx(found.loss, abs=1e-6)
        assert float((other - gradient).norm() / gradient.norm()) < 1e-5
        assert found.metrics["kl"].value == pytest.approx(whole.metrics["kl"].value, rel=1e-4)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_has_a_gradient_that_does_not_hang_on_the_cut(model, name: str) -> None:
    experience = Experience.of(groups(windows))
    whole, gradient = gradients(model, preset(name), experience, 100_000)
    found, other = gradients(model, preset(name), experience, 40)
    assert found.loss == pytest.approx(whole.loss, abs=2e-6)
    assert float((other - gradient).norm()) <= 1e-5 * max(1.0, float(gradient.norm()))


def test_the_gradient_is_that_of_the_plain_formula(model) -> None:
    """GRPO without a clip that acts, written down with plain logits, padding by hand and nothing shared."""
    method = Method(name="m", aggregation=HolderAggregation(exponent=ConstantExponent(p=1.0), clip="none"))
    experience = Experience.of(groups())
    found, gradient = gradients(model, method, experience, 100)
    scorer = Scorer(model)
    old_T = scorer.all(experience.sequences, 200).logp_T
    old_T = old_T + torch.randn(len(old_T), generator=torch.Generator().manual_seed(1)) * 0.2
    advantage_T = method.advantage(experience.rollout(RewardSettings(invalid_penalty=0.1), old_T), {}).advantage_T
    model.zero_grad()
    losses, at = [], 0
    for trajectory in experience.trajectories:
        for played in trajectory.turns:
            ids = torch.tensor([[*played.prompt_ids, *played.response_ids]])
            logits = model(ids).logits[0, len(played.prompt_ids) - 1 : -1].log_softmax(-1)
            logp = logits.gather(1, torch.tensor(played.response_ids)[:, None]).squeeze(1)
            stop = at + len(logp)
            losses.append(-((logp - old_T[at:stop]).exp() * advantage_T[at:stop]).mean())
            at = stop
    torch.stack(losses).mean().backward()
    plain = torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None])
    assert found.loss == pytest.approx(float(torch.stack(losses).mean().detach()), abs=1e-6)
    assert float((plain - gradient).norm() / plain.norm()) < 1e-5


def test_mini_batches_take_whole_episodes(model) -> None:
    """The tokens of a mini-batch are scored as in the whole, and with all mini-batches every episode has come."""
    experience = Experience.of(groups(windows))
    method = Method(name="m", aggregation=VARIANTS["trajectory"])
    seen: list[int] = []
    for episodes in ([0, 4, 8], [1, 2, 3], [5, 6, 7]):
        batch = MiniBatch.of(experience, episodes, method)
        assert len(batch.tokens) == sum(sum(one.lengths) for one in batch.sequences)
        found, _ = gradients(model, method, experience, 60, episodes)
        assert found.loss == pytest.approx(gradients(model, method, experience, 9999, episodes)[0].loss, abs=1e-6)
        seen += batch.tokens.tolist()
    assert sorted(seen) == list(range(len(experience.sampled_logp_T)))


def test_parts_keep_to_their_budget_and_bonds() -> None:
    experience = Experience.of(groups(windows))
    for budget in (1, 30, 77, 500):
        parts = cut(experience.sequences, budget, experience.sequence_episodes)
        assert sorted(number for part in parts for number in part.numbers) == list(range(len(experience.sequences)))
        for part in parts:
            longest = max(len(experience.sequences[number].ids) for number in part.numbers)
            bonds = {experience.sequence_episodes[number] for number in part.numbers}
            assert len(bonds) == 1 or longest * len(part.numbers) <= budget
        assert len({experience.sequence_episodes[n] for part in parts for n in part.numbers}) == 9


def test_padding_and_merging_change_no_score(model) -> None:
    scorer = Scorer(model)
    made = groups()
    merged, apart = Experience.of(made), Experience.of(made, merge=False)
    assert len(merged.sequences) == 9
    assert len(apart.sequences) > 9
    for budget in (1, 100, 5000):
        assert torch.allclose(
            scorer.all(merged.sequences, budget).logp_T, scorer.all(apart.sequences, 37).logp_T, atol=2e-5
        )


def test_failed_and_lonely_episodes_are_left_out() -> None:
    made = groups()
    made[0][0] = replace(made[0][0], outcome=Outcome.ERROR, reason="the server stopped")
    made[1][0] = replace(made[1][0], outcome=Outcome.TIMEOUT)
    made[1][1] = replace(made[1][1], outcome=Outcome.ERROR)
    experience = Experience.of(made)
    assert (len(experience.trajectories), experience.failed, experience.lonely) == (5, 3, 1)
    assert experience.layout.groups.sizes.tolist() == [2, 3]
    broken = [[replace(one, outcome=Outcome.ERROR, reason="the server stopped") for one in group] for group in made]
    with pytest.raises(NothingToTrainOnError, match=r"none of 9 episodes .*: the server stopped"):
        Experience.of(broken)


def test_rewards_and_penalties() -> None:
    experience = Experience.of(groups())
    zeros = torch.zeros(len(experience.sampled_logp_T))
    settings = RewardSettings(won=10.0, goal_conditions=1.0, invalid_penalty=0.1)
    rows = experience.rollout(settings, zeros, penalty_in_rows=True)
    spread = experience.rollout(settings, zeros)
    first = experience.trajectories[0]
    invalid = sum(not one.valid for one in first.turns)
    assert float(rows.reward_E[0]) == 11.0
    assert float(spread.reward_E[0]) == pytest.approx(11.0 - 0.1 * invalid)
    assert rows.verifier_E.tolist() == [1, 0, 1, 1, 0, 0, 1, 0, 0]
    assert experience.layout.episodes.sum(rows.step_reward_B).tolist() == rows.reward_E.tolist()
