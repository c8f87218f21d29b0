"""Under which conditions a run was played, and where two runs differ in them.

Two rates say something about two agents only if all else was equal: the tasks, their wording, the limits, and for two
language models what they were told.
"""

import re
from typing import NamedTuple

from ..agents.language_model_settings import LanguageModelSettings
from .run import Run

# As agents.making writes it into the fingerprint: name and hash of the prompt and the chat template.
_PROMPT = re.compile(r" prompt (\S+@[0-9a-f]+)")
_PROMPT_SETTINGS = ("history", "admissible", "dialect", "template_arguments", "snap", "unparsable")
_SAMPLING_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "max_episode_tokens")


class Mismatch(NamedTuple):
    """A condition in which two runs differ.

    Attributes:
        condition: Its name.
        first: What it was in the first run.
        second: What it was in the second.
    """

    condition: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.condition}: {self.first} and {self.second}"


def mismatches(first: Run, second: Run) -> tuple[Mismatch, ...]:
    """The conditions that make two runs incomparable."""
    return _differences(_conditions(first, second), _conditions(second, first))


def sampling_differences(first: Run, second: Run) -> tuple[Mismatch, ...]:
    """Settings of two agents that are a part of what is compared, and that a reader must know of."""
    return _differences(_sampling(first), _sampling(second))


def _differences(first: dict[str, str], second: dict[str, str]) -> tuple[Mismatch, ...]:
    names = [*first, *(name for name in second if name not in first)]
    pairs = [Mismatch(name, first.get(name, "not set"), second.get(name, "not set")) for name in names]
    return tuple(pair for pair in pairs if pair.first != pair.second)


def _conditions(run: Run, other: Run) -> dict[str, str]:
    config = run.config
    found = {
        "environment": config.env,
        "panel": f"{run.panel.label} ({run.panel.sha256[:12]})",
        "dialect": run.manifest.dialect or "none",
        "engine": config.engine or "none",
        "max_steps": str(config.max_steps),
    }
    if config.grading is not None:
        found["grading.policy"] = config.grading.policy
        found["grading.cut"] = config.grading.cut
        found["grading.rules"] = str(config.grading.rules)
    agents = config.agent, other.config.agent
    # What a scripted agent is told is no prompt, so that it can be compared with any language model.
    if isinstance(agents[0], LanguageModelSettings) and isinstance(agents[1], LanguageModelSettings):
        prompt = _PROMPT.search(run.manifest.agent_fingerprint)
        found["prompt"] = prompt[1] if prompt else str(agents[0].prompt)
        found.update({f"agent.{name}": str(getattr(agents[0], name)) for name in _PROMPT_SETTINGS})
    return found


def _sampling(run: Run) -> dict[str, str]:
    found = {"samples": str(run.config.samples)}
    if isinstance(run.config.agent, LanguageModelSettings):
        found.update({f"agent.{name}": str(getattr(run.config.agent, name)) for name in _SAMPLING_SETTINGS})
    return found
