"""The loss and its gradient do not depend on how a mini-batch is cut, padded or packed."""

import math
from dataclasses import fields, replace
from itertools import chain

import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import (
    Context,
    Layout,
    Method,
    PolicyTokens,
    Rollout,
    Segments,
    TokenBatch,
    objective,
    prepare,
    preset,
    preset_names,
    token_gradients,
    token_logprobs,
)
from holdergym.training.aggregation import HolderAggregation
from holdergym.training.batch import flatten, merge_metrics
from holdergym.training.exponents import ConstantExponent
from holdergym.training.kl import EntropyBonus, KLPenalty
from holdergym.training.token_weights import ClipCov, KLCov
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence, pad_sequence

from .batches import random_layout, random_rollout

HERE = Context(round=3, update=5, seed=7, accuracy=0.4, accuracy_std=0.49)
VOCABULARY, HIDDEN, PROMPT = 13, 8, 2


class TinyPolicy(nn.Module):
    """A recurrent language model: what a token sees is what stands before it in its own row."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, HIDDEN)
        self.recur = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def padded(self, rows: list[Tensor]) -> PolicyTokens:
        """All rows in one rectangle, then the response tokens picked out by the mask."""
        inputs = pad_sequence(rows, batch_first=True)
        hidden, _ = self.recur(self.embed(inputs[:, :-1]))
        mask = torch.zeros(inputs.shape, dtype=torch.bool)
        for index, row in enumerate(rows):
            mask[index, PROMPT : len(row)] = True
        return self.score(flatten(hidden, mask[:, 1:]), flatten(inputs, mask))

    def packed(self, rows: list[Tensor]) -> PolicyTokens:
        """The rows' tokens in one strip without padding."""
        strip, _ = self.recur(pack_sequence([self.embed(row[:-1]) for row in rows], enforce_sorted=False))
        hidden, lengths = pad_packed_sequence(strip, batch_first=True)
        kept = [hidden[i, PROMPT - 1 : length] for i, length in enumerate(lengths.tolist())]
        return self.score(torch.cat(kept), torch.cat([row[PROMPT:] for row in rows]))

    def score(self, hidden: Tensor, target: Tensor) -> PolicyTokens:
        return PolicyTokens(*token_logprobs(hidden, self.head.weight, target))


