"""Published methods by name, composed of stage objects. ``docs/PAPERS.md`` has a section for each."""

from ..envs.errors import ConfigError, UnknownNameError
from .advantages import GlobalAdvantage, GroupAdvantage, StepRowAdvantage
from .aggregation import HolderAggregation
from .clipping import ClipRange, RewardAdaptiveClip
from .composition import PPO, VARIANTS, combine
from .exponents import ClipFractionExponent, ConstantExponent, RewardExponent
from .gigpo import GiGPOAdvantage
from .kl import EntropyBonus, KLPenalty
from .method import Method
from .reduction import Reduction
from .rewards import OverlongPenalty
from .schedules import Schedule
from .selection import DropUniformGroups
from .token_weights import ClipCov, KLCov

ARITHMETIC = ConstantExponent(p=1.0)
GEOMETRIC = ConstantExponent(p=0.0)
HARMONIC = ConstantExponent(p=-1.0)

# verl-agent's `vanilla` loss: PPO with a dual clip at 3.
VERL_AGENT_PPO = HolderAggregation(exponent=ARITHMETIC, clip="token", clip_range=ClipRange(low=0.2, high=0.2, dual=3.0))
# Its KL term and its entropy bonus in the ALFWorld scripts of GiGPO and HölderPO.
VERL_AGENT_KL = KLPenalty(coefficient=0.01, estimator="k3", value_limit=10.0, reduction=Reduction(over="tokens"))
VERL_AGENT_ENTROPY = EntropyBonus(coefficient=0.001)

OAT_ADVANTAGE = GroupAdvantage(scale="unbiased", epsilon=1e-8)
VERL_ADVANTAGE = GroupAdvantage(scale="unbiased", epsilon=1e-6)

TOKENS = Reduction(over="tokens")


_METHODS = (
    Method(name="grpo", aggregation=PPO, kl=KLPenalty(coefficient=0.04, estimator="k3")),
    Method(
        name="grpo-verl-agent",
        advantage=StepRowAdvantage(),
        aggregation=VERL_AGENT_PPO,
        kl=VERL_AGENT_KL,
        entropy=VERL_AGENT_ENTROPY,
        reduction=TOKENS,
    ),
    Method(
        name="dr-grpo",
        advantage=GroupAdvantage(scale="none"),
        aggregation=PPO,
        reduction=Reduction(over="constant_length", length=3000),
    ),
    Method(
        name="dapo",
        reward=OverlongPenalty(limit=20480, buffer=4096, factor=1.0),
        selection=DropUniformGroups(max_rounds=10),
        advantage=VERL_ADVANTAGE,
        aggregation=HolderAggregation(
            exponent=ARITHMETIC, clip="token", clip_range=ClipRange(low=0.2, high=0.28, dual=10.0)
        ),
        reduction=TOKENS,
    ),
    Method(
        name="gspo",
        advantage=VERL_ADVANTAGE,
        aggregation=HolderAggregation(
            exponent=GEOMETRIC, clip="sequence", clip_range=ClipRange(low=3e-4, high=4e-4), log_ratio_limit=10.0
        ),
    ),
    Method(
        name="gmpo",
        advantage=OAT_ADVANTAGE,
        aggregation=HolderAggregation(
            exponent=GEOMETRIC, clip="token", clip_range=ClipRange(low=0.4, high=0.4, log=True)
        ),
    ),
    Method(
        name="hmpo",
        advantage=OAT_ADVANTAGE,
        aggregation=HolderAggregation(
            exponent=HARMONIC, clip="token", clip_range=ClipRange(low=0.4, high=0.4, log=True)
        ),
    ),
    Method(
        name="pmpo-style",
        advantage=OAT_ADVANTAGE,
        aggregation=HolderAggregation(
            exponent=ClipFractionExponent(), clip="token", clip_range=ClipRange(low=0.4, high=0.4, log=True)
        ),
    ),
    Method(
        name="apmpo",
        aggregation=HolderAggregation(
            exponent=RewardExponent(decay=0.8), clip="token", clip_range=RewardAdaptiveClip()
        ),
        kl=KLPenalty(coefficient=0.001, estimator="k3"),
    ),
    Method(
        name="clip-cov",
        advantage=VERL_ADVANTAGE,
        token_weights=(ClipCov(share=2e-4, low=1.0, high=5.0),),
        aggregation=HolderAggregation(exponent=ARITHMETIC, clip="token", clip_range=ClipRange(low=1.0, high=1.0)),
        reduction=TOKENS,
    ),
    Method(
        name="kl-cov",
        advantage=VERL_ADVANTAGE,
        token_weights=(KLCov(share=2e-3),),
        aggregation=HolderAggregation(exponent=ARITHMETIC, clip="none"),
        kl=KLPenalty(coefficient=1.0, estimator="abs", against="old"),
        reduction=TOKENS,
    ),
    Method(
        name="rloo",
        advantage=GroupAdvantage(baseline="leave_one_out", scale="none"),
        aggregation=HolderAggregation(exponent=ARITHMETIC, clip="none"),
        # The whole answer is one action: the sum over its tokens, not the mean.
        reduction=Reduction(over="constant_length", length=1),
    ),
    Method(
        name="rloo-ppo",
        advantage=GroupAdvantage(baseline="leave_one_out", scale="none"),
        aggregation=PPO,
        reduction=TOKENS,
    ),
    Method(name="reinforce++", advantage=GlobalAdvantage(baseline="none"), aggregation=PPO, reduction=TOKENS),
    Method(name="reinforce++-baseline", advantage=GlobalAdvantage(baseline="group"), aggregation=PPO, reduction=TOKENS),
    Method(
        name="gigpo",
        advantage=GiGPOAdvantage(),
        aggregation=VERL_AGENT_PPO,
        kl=VERL_AGENT_KL,
        entropy=VERL_AGENT_ENTROPY,
        reduction=TOKENS,
    ),
    Method(
        name="holderpo",
        advantage=OAT_ADVANTAGE,
        aggregation=HolderAggregation(exponent=Schedule(shape="linear_dec", low=-2.0, high=2.0, rounds=500)),
    ),
    Method(name="holderpo-static", advantage=OAT_ADVANTAGE, aggregation=HolderAggregation(exponent=ARITHMETIC)),
    Method(
        name="holderpo-alfworld",
        advantage=StepRowAdvantage(),
        aggregation=HolderAggregation(
            exponent=Schedule(shape="linear_dec", low=-1.0, high=1.0, rounds=150), per="turn"
        ),
        kl=VERL_AGENT_KL,
        entropy=VERL_AGENT_ENTROPY,
    ),
)
_PRESETS = {method.name: method for method in _METHODS}

