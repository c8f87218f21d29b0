"""Who plays: agents, prompts, parsing, language-model back ends, and the rollouts that make trajectories.

Each name is loaded on first use, so importing this loads neither torch nor transformers nor vllm.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agent import (
        Agent,
        AgentError,
        AgentTimeout,
        Conversation,
        EpisodeLimit,
        Exchange,
        Response,
        episode_seed,
        turn_seed,
    )
    from .answers import BlankAgent, OracleAgent
    from .checkpoints import Checkpoint, ModelError, find_checkpoint
    from .language_model import LanguageModelAgent
    from .language_model_settings import LanguageModelSettings
    from .loading import load_model, load_tokenizer
    from .making import make_language_model
    from .parsing import Parsed, Remark, parse_reply
    from .prompt import Prompt, PromptError, open_prompt
    from .registry import AgentSettings, agent_entries, make_alfworld_agent, make_math_agent
    from .replay import ReplayAgent
    from .rollout import EpisodeJob, play_episode, roll_out
    from .scripted import ExpertAgent, RandomAgent, WalkthroughAgent
    from .trajectory import Outcome, Trajectory, Turn
    from .usage import Usage

__all__ = [
    "Agent",
    "AgentError",
    "AgentSettings",
    "AgentTimeout",
    "BlankAgent",
    "Checkpoint",
    "Conversation",
    "EpisodeJob",
    "EpisodeLimit",
    "Exchange",
    "ExpertAgent",
    "LanguageModelAgent",
    "LanguageModelSettings",
    "ModelError",
    "OracleAgent",
    "Outcome",
    "Parsed",
    "Prompt",
    "PromptError",
    "RandomAgent",
    "Remark",
    "ReplayAgent",
    "Response",
    "Trajectory",
    "Turn",
    "Usage",
    "WalkthroughAgent",
    "agent_entries",
    "episode_seed",
    "find_checkpoint",
    "load_model",
    "load_tokenizer",
    "make_alfworld_agent",
    "make_language_model",
    "make_math_agent",
    "open_prompt",
    "parse_reply",
    "play_episode",
    "roll_out",
    "turn_seed",
]

_LAZY = {
    "Agent": ".agent",
    "AgentError": ".agent",
    "AgentSettings": ".registry",
    "AgentTimeout": ".agent",
    "BlankAgent": ".answers",
    "Checkpoint": ".checkpoints",
    "Conversation": ".agent",
    "EpisodeJob": ".rollout",
    "EpisodeLimit": ".agent",
    "Exchange": ".agent",
    "ExpertAgent": ".scripted",
    "LanguageModelAgent": ".language_model",
    "LanguageModelSettings": ".language_model_settings",
    "ModelError": ".checkpoints",
    "OracleAgent": ".answers",
    "Outcome": ".trajectory",
    "Parsed": ".parsing",
    "Prompt": ".prompt",
    "PromptError": ".prompt",
    "RandomAgent": ".scripted",
    "Remark": ".parsing",
    "ReplayAgent": ".replay",
    "Response": ".agent",
    "Trajectory": ".trajectory",
    "Turn": ".trajectory",
    "Usage": ".usage",
    "WalkthroughAgent": ".scripted",
    "agent_entries": ".registry",
    "episode_seed": ".agent",
    "find_checkpoint": ".checkpoints",
    "load_model": ".loading",
    "load_tokenizer": ".loading",
    "make_alfworld_agent": ".registry",
    "make_language_model": ".making",
    "make_math_agent": ".registry",
    "open_prompt": ".prompt",
    "parse_reply": ".parsing",
    "play_episode": ".rollout",
    "roll_out": ".rollout",
    "turn_seed": ".agent",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
