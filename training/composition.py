"""Variants of GRPO that are added to a method: what each one changes, which do not go together, and what each reads."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

from ..envs.errors import ConfigError
from .advantages import GroupAdvantage
from .aggregation import HolderAggregation
from .clipping import ClipRange
from .exponents import ConstantExponent, RewardExponent
from .kl import KLPenalty
from .method import Method
from .schedules import Schedule
from .selection import DropUniformGroups
from .sources import OnPolicy
from .variants.avspo import Mode, VirtualSampleAdvantage
from .variants.codistill import CoDistill, KeepExtremes
from .variants.cov_gaussian import GaussianCovariance
from .variants.expo import AccuracyScale, GaussianCurriculum
from .variants.importance import TruncatedImportance
from .variants.s2l import ExplorerMix

# PPO's surrogate: the token's ratio clipped at 0.2 on both sides, averaged.
PPO = HolderAggregation(exponent=ConstantExponent(p=1.0), clip="token", clip_range=ClipRange(low=0.2, high=0.2))

EXPO_KL = 0.02
"""beta of EXPO."""

EXPO_CONSTANT = 0.7310585786300049
"""(tanh(0.5) + 1) / 2: the factor of AKL at an accuracy of one half."""


class Variant(NamedTuple):
    """A published change to GRPO.

    Attributes:
        title: What it is called in the literature.
        fills: Stages that it fills; two variants cannot fill the same.
        base: The method that it changes where no other one is named: GRPO with the settings of the paper.
        add: Changes a method.
    """

    title: str
    fills: frozenset[str]
    base: Method
    add: Callable[[Method], Method]


def _s2l(method: Method, weigh: bool) -> Method:
    weights = (*method.token_weights, TruncatedImportance()) if weigh else method.token_weights
    return replace(method, source=ExplorerMix(), token_weights=weights)


def _cov_gaussian(method: Method) -> Method:
    return replace(method, token_weights=(*method.token_weights, GaussianCovariance()))


def _avspo(method: Method, mode: Mode) -> Method:
    stage = method.advantage
    if not isinstance(stage, GroupAdvantage) or stage.baseline != "mean":
        kind = "leave_one_out" if isinstance(stage, GroupAdvantage) else stage.name
        raise ConfigError(
            f"AVSPO adds virtual rewards to the mean and the deviation of a group's episodes, which the advantage "
            f"{kind!r} of {method.name!r} does not take [X]: combine it with a method whose advantage is 'group'"
        )
    if mode == "code" and stage.scale != "none":
        return replace(method, advantage=VirtualSampleAdvantage(mode=mode, scale="unbiased", epsilon=1e-4))
    return replace(method, advantage=VirtualSampleAdvantage(mode=mode, scale=stage.scale, epsilon=stage.epsilon))


def _expo(method: Method, kl: Literal["accuracy", "constant", "as it is"], curriculum: bool) -> Method:
    if kl != "as it is" and method.kl.against == "old":
        raise ConfigError(
            f"EXPO's penalty is against the reference model, and that of {method.name!r} against the policy at the "
            "start of the round: combine it with expo-gcs alone"
        )
    coefficient = method.kl.coefficient or EXPO_KL
    if kl == "accuracy":
        method = replace(method, kl=replace(method.kl, coefficient=coefficient, scale=AccuracyScale()))
    elif kl == "constant":
        method = replace(method, kl=replace(method.kl, coefficient=coefficient * EXPO_CONSTANT))
    return replace(method, sampler=GaussianCurriculum()) if curriculum else method


def _codistill(method: Method, form: Literal["plain", "tis"]) -> Method:
    if method.selection is not None:
        raise ConfigError(
            f"CoDistill-GRPO thins out the episodes of a group, and {method.name!r} has a selection already "
            f"({method.selection.name}): one stage cannot be both"
        )
    return replace(method, source=OnPolicy(oversample=2), selection=KeepExtremes(), partner=CoDistill(form=form))


def _grpo(beta: float = 0.0) -> Method:
    return Method(name="grpo", aggregation=PPO, kl=KLPenalty(coefficient=beta, estimator="k3"))


_WHO_PLAYS = frozenset({"source"})
_SECOND_MODEL = frozenset({"source", "selection", "partner"})
_ADVANTAGE = frozenset({"advantage"})
_KL, _SAMPLER = frozenset({"kl"}), frozenset({"sampler"})

_GRPO, _EXPO_GRPO = _grpo(), _grpo(EXPO_KL)
_S2L, _COV, _AVSPO = "S2L-PO (arXiv 2605.30789)", "covariance-aware GRPO (arXiv 2605.11538)", "AVSPO (arXiv 2605.21125)"
_EXPO, _CODISTILL = "EXPO (arXiv 2605.09923, 2605.11403)", "CoDistill-GRPO (arXiv 2605.08873)"

VARIANTS = {
    "s2l-po": Variant(_S2L, _WHO_PLAYS, _grpo(1e-3), partial(_s2l, weigh=False)),
    "s2l-po-tis": Variant(
        f"{_S2L} with truncated importance weights [X]", _WHO_PLAYS, _grpo(1e-3), partial(_s2l, weigh=True)
    ),
    "cov_gaussian": Variant(
        f"{_COV}, Gaussian kernel [X in parts]", frozenset({"covariance"}), _grpo(0.04), _cov_gaussian
    ),
    "avspo": Variant(f"{_AVSPO}, ICML form", _ADVANTAGE, _GRPO, partial(_avspo, mode="icml")),
    "avspo-www": Variant(f"{_AVSPO}, earlier form", _ADVANTAGE, _GRPO, partial(_avspo, mode="www")),
    "avspo-code": Variant(f"{_AVSPO}, the authors' repository", _ADVANTAGE, _GRPO, partial(_avspo, mode="code")),
    "expo": Variant(_EXPO, _KL | _SAMPLER, _EXPO_GRPO, partial(_expo, kl="accuracy", curriculum=True)),
    "expo-akl": Variant(
        f"{_EXPO}: adaptive KL alone", _KL, _EXPO_GRPO, partial(_expo, kl="accuracy", curriculum=False)
    ),
    "expo-gcs": Variant(
        f"{_EXPO}: curriculum alone", _SAMPLER, _EXPO_GRPO, partial(_expo, kl="as it is", curriculum=True)
    ),
    "expo-constant": Variant(
        f"{_EXPO}: control with a constant KL coefficient, and the curriculum",
        _KL | _SAMPLER,
        _EXPO_GRPO,
        partial(_expo, kl="constant", curriculum=True),
    ),
    "expo-akl-constant": Variant(
        f"{_EXPO}: control for adaptive KL alone, a constant coefficient without the curriculum [X]",
        _KL,
        _EXPO_GRPO,
        partial(_expo, kl="constant", curriculum=False),
    ),
    "codistill": Variant(f"{_CODISTILL}, our definition [X]", _SECOND_MODEL, _GRPO, partial(_codistill, form="plain")),
    "codistill-tis": Variant(
        f"{_CODISTILL}, truncated importance weights [X]", _SECOND_MODEL, _GRPO, partial(_codistill, form="tis")
    ),
}


def combine(name: str, base: Method, variants: Sequence[str]) -> Method:
    """Adds variants to a method, in the order of ``VARIANTS``, so that the order of the names has no say.

    Args:
        name: Name of what comes of it.
        base: The method.
        variants: Names of variants.

    Raises:
        ConfigError: If they cannot be combined; the reason says why.
    """
    order = [variant for variant in VARIANTS if variant in variants]
    if len(order) < len(variants):
        raise ConfigError(f"{name!r} names a variant twice")
    for place, first in enumerate(order):
        for second in order[place + 1 :]:
            if both := VARIANTS[first].fills & VARIANTS[second].fills:
                raise ConfigError(_clash(first, second, sorted(both)))
    method = base
    for variant in order:
        method = VARIANTS[variant].add(method)
    return replace(method, name=name)


def _clash(first: str, second: str, stages: Sequence[str]) -> str:
    if first.startswith("s2l") and second.startswith("codistill"):
        return (
            f"{first} and {second} both say who plays: a frozen small model beside the policy, or a small policy for a "
            "large partner; use one of them"
        )
    what = " and ".join(stages)
    return f"{first} and {second} both fill the stage {what!r}: use one of them"


class StageRow(NamedTuple):
    """A stage as a table shows it: its number and name, what fills it, and what it reads."""

    stage: str
    filled_by: str
    reads: str


def stages_of(method: Method) -> list[StageRow]:
    """The nine stages of a method, and which reward or which episodes each reads."""
    kl = method.kl
    curriculum = isinstance(method.sampler, GaussianCurriculum)
    shaped: list[str] = [method.reward.name] if method.reward else []
    if method.partner:
        shaped.append(f"distillation, alpha {method.partner.alpha:g}")
    selection = method.selection
    reward = "the shaped reward"
    if method.partner:
        partners = "correctness" if method.partner.partner_reward == "verifier" else "the shaped reward"
        reward = f"policy: the shaped reward; partner: {partners}"
    virtual = isinstance(method.advantage, VirtualSampleAdvantage)
    aggregation = method.aggregation
    weights: list[str] = [stage.name for stage in method.token_weights]
    if method.partner and method.partner.form == "tis":
        weights.append("truncated_importance of the partner")
    denominators = "the learner's own old log-probabilities"
    if aggregation.denominator == "behaviour":
        denominators = "the old log-probabilities of who played"
    elif method.partner and method.partner.form == "plain":
        denominators = "policy: its own old log-probabilities; partner: the policy's old ones"
    return [
        StageRow(
            "1 sampler",
            method.sampler.name,
            "correctness of the policy's own episodes" if curriculum else "the round's number",
        ),
        StageRow("2 source", method.source.name, "the round's number"),
        StageRow("3 reward", ", ".join(shaped) or "-", "the episode's reward and tokens"),
        StageRow(
            "4 selection",
            selection.name if selection else "-",
            "" if selection is None else "the shaped reward" if isinstance(selection, KeepExtremes) else "correctness",
        ),
        StageRow("5 advantage", method.advantage.name, reward + (" (collapse: correctness)" if virtual else "")),
        StageRow(
            "6 token weights",
            ", ".join(weights) or "-",
            "final advantages, log-probabilities" if weights else "",
        ),
        StageRow(
            "7 aggregation", f"{aggregation.name}, {aggregation.exponent.name} p, clip {aggregation.clip}", denominators
        ),
        StageRow(
            "8 KL",
            "-"
            if kl.coefficient == 0
            else f"{kl.estimator} x {kl.coefficient:g}" + (" x rho(acc)" if kl.scale else ""),
            "correctness of the policy's own episodes" if kl.scale else "",
        ),
        StageRow("9 reduction", method.reduction.over, ""),
    ]


def notes_of(method: Method) -> list[str]:
    """What is to be known of the stages together: where one changes what another sees, and ``without_effect``."""
    virtual, mixed = isinstance(method.advantage, VirtualSampleAdvantage), isinstance(method.source, ExplorerMix)
    curriculum = isinstance(method.sampler, GaussianCurriculum)
    weighed = any(isinstance(stage, GaussianCovariance) for stage in method.token_weights)
    exponent = method.aggregation.exponent
    arithmetic = isinstance(exponent, ConstantExponent) and exponent.p == 1
    reads_accuracy = curriculum or method.kl.scale is not None or isinstance(exponent, RewardExponent)
    found = (
        (method.needs_reference, "A reference model is held in memory."),
        (
            mixed and reads_accuracy,
            "Accuracies are those of the policy's own episodes; in a round without any the last accuracy (0 before the "
            "first) and the table of the curriculum stay as they are.",
        ),
        (mixed, "The collapse rate is that of the whole group, the explorer's episodes included."),
        (
            mixed and not arithmetic,
            "The old log-probabilities are the policy's, so every ratio is 1 at a round's first step and p does not "
            "matter there.",
        ),
        (
            curriculum and virtual,
            "The curriculum prefers groups with successes and failures, so fewer collapse and AVSPO acts less; the log "
            "also has collapsed_groups_uniform.",
        ),
        (
            virtual and weighed,
            "Repaired groups shift the mean advantage and with it every covariance; a mini-batch of nothing but groups "
            "repaired alike has weights of 1.",
        ),
        (
            isinstance(method.advantage, VirtualSampleAdvantage) and method.advantage.scale == "none",
            "Without a scale the size of advantage.anchor matters; with one it cancels.",
        ),
        (
            virtual and method.partner is not None,
            "The distillation term makes shaped rewards of a group differ, so collapse is read off correctness.",
        ),
        (
            method.partner is not None and method.partner.form == "plain",
            "The partner's ratios are not 1 from the first step, so the clip and p act then: see partner/clip_share.",
        ),
        (
            isinstance(exponent, Schedule) and (mixed or method.partner is not None),
            "The schedule of p and the transition count rollout rounds, not optimiser steps.",
        ),
        (
            weighed and not arithmetic,
            "Token weights enter the power mean as v_t = w_t / sum w, and their mean multiplies the surrogate [X].",
        ),
    )
    return [*without_effect(method), *(text for holds, text in found if holds)]


def without_effect(method: Method) -> list[str]:
    """Settings that do nothing beside others; a run says so as it begins."""
    found = (
        (method.kl.scale is not None and method.kl.coefficient == 0, "kl.scale has no effect: kl.coefficient is 0."),
        (
            isinstance(method.selection, DropUniformGroups) and method.needs_explorer,
            "selection.max_rounds has no effect beside S2L-PO: groups that drop_uniform drops are not replaced by new "
            "ones, and a round is trained on the others.",
        ),
    )
    return [text for holds, text in found if holds]


def identities_of(method: Method) -> list[str]:
    """Settings that turn a variant off; the run is then the same to the last bit as without it."""
    found = (
        (isinstance(method.source, ExplorerMix), "source.transition=0 is a run without an explorer"),
        (isinstance(method.sampler, GaussianCurriculum), "sampler.sigma=inf draws as sampler.name=uniform"),
        (method.kl.scale is not None, "kl.scale.rho=one leaves kl.coefficient constant"),
        (isinstance(method.advantage, VirtualSampleAdvantage), "advantage.threshold=1 is the advantage 'group'"),
        (
            any(isinstance(stage, GaussianCovariance) for stage in method.token_weights),
            "sigma=inf in token_weights gives every token weight 1",
        ),
        (
            method.partner is not None,
            "partner.alpha=0 without selection and source.oversample=1 trains the policy as without a partner",
        ),
        (
            method.aggregation.clip != "token",
            "aggregation.exponent.p=1 with aggregation.clip=token is GRPO's surrogate",
        ),
    )
    return [text for holds, text in found if holds]