_TITLES = {
    "grpo": "GRPO (arXiv 2402.03300)",
    "grpo-verl-agent": "GRPO as in verl-agent: statistics over turns",
    "dr-grpo": "Dr.GRPO (arXiv 2503.20783)",
    "dapo": "DAPO (arXiv 2503.14476)",
    "gspo": "GSPO (arXiv 2507.18071)",
    "gmpo": "GMPO (arXiv 2507.20673)",
    "hmpo": "harmonic mean, an ablation in GMPO's repository",
    "pmpo-style": "in the manner of PMPO (arXiv 2601.22521), with our own map",
    "apmpo": "APMPO (arXiv 2605.04066)",
    "clip-cov": "Clip-Cov (arXiv 2505.22617)",
    "kl-cov": "KL-Cov (arXiv 2505.22617)",
    "rloo": "RLOO (arXiv 2402.14740)",
    "rloo-ppo": "RLOO's advantage with PPO's clip",
    "reinforce++": "REINFORCE++ (arXiv 2501.03262)",
    "reinforce++-baseline": "REINFORCE++ with the group's mean as baseline",
    "gigpo": "GiGPO (arXiv 2505.10978)",
    "holderpo": "HölderPO (arXiv 2605.12058), p from 2 to -2",
    "holderpo-static": "HölderPO with one p",
    "holderpo-alfworld": "HölderPO on ALFWorld, p from 1 to -1",
}


def preset_names() -> tuple[str, ...]:
    """Names of all presets, in the order of ``docs/PAPERS.md``; variants can be added to any of them by ``+``."""
    return (*_PRESETS, *VARIANTS)


def preset_title(name: str) -> str:
    """What the method is called in the literature.

    Raises:
        UnknownNameError: If there is no preset of this name.
        ConfigError: If methods cannot be combined.
    """
    preset(name)
    return " + ".join(VARIANTS[part].title if part in VARIANTS else _TITLES[part] for part in parts_of(name))


def preset(name: str) -> Method:
    """The method of this name, or of several joined by ``+``: one base at most, and variants.

    Without a base the first variant's own one is taken.

    Raises:
        UnknownNameError: If there is none.
        ConfigError: If they cannot be combined, or a ``+`` joins nothing; the reason says why.
    """
    parts = parts_of(name)
    for part in parts:
        if part not in _PRESETS and part not in VARIANTS and (part or name == ""):
            raise UnknownNameError("method", part, preset_names())
    if "" in parts:
        raise ConfigError(
            f"{name!r} has nothing on one side of a '+': write a method and its variants, for example grpo+avspo"
        )
    bases = [part for part in parts if part in _PRESETS]
    variants = [part for part in parts if part in VARIANTS]
    if len(bases) > 1:
        raise ConfigError(
            f"{' and '.join(bases)} are whole methods: combine one of them with variants ({', '.join(VARIANTS)})"
        )
    base = _PRESETS[bases[0]] if bases else VARIANTS[variants[0]].base
    return base if not variants else combine(name, base, variants)


def parts_of(name: str) -> tuple[str, ...]:
    """The names that are joined by ``+``; some end with it themselves, and where one is missing it is empty."""
    known = sorted(preset_names(), key=len, reverse=True)
    parts: list[str] = []
    rest: str | None = name
    while rest is not None:
        part = next((one for one in known if rest == one or rest.startswith(f"{one}+")), rest.partition("+")[0])
        parts.append(part)
        rest = rest[len(part) + 1 :] if len(rest) > len(part) else None
    return tuple(parts)
