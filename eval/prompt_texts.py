"""The texts of prompt files, kept in the run folder: a hash says that two runs had the same, and not what it said."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ..agents.language_model_settings import LanguageModelSettings
from ..agents.making import digest_in_fingerprint, digest_of_sources
from ..agents.prompt import PROMPTS, PromptError, built_in_template, read_template
from ..agents.registry import AgentSettings
from .run import CHAT_TEMPLATE, PROMPT

_PLAIN = "plain"


def named_files(agent: AgentSettings) -> dict[str, Path]:
    """The files that an agent's settings name, by the names of their copies; none for what the package brings."""
    if not isinstance(agent, LanguageModelSettings):
        return {}
    named = {}
    if agent.prompt is not None and agent.prompt not in PROMPTS:
        named[PROMPT] = agent.prompt
    if agent.chat_template not in (None, _PLAIN):
        named[CHAT_TEMPLATE] = str(agent.chat_template)
    return {copy: Path(place).expanduser() for copy, place in named.items()}


def read_texts(agent: AgentSettings, fingerprint: str) -> dict[str, str]:
    """The texts of these files, by the names of their copies.

    Args:
        agent: The settings, with the prompt filled in.
        fingerprint: What was made of them.

    Raises:
        PromptError: If one cannot be read, or is no longer what the agent was made of.
    """
    texts = {copy: read_template(place) for copy, place in named_files(agent).items()}
    said = digest_in_fingerprint(fingerprint)
    if texts and said is not None and isinstance(agent, LanguageModelSettings) and _digest(agent, texts) != said:
        places = " or ".join(str(place) for place in named_files(agent).values())
        raise PromptError(f"{places} was changed while the agent was being made: begin again")
    return texts


def kept_in(folder: Path, agent: AgentSettings) -> list[str]:
    """Names of the copies that a run folder holds; an older run has none."""
    return [copy for copy in named_files(agent) if (folder / copy).is_file()]


def contradiction(folder: Path, agent: AgentSettings, fingerprint: str) -> str:
    """Why the copies in a run folder are not what played, or nothing. They are only hashed, never rendered.

    A text that the package brings is another one in another version, so it is told from the fingerprint only where no
    such text is part of the hash.

    Raises:
        PromptError: If a copy cannot be read.
    """
    named, kept = named_files(agent), kept_in(folder, agent)
    said = digest_in_fingerprint(fingerprint)
    if not isinstance(agent, LanguageModelSettings) or said is None or len(kept) < len(named):
        return ""
    if PROMPT not in named or (agent.chat_template is not None and CHAT_TEMPLATE not in named):
        return ""
    texts = {copy: read_template(folder / copy) for copy in kept}
    if _digest(agent, texts) == said:
        return ""
    return f"{' and '.join(kept)} {'are' if len(kept) > 1 else 'is'} not what played: the fingerprint has another hash"


def _digest(agent: LanguageModelSettings, texts: Mapping[str, str]) -> str:
    """The hash that a fingerprint has for these texts and, where the settings name no file, the package's own."""
    assert agent.prompt is not None
    prompt = texts[PROMPT] if PROMPT in texts else built_in_template(agent.prompt)
    template = built_in_template("plain_chat") if agent.chat_template == _PLAIN else texts.get(CHAT_TEMPLATE)
    return digest_of_sources(hashlib.sha256(prompt.encode()).hexdigest(), template)