class Case:
    """A rollout, the rows of tokens behind it, and a policy a few steps away from the one that sampled them."""

    def __init__(self, dtype: torch.dtype = torch.float32, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.policy = TinyPolicy().to(dtype)
        self.layout = random_layout(seed, groups=3, episodes=3, turns=3, tokens=7)
        self.rows = [torch.randint(VOCABULARY, (PROMPT + n,)) for n in self.layout.rows.sizes.tolist()]
        with torch.no_grad():
            now_T = self.policy.padded(self.rows).logp_T
        rollout = random_rollout(seed, self.layout, dtype=dtype)
        moved_T = 0.3 * torch.randn(len(now_T), dtype=dtype)
        self.rollout = replace(rollout, old_logp_T=now_T - moved_T, reference_logp_T=now_T + 0.2 * moved_T.flip(0))

    def prepared(self, method: Method) -> TokenBatch:
        advantage_T = method.advantage(self.rollout, {}).advantage_T
        with torch.no_grad():
            now_T = self.policy.padded(self.rows).logp_T
        return prepare(method, self.rollout, advantage_T, torch.arange(len(self.rows)), HERE, now_T).batch

    def gradient(self) -> Tensor:
        total = torch.cat([p.grad.flatten() for p in self.policy.parameters() if p.grad is not None])
        self.policy.zero_grad()
        return total

    def whole(self, method: Method) -> tuple[float, Tensor]:
        batch = self.prepared(method)
        loss = objective(method, batch, self.policy.padded(self.rows), HERE).loss
        loss.backward()
        return loss.item(), self.gradient()


def with_entropy(method: Method) -> Method:
    return replace(method, entropy=EntropyBonus(coefficient=0.01))


def cuts(layout: Layout, method: Method) -> list[list[list[int]]]:
    """Ways to cut the rows into micro-batches without cutting a unit."""
    if method.aggregation.per == "turn":
        pieces = [[row] for row in range(layout.rows.count)]
    else:
        pieces = [(layout.episodes.index == e).nonzero().flatten().tolist() for e in range(layout.episodes.count)]
    halves = [pieces[::2], pieces[1::2]]
    threes = [pieces[start : start + 3] for start in range(0, len(pieces), 3)]
    return [pieces, *([list(chain.from_iterable(parts)) for parts in cut] for cut in (halves, threes))]


METHODS = [*preset_names(), "trajectory-holderpo", "trajectory-grpo"]


def method_of(name: str) -> Method:
    if name.startswith("trajectory-"):
        method = preset(name.removeprefix("trajectory-"))
        return with_entropy(replace(method, aggregation=replace(method.aggregation, per="trajectory")))
    return with_entropy(preset(name))


@pytest.mark.parametrize("name", METHODS)
def test_micro_batches_add_up(name: str) -> None:
    case, method = Case(), method_of(name)
    loss, gradient = case.whole(method)
    batch = case.prepared(method)
    for cut in cuts(case.layout, method):
        total = 0.0
        for rows in cut:
            part = batch.take(torch.tensor(rows), method.aggregation.per)
            result = objective(method, part, case.policy.padded([case.rows[row] for row in sorted(rows)]), HERE)
            result.loss.backward()
            total += result.loss.item()
        torch.testing.assert_close(total, loss, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(case.gradient(), gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_packing_changes_nothing(name: str) -> None:
    case, method = Case(), method_of(name)
    loss, gradient = case.whole(method)
    packed = objective(method, case.prepared(method), case.policy.packed(case.rows), HERE).loss
    packed.backward()
    torch.testing.assert_close(packed.item(), loss, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(case.gradient(), gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_rows_without_tokens_change_nothing(name: str) -> None:
    """Rows that only fill a batch up, so that it divides among processes."""
    method, layout = method_of(name), random_layout(1, least=1)
    rollout = random_rollout(1, layout)
    advantage_T, rows = method.advantage(rollout, {}).advantage_T, torch.arange(layout.rows.count)
    filled = Layout(
        rows=Segments(layout.rows.index, layout.rows.count + 3),
        episodes=Segments(torch.cat([layout.episodes.index, torch.tensor([0, 0, 5])]), layout.episodes.count),
        groups=layout.groups,
    )
    filler = torch.zeros(3, dtype=torch.float64)
    fuller = replace(
        rollout,
        layout=filled,
        step_reward_B=torch.cat([rollout.step_reward_B, filler]),  # type: ignore[list-item]
        penalty_B=torch.cat([rollout.penalty_B, filler]),  # type: ignore[list-item]
        anchor_B=torch.cat([rollout.anchor_B, filler.long()]),  # type: ignore[list-item]
    )
    now = PolicyTokens(rollout.old_logp_T + 0.1, -rollout.old_logp_T)
    losses = []
    for version, kept in ((rollout, rows), (fuller, torch.arange(filled.rows.count))):
        batch = prepare(method, version, advantage_T, kept, HERE, now.logp_T).batch
        losses.append(objective(method, batch, now, HERE).loss)
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_token_gradients_serve_micro_batches_cut_anywhere(name: str) -> None:
    case, method = Case(), method_of(name)
    loss, gradient = case.whole(method)
    batch = case.prepared(method)
    with torch.no_grad():
        seen = case.policy.padded(case.rows)
    slopes = token_gradients(method, batch, seen, HERE)
    torch.testing.assert_close(slopes.objective.loss.item(), loss, rtol=1e-5, atol=1e-6)
    for start in range(0, len(case.rows), 2):
        rows = list(range(start, min(start + 2, len(case.rows))))
        tokens = torch.isin(case.layout.rows.index, torch.tensor(rows))
        logp_T, entropy_T = case.policy.packed([case.rows[row] for row in rows])
        assert entropy_T is not None
        ((slopes.logp_T[tokens] * logp_T).sum() + (slopes.entropy_T[tokens] * entropy_T).sum()).backward()
    torch.testing.assert_close(case.gradient(), gradient, rtol=1e-5, atol=1e-6)


def test_metrics_of_micro_batches_merge() -> None:
    case, method = Case(), method_of("gmpo")
    batch = case.prepared(method)
    whole = objective(method, batch, case.policy.padded(case.rows), HERE).metrics
    merged: dict = {}
    for rows in cuts(case.layout, method)[2]:
        part = batch.take(torch.tensor(rows), "turn")
        merged = merge_metrics(
            merged, objective(method, part, case.policy.padded([case.rows[r] for r in rows]), HERE).metrics
        )
    assert {name: average.value for name, average in merged.items()} == pytest.approx(
        {name: average.value for name, average in whole.items()}, rel=1e-5
    )


# The exponent of pmpo-style follows the ratios; it is a constant of the gradient but not of a finite difference.
@pytest.mark.parametrize("name", [name for name in METHODS if name != "pmpo-style"])
def test_gradients(name: str) -> None:
    case, method = Case(torch.float64), method_of(name)
    batch = case.prepared(method)
    with torch.no_grad():
        seen = case.policy.padded(case.rows)
    # A tie or a bound hit exactly would have no derivative; the log ratios here are random.
    inputs = (seen.logp_T.requires_grad_(), seen.entropy_T.requires_grad_())  # type: ignore[union-attr]

    def loss(logp_T: Tensor, entropy_T: Tensor) -> Tensor:
        return objective(method, batch, PolicyTokens(logp_T, entropy_T), HERE).loss

    assert torch.autograd.gradcheck(loss, inputs)


def test_the_terms_in_words() -> None:
    """GRPO with KL and an entropy bonus on two answers, written out."""
    layout = Layout.of_single_turns([1, 2], group_size=2)
    rewards = torch.tensor([1.0, 0.0], dtype=torch.float64)
    old = torch.tensor([-1.0, -2.0, -0.5], dtype=torch.float64)
    now = old + torch.tensor([0.1, -0.5, 0.3], dtype=torch.float64)
    reference = now + torch.tensor([0.2, -0.1, 0.0], dtype=torch.float64)
    rollout = Rollout(layout=layout, reward_E=rewards, verifier_E=rewards, old_logp_T=old, reference_logp_T=reference)
    method = replace(preset("grpo"), entropy=EntropyBonus(coefficient=0.5))
    advantage_T = method.advantage(rollout, {}).advantage_T
    batch = prepare(method, rollout, advantage_T, torch.arange(2), HERE).batch
    entropy = torch.tensor([0.3, 0.6, 0.9], dtype=torch.float64)
    result = objective(method, batch, PolicyTokens(now, entropy), HERE)

    a = 0.5 / (0.5 + 1e-6)
    first = math.exp(0.1) * a
    second = (max(math.exp(-0.5), 0.8) + math.exp(0.3)) / 2 * -a
    assert result.policy.item() == pytest.approx(-(first + second) / 2)
    k3 = [math.expm1(d) - d for d in (0.2, -0.1, 0.0)]
    assert result.kl.item() == pytest.approx(0.04 * (k3[0] + (k3[1] + k3[2]) / 2) / 2)
    assert result.entropy.item() == pytest.approx(-0.5 * 0.6)
    assert result.loss.item() == pytest.approx((result.policy + result.kl + result.entropy).item())


@pytest.mark.parametrize("per", ["turn", "trajectory"])
def test_holderpo_on_alfworld_in_words(per: str) -> None:
    """Mean over units of the clipped power mean; KL and entropy are means over tokens."""
    case, method = Case(torch.float64), preset("holderpo-alfworld")
    method = replace(method, aggregation=replace(method.aggregation, per=per))
    batch = case.prepared(method)
    with torch.no_grad():
        now = case.policy.padded(case.rows)
    assert now.entropy_T is not None
    assert batch.reference_logp_T is not None
    p = 1 - 2 * HERE.round / 150
    terms = []
    units = case.layout.units(per)  # type: ignore[arg-type]
    for unit in range(units.count):
        tokens = units.index == unit
        if tokens.any():
            rho = (now.logp_T - batch.old_logp_T)[tokens].exp().pow(p).mean().pow(1 / p)
            advantage = batch.advantage_T[tokens].mean()
            terms.append(torch.minimum(rho * advantage, rho.clamp(0.8, 1.2) * advantage))
    d_T = batch.reference_logp_T - now.logp_T
    result = objective(method, batch, now, HERE)
    torch.testing.assert_close(result.policy, -torch.stack(terms).mean())
    torch.testing.assert_close(result.kl, 0.01 * (d_T.exp() - d_T - 1).mean())
    torch.testing.assert_close(result.entropy, -0.001 * now.entropy_T.mean())


def test_kl_cov_in_words() -> None:
    """-A r for all tokens, plus |log pi - log pi_old| on the selected ones, over all tokens."""
    case, method = Case(torch.float64), replace(preset("kl-cov"), token_weights=(KLCov(share=0.2),))
    batch = case.prepared(method)
    with torch.no_grad():
        now = case.policy.padded(case.rows)
    a_T, delta_T = batch.advantage_T, now.logp_T - batch.old_logp_T
    covariance = (a_T - a_T.mean()) * (now.logp_T - now.logp_T.mean())
    number = math.floor(0.2 * len(a_T))
    selected = torch.zeros(len(a_T), dtype=torch.float64)
    selected[covariance.argsort(descending=True)[:number]] = 1
    expected = (-a_T * delta_T.exp() + selected * delta_T.abs()).mean()
    torch.testing.assert_close(objective(method, batch, now, HERE).loss, expected)


def test_clip_cov_multiplies_drawn_tokens_by_zero() -> None:
    case, method = Case(torch.float64), replace(preset("clip-cov"), token_weights=(ClipCov(share=0.1, low=0.1),))
    batch = case.prepared(method)
    assert batch.weight_T is not None
    assert (batch.weight_T == 0).sum() == max(1, math.floor(0.1 * len(batch.weight_T)))
    with torch.no_grad():
        now = case.policy.padded(case.rows)
    a_T, ratio_T = batch.advantage_T, (now.logp_T - batch.old_logp_T).exp()
    losses_T = torch.maximum(-a_T * ratio_T, -a_T * ratio_T.clamp(0, 2)) * batch.weight_T
    torch.testing.assert_close(objective(method, batch, now, HERE).loss, losses_T.mean())


def grpo_form(method: Method) -> Method:
    """A HölderPO method with its own parts switched off, and GRPO's advantage."""
    plain = preset("grpo")
    return replace(
        method,
        advantage=plain.advantage,
        aggregation=replace(method.aggregation, exponent=ConstantExponent(p=1.0), clip="token"),
        kl=plain.kl,
        entropy=plain.entropy,
        token_weights=(),
        reduction=plain.reduction,
    )


@pytest.mark.parametrize("name", ["holderpo", "holderpo-static", "holderpo-alfworld"])
def test_switched_off_it_is_grpo_to_the_last_bit(name: str) -> None:
    grpo_loss, grpo_gradient = Case().whole(preset("grpo"))
    loss, gradient = Case().whole(grpo_form(preset(name)))
    assert loss == grpo_loss
    assert torch.equal(gradient, grpo_gradient)


def test_penalties_with_coefficient_0_leave_no_trace() -> None:
    bare = replace(preset("grpo"), kl=KLPenalty())
    loss, gradient = Case().whole(bare)
    off = replace(bare, kl=KLPenalty(coefficient=0.0, estimator="k2"), entropy=EntropyBonus(coefficient=0.0))
    same_loss, same_gradient = Case().whole(off)
    assert loss == same_loss
    assert torch.equal(gradient, same_gradient)


def test_dr_grpo_is_p_1_scaled_by_length() -> None:
    case, method = Case(torch.float64), preset("dr-grpo")
    batch = case.prepared(method)
    with torch.no_grad():
        now = case.policy.padded(case.rows)
    a_T, ratio_T = batch.advantage_T, (now.logp_T - batch.old_logp_T).exp()
    surrogate_T = torch.minimum(a_T * ratio_T, a_T * ratio_T.clamp(0.8, 1.2))
    rows = int((case.layout.rows.sizes > 0).sum())
    torch.testing.assert_close(objective(method, batch, now, HERE).loss, -surrogate_T.sum() / 3000 / rows)


def test_rloo_on_policy_is_reinforce_on_the_whole_answer() -> None:
    case, method = Case(torch.float64), preset("rloo")
    now = case.policy.padded(case.rows)
    case.rollout = replace(case.rollout, old_logp_T=now.logp_T.detach())
    batch = case.prepared(method)
    objective(method, batch, now, HERE).loss.backward()
    gradient = case.gradient()
    rows = int((case.layout.rows.sizes > 0).sum())
    (-(batch.advantage_T * case.policy.padded(case.rows).logp_T).sum() / rows).backward()
    torch.testing.assert_close(gradient, case.gradient())


def test_cutting_a_trajectory_is_refused() -> None:
    case, method = Case(), method_of("trajectory-holderpo")
    batch = case.prepared(method)
    episode = int((case.layout.episodes.sizes > 1).nonzero()[0])
    first = (case.layout.episodes.index == episode).nonzero()[0]
    with pytest.raises(ValueError, match="cuts a trajectory"):
        batch.take(first, "trajectory")
    with pytest.raises(ValueError, match="cuts a trajectory"):
        prepare(method, case.rollout, batch.advantage_T, first, HERE)


def test_a_mini_batch_of_some_rows_has_its_own_shares() -> None:
    case, method = Case(), preset("gmpo")
    advantage_T = method.advantage(case.rollout, {}).advantage_T
    batch = prepare(method, case.rollout, advantage_T, torch.tensor([4, 1, 2]), HERE).batch
    kept = torch.isin(case.layout.rows.index, torch.tensor([1, 2, 4]))
    assert torch.equal(batch.advantage_T, advantage_T[kept])
    assert torch.equal(batch.old_logp_T, case.rollout.old_logp_T[kept])
    assert batch.policy_share_T.sum().item() == pytest.approx(1)


def test_what_is_missing_is_named() -> None:
    case = Case()
    advantage_T = preset("grpo").advantage(case.rollout, {}).advantage_T
    rows = torch.arange(len(case.rows))
    with pytest.raises(ValueError, match="'clip_cov' needs the log-probabilities"):
        prepare(preset("clip-cov"), case.rollout, advantage_T, rows, HERE)
    batch = prepare(preset("grpo"), replace(case.rollout, reference_logp_T=None), advantage_T, rows, HERE).batch
    with pytest.raises(ConfigError, match="needs a reference model"):
        objective(preset("grpo"), batch, PolicyTokens(batch.old_logp_T), HERE)
    with pytest.raises(ValueError, match="entropies of the tokens are missing"):
        objective(method_of("gmpo"), batch, PolicyTokens(batch.old_logp_T), HERE)
    with pytest.raises(ConfigError, match="use one of them"):
        replace(preset("clip-cov"), token_weights=(ClipCov(), KLCov()))
    with pytest.raises(ConfigError, match=r"kl\.coefficient is 0"):
        replace(preset("kl-cov"), kl=KLPenalty())


@pytest.mark.parametrize("name", METHODS)
def test_a_batch_without_tokens_has_loss_0(name: str) -> None:
    method = method_of(name)
    empty = random_layout(0, tokens=0)
    rollout = random_rollout(0, empty)
    advantage_T, rows = method.advantage(rollout, {}).advantage_T, torch.arange(empty.rows.count)
    batch = prepare(method, rollout, advantage_T, rows, HERE, rollout.old_logp_T).batch
    logp_T = torch.empty(0, dtype=torch.float64, requires_grad=True)
    loss = objective(method, batch, PolicyTokens(logp_T, torch.empty(0, dtype=torch.float64)), HERE).loss
    assert loss.item() == 0
    loss.backward()


def test_all_fields_of_a_batch_follow_a_cut() -> None:
    case = Case()
    method = replace(preset("grpo"), token_weights=(ClipCov(share=0.2, low=0.0),))
    batch = replace(case.prepared(method), kl_weight_T=torch.rand(len(case.rollout.old_logp_T)))
    part = batch.take(torch.tensor([0, 3]), "turn")
    kept = torch.isin(case.layout.rows.index, torch.tensor([0, 3]))
    for field in fields(TokenBatch):
        if field.name.endswith("_T"):
            assert torch.equal(getattr(part, field.name), getattr(batch, field.name)[kept]), field.name


def test_one_token_rows_make_every_exponent_the_same_method() -> None:
    layout = Layout.of_single_turns([1] * 6, group_size=3)
    rollout = random_rollout(1, layout)
    now_T = rollout.old_logp_T + 0.2 * torch.randn(6, dtype=torch.float64)
    losses = []
    for p in (-50.0, -1.0, 0.0, 1.0, math.inf):
        method = Method(name="one", aggregation=HolderAggregation(exponent=ConstantExponent(p=p), clip="sequence"))
        advantage_T = method.advantage(rollout, {}).advantage_T
        batch = prepare(method, rollout, advantage_T, torch.arange(6), HERE).batch
        losses.append(objective(method, batch, PolicyTokens(now_T), HERE).loss.item())
    assert losses == pytest.approx([losses[0]] * 5, rel=1e-12)
