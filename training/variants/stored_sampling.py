"""Whether stored episodes were sampled as the explorer would play, by what the evaluation wrote down beside them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from ...agents.checkpoints import absolute_name
from ...agents.language_model_settings import MAX_TOKENS, LanguageModelSettings
from ...agents.making import digest_in_fingerprint, digest_of_texts
from ...agents.token_file import load_tokens
from ...envs.errors import ConfigError
from ...envs.files import read_file
from ...envs.math.grader import RULES_VERSION
from ...envs.settings import file_layer, resolve
from ..config import TrainConfig
from ..models import settings_of_explorer
from ..playground import most_turns, open_playground
from .explorer import episodes_of_tasks
from .s2l import ExplorerMix

_CONFIG, _MANIFEST = "config.toml", "manifest.json"
# What else decides what is read and said; the explorer has it as the policy has.
_AS_POLICY = ("template_arguments", "history", "admissible", "dialect", "max_episode_tokens", "snap", "unparsable")
# How a training run grades: where it looks for an answer, what an answer counts as that a limit of tokens has cut, and
# what counts as equal. The time for a verdict decides on none: an episode without one is never drawn.
_GRADING = {"policy": "boxed", "cut": "graded", "rules": RULES_VERSION}


class _Evaluation(NamedTuple):
    """What stands beside the episodes.

    Attributes:
        values: All settings.
        agent: Those of the language model that played.
        texts: Hash of its prompt and chat template; None if it is not known.
    """

    values: Mapping[str, object]
    agent: LanguageModelSettings
    texts: str | None


class _Difference(NamedTuple):
    """A setting in which the episodes differ from what the explorer would play: its name, there and here."""

    name: str
    there: object
    here: object


def check_stored_episodes(config: TrainConfig) -> list[str]:
    """Compares the evaluation that ``explorer_samples`` is of with the settings of a run.

    Temperature, top_p, top_k, most tokens and all else that decides what is read and said must be as the explorer would
    play, prompt and chat template must have the same texts, and answers must be graded as here. The evaluation is known
    by the config.toml and the manifest.json in the folder of the file. In any case the file must have an episode of
    each task that may be drawn.

    Args:
        config: The settings of the run.

    Returns:
        What is to be known as the run begins: that nothing could be compared, or that another model is named there.

    Raises:
        ConfigError: If something differs, one of the two files is damaged, or a task has no episode.
        HolderGymError: If the episodes or the run's tasks cannot be read.
    """
    samples = config.explorer_samples
    if samples is None or config.explorer is None or not config.method.needs_explorer:
        return []
    own = settings_of_explorer(config)
    found = _read(samples.parent)
    if found is None or found.texts is None:
        repeated = _require_tasks(config, samples)
        tokens = own.max_tokens or MAX_TOKENS[_kind(config)]
        return [
            *repeated,
            f"explorer_samples is not checked, as no {_CONFIG} and {_MANIFEST} of a language model's evaluation stand "
            f"beside {samples}: its episodes should be sampled at temperature {own.temperature:g}, top_p "
            f"{own.top_p:g} and top_k {own.top_k}, with the policy's prompt and at most {tokens} tokens a response",
        ]
    for one in _differences(found, own, config):
        remedy = "let the explorer play the panel again by `holdergym eval` with these settings"
        if one.name.startswith("explorer.") and (one.name, one.there) != ("explorer.temperature", 0):
            remedy = f"set {one.name}={one.there}, or {remedy}"
        raise ConfigError(
            f"{samples} was played with {one.name.removeprefix('explorer.')} {one.there}, and the explorer of this run "
            f"has {one.here}: {remedy}"
        )
    repeated = _require_tasks(config, samples)
    if absolute_name(found.agent.model) != absolute_name(config.explorer.model):
        return [
            *repeated,
            f"explorer_samples was played by the model {found.agent.model}, and explorer.model is "
            f"{config.explorer.model}: the tokenizer and the costs are taken from the latter",
        ]
    return repeated


def _read(folder: Path) -> _Evaluation | None:
    """The evaluation in a folder; None if there is none of a language model.

    Raises:
        ConfigError: If a file is damaged.
    """
    if not ((folder / _CONFIG).is_file() and (folder / _MANIFEST).is_file()):
        return None
    layer = file_layer(folder / _CONFIG)
    agent = layer.values.get("agent")
    if not isinstance(agent, Mapping) or agent.get("name") != "llm":
        return None
    settings = resolve(LanguageModelSettings, [layer._replace(values=agent)])
    try:
        manifest = json.loads(read_file(folder / _MANIFEST))
    except (OSError, ValueError, RecursionError):
        raise ConfigError(f"{folder / _MANIFEST} is damaged, or cannot be read: copy it again") from None
    fingerprint = manifest.get("agent_fingerprint") if isinstance(manifest, dict) else None
    texts = digest_in_fingerprint(fingerprint) if isinstance(fingerprint, str) else None
    return _Evaluation(layer.values, settings, texts)


def _require_tasks(config: TrainConfig, samples: Path) -> list[str]:
    """Checks that there is an episode of each task of the run's panel: one without would end the run that draws it.

    Returns:
        That episodes come several times in a group, if they do.

    Raises:
        ConfigError: If a task has none.
        HolderGymError: If the file or the panel cannot be read.
    """
    played = episodes_of_tasks(load_tokens(samples))
    panel = open_playground(config).train
    missing = [task.id for task in panel.tasks if task.id not in played]
    if missing:
        raise ConfigError(
            f"{samples} has no finished episode of {len(missing)} of the {len(panel.tasks)} tasks of the panel "
            f"{panel.name}, for example {missing[0]!r}: let the explorer play the whole panel by `holdergym eval`, or "
            "leave explorer_samples out"
        )
    source = config.method.source
    assert isinstance(source, ExplorerMix)
    wanted = max(
        source.mix(number, config.rounds, config.group_size).explorer for number in range(1, config.rounds + 1)
    )
    fewest = min(played[task.id] for task in panel.tasks)
    if fewest >= wanted:
        return []
    return [
        f"{samples} has {fewest} episodes of a task at least, and the explorer plays up to {wanted} of a group: some "
        f"come several times in one group, which counts them as often; play {wanted} samples a task to have them all "
        "different"
    ]


def _differences(found: _Evaluation, own: LanguageModelSettings, config: TrainConfig) -> Iterator[_Difference]:
    """What differs. The texts come early, as the history is that of the prompt where it is not set."""
    agent, values, kind = found.agent, found.values, _kind(config)
    yield from _unless_equal("env", values.get("env", "alfworld"), config.env)
    yield from _unless_equal("max_steps", values.get("max_steps", most_turns(config)), most_turns(config))
    grading = values.get("grading")
    if isinstance(grading, Mapping):
        for key, here in _GRADING.items():
            yield from _unless_equal(f"grading.{key}", grading.get(key, here), here)
    texts = digest_of_texts(own, kind)
    if found.texts != texts:
        yield _Difference("prompt", _with_texts(agent, found.texts), _with_texts(own, texts))
    yield from _unless_equal("explorer.temperature", agent.temperature or 0.0, own.temperature)
    for key in ("top_p", "top_k"):
        yield from _unless_equal(f"explorer.{key}", getattr(agent, key), getattr(own, key))
    yield from _unless_equal("max_tokens", agent.max_tokens or MAX_TOKENS[kind], own.max_tokens or MAX_TOKENS[kind])
    for key in _AS_POLICY:
        yield from _unless_equal(key, getattr(agent, key), getattr(own, key))


def _unless_equal(name: str, there: object, here: object) -> Iterator[_Difference]:
    if there != here:
        yield _Difference(name, there, here)


def _with_texts(agent: LanguageModelSettings, texts: str | None) -> str:
    """A prompt and its chat template, and the hash that tells two texts of one name apart."""
    named = [agent.prompt or "by default", *([agent.chat_template] if agent.chat_template else [])]
    return f"{' and '.join(named)} (texts {texts})"


def _kind(config: TrainConfig) -> Literal["alfworld", "math"]:
    return "alfworld" if config.env == "alfworld" else "math"
