"""Protocols: named presets that fix panel, prompt, sampling, limits and what each outcome counts as.

A number is comparable with another one only if both were measured in the same way. A preset that is asked for by name
fixes its settings: another value for one of them is refused, not quietly mixed in. Settings that happen to be those of
a preset get its name all the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..agents.language_model_settings import LanguageModelSettings
from ..envs.errors import ConfigError, UnknownNameError
from ..envs.settings import Layer, merge
from .config import EvalConfig

Setting = str | int | float | bool | None
MATH_ENVS: Final = ("math", "math_retry", "math_python")

_EVERY_TASK: Mapping[str, Setting] = {"task_type": None, "limit": None, "draw": None}


@dataclass(frozen=True, slots=True)
class Protocol:
    """A preset.

    Attributes:
        name: Its name, as tables show it.
        summary: What is done, in one sentence.
        source: Who measures so.
        envs: The environments that it is for.
        fixed: Settings by their dotted keys; None for a setting that must not be given.
        model: Settings below ``agent`` that it fixes for language models. Other agents have no such settings.
        outcomes: What each outcome counts as.
    """

    name: str
    summary: str
    source: str
    envs: tuple[str, ...]
    fixed: Mapping[str, Setting]
    model: Mapping[str, Setting]
    outcomes: str


_ALFWORLD_OUTCOMES = (
    "won counts 1; lost, limit, token_limit and context_overflow count 0; error and timeout are left out, played "
    "again by --resume, and counted as 0 in the number beside it"
)
_MATH_OUTCOMES = (
    "a correct answer counts 1, also in a response that was cut; anything else counts 0, an answer that cannot be read "
    "included; verdicts that the grader could not give are left out, played again by --resume, and counted as 0 in the "
    "number beside it"
)

PROTOCOLS: Final[tuple[Protocol, ...]] = (
    Protocol(
        name="full",
        summary="Every game of the panel once, greedy, at most 50 commands, the whole conversation as prompt.",
        source="HölderGym's own default",
        envs=("alfworld",),
        fixed={**_EVERY_TASK, "samples": 1, "max_steps": 50},
        model={
            "prompt": "chat",
            "history": None,
            "admissible": True,
            "temperature": 0.0,
            "max_tokens": 512,
            "max_episode_tokens": None,
            "snap": False,
            "unparsable": "nothing",
        },
        outcomes=_ALFWORLD_OUTCOMES,
    ),
    Protocol(
        name="gigpo-128",
        summary=(
            "128 draws among the games of valid_seen, temperature 0.4, at most 50 commands, the last 2 turns as "
            "history, 512 tokens a response; a reply without a command sends its last 30 characters."
        ),
        source=(
            "validation of verl-agent as the GiGPO and HölderPO papers use it: 128 environments that each draw a game "
            "for themselves, so that games come several times or not at all"
        ),
        envs=("alfworld",),
        fixed={"panel": "valid_seen", "task_type": None, "limit": None, "draw": 128, "samples": 1, "max_steps": 50},
        model={
            "prompt": "window",
            "history": 2,
            "admissible": True,
            "temperature": 0.4,
            "top_p": 1.0,
            "top_k": 0,
            "max_tokens": 512,
            "max_episode_tokens": None,
            "snap": False,
            "unparsable": "tail",
        },
        outcomes=_ALFWORLD_OUTCOMES,
    ),
    Protocol(
        name="math-greedy",
        summary="Every problem once, greedy, at most 3,000 tokens, the answer in the last box.",
        source="pass@1 of Dr.GRPO; HölderPO measures so with 4,096 tokens, which is math-greedy-4096",
        envs=("math",),
        fixed={**_EVERY_TASK, "samples": 1, "grading.policy": "boxed", "grading.cut": "graded"},
        model={"prompt": "free", "temperature": 0.0, "max_tokens": 3000, "max_episode_tokens": None},
        outcomes=_MATH_OUTCOMES,
    ),
    Protocol(
        name="math-greedy-4096",
        summary="Every problem once, greedy, at most 4,096 tokens, the answer in the last box.",
        source="pass@1 of HölderPO on AIME24, AMC, MATH500, Minerva and OlympiadBench",
        envs=("math",),
        fixed={**_EVERY_TASK, "samples": 1, "grading.policy": "boxed", "grading.cut": "graded"},
        model={"prompt": "free", "temperature": 0.0, "max_tokens": 4096, "max_episode_tokens": None},
        outcomes=_MATH_OUTCOMES,
    ),
    Protocol(
        name="math-pass-8",
        summary="8 samples of every problem at temperature 0.7, at most 4,096 tokens: pass@k, avg@k and maj@k up to 8.",
        source="AIME25 pass@8 of HölderPO; its temperature stands in the code only",
        envs=("math",),
        fixed={**_EVERY_TASK, "samples": 8, "grading.policy": "boxed", "grading.cut": "graded"},
        model={
            "prompt": "free",
            "temperature": 0.7,
            "top_p": 1.0,
            "top_k": 0,
            "max_tokens": 4096,
            "max_episode_tokens": None,
        },
        outcomes=_MATH_OUTCOMES,
    ),
    Protocol(
        name="math-avg-32",
        summary="32 samples of every problem at temperature 1.0, at most 4,096 tokens: avg@32, for small sets.",
        source="HölderGym's own, after the habit of reporting avg@32 on AIME",
        envs=("math",),
        fixed={**_EVERY_TASK, "samples": 32, "grading.policy": "boxed", "grading.cut": "graded"},
        model={
            "prompt": "free",
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "max_tokens": 4096,
            "max_episode_tokens": None,
        },
        outcomes=_MATH_OUTCOMES,
    ),
)


def find_protocol(name: str) -> Protocol:
    """The preset of this name.

    Raises:
        UnknownNameError: If there is none; the message names the nearest.
    """
    for protocol in PROTOCOLS:
        if protocol.name == name:
            return protocol
    raise UnknownNameError("protocol", name, [protocol.name for protocol in PROTOCOLS])


def protocol_layers(layers: Sequence[Layer]) -> list[Layer]:
    """The settings of the preset that some layers ask for, to be put below them; none if they ask for none.

    Raises:
        UnknownNameError: If there is no such preset.
    """
    given = merge(layers)
    name = given.get("protocol")
    if not isinstance(name, str):
        return []
    protocol = find_protocol(name)
    agent = given.get("agent")
    is_model = isinstance(agent, Mapping) and agent.get("name") == "llm"
    settings: dict[str, object] = {}
    if "env" not in given:
        settings["env"] = protocol.envs[0]
    for key, value in _settings_of(protocol, is_model).items():
        *groups, last = key.split(".")
        inner = settings
        for group in groups:
            inner = inner.setdefault(group, {})  # type: ignore[assignment]
        if value is not None:
            inner[last] = value
    return [Layer(f"protocol {name}", settings)]


def with_protocol(config: EvalConfig) -> EvalConfig:
    """Checks that resolved settings are those of the preset they name, or names the first preset that they are.

    Raises:
        UnknownNameError: If there is no such preset.
        ConfigError: If a setting is not the preset's.
    """
    if config.protocol is None:
        names = [protocol.name for protocol in PROTOCOLS if not _differences(config, protocol)]
        return replace(config, protocol=names[0] if names else None)
    protocol = _fitting(config, config.protocol)
    differences = _differences(config, protocol)
    if differences:
        raise _refusal(protocol, differences[0])
    return config


def refuse_early(config: EvalConfig) -> None:
    """Refuses settings that are not those of the preset they name, before anything is opened for them.

    Settings that are still open are not looked at; ``with_protocol`` does so when they are resolved.

    Raises:
        UnknownNameError: If there is no such preset.
        ConfigError: If a setting is not the preset's.
    """
    if config.protocol is None:
        return
    protocol = _fitting(config, config.protocol)
    given = [difference for difference in _differences(config, protocol) if difference[2] is not None]
    if given:
        raise _refusal(protocol, given[0])


def _fitting(config: EvalConfig, name: str) -> Protocol:
    protocol = find_protocol(name)
    if config.env not in protocol.envs:
        raise ConfigError(f"protocol {protocol.name!r} is for env {' or '.join(protocol.envs)}, not {config.env}")
    return protocol


def _refusal(protocol: Protocol, difference: tuple[str, Setting, object]) -> ConfigError:
    key, wanted, found = difference
    if wanted is None:
        return ConfigError(f"protocol {protocol.name!r} leaves {key} unset, and it is {found!r} here: leave it out")
    return ConfigError(
        f"protocol {protocol.name!r} fixes {key} at {wanted!r}, and it is {_shown(found)} here: "
        "leave out one of the two"
    )


def _settings_of(protocol: Protocol, is_model: bool) -> dict[str, Setting]:
    model = {f"agent.{key}": value for key, value in protocol.model.items()} if is_model else {}
    return {**protocol.fixed, **model}


def _differences(config: EvalConfig, protocol: Protocol) -> list[tuple[str, Setting, object]]:
    """What is not as the preset has it: dotted key, value there, value here."""
    if config.env not in protocol.envs:
        return [("env", protocol.envs[0], config.env)]
    settings = _settings_of(protocol, isinstance(config.agent, LanguageModelSettings))
    found = [(key, wanted, _value_of(config, key)) for key, wanted in settings.items()]
    return [(key, wanted, value) for key, wanted, value in found if value != wanted]


def _value_of(config: EvalConfig, key: str) -> object:
    value: object = config
    for name in key.split("."):
        value = getattr(value, name, None)  # a group that is still open has no settings yet
    return value


def _shown(value: object) -> str:
    return "not set" if value is None else repr(value)
