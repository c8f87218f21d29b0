"""What an agent is: a map from a batch of conversations to a batch of responses."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..envs.task import Task


@dataclass(frozen=True, slots=True)
class Exchange:
    """A finished turn as the agent remembers it: what it saw and the command it gave."""

    observation: str
    action: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One episode so far, from the agent's side.

    Attributes:
        task: The task being played.
        sample: 0, 1, ... when a task is played several times.
        seed: Seed of this episode; all randomness of the agent derives from it and the turn number.
        history: Finished turns, oldest first.
        observation: What to answer now.
        admissible_commands: Commands that the environment accepts now, sorted.
    """

    task: Task
    sample: int
    seed: int
    history: Sequence[Exchange]
    observation: str
    admissible_commands: Sequence[str]

    @property
    def turn(self) -> int:
        """Number of the turn to be played, from 0."""
        return len(self.history)


@dataclass(frozen=True, slots=True)
class Response:
    """An agent's answer: the command, and what a language model said and sampled to get there."""

    action: str
    reply: str | None = None
    prompt_ids: tuple[int, ...] | None = None
    response_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class Agent(Protocol):
    """A player. It keeps no state between calls: all it needs is in the conversations."""

    @property
    def name(self) -> str:
        """Short name for tables, for example ``expert``."""

    @property
    def fingerprint(self) -> str:
        """The name with every setting that can change an action; equal fingerprints play alike."""

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order.

        Raises:
            AgentError: When the agent cannot answer; the episodes end as ``error`` with its message.
        """


class AgentError(Exception):
    """An agent cannot answer. The episode ends as ``error``: it is not a loss."""


class AgentTimeout(AgentError):
    """An agent did not answer in time. The episode ends as ``timeout``: it is not a loss."""


def episode_seed(run_seed: int, task_id: str, sample: int) -> int:
    """Derives the seed of an episode, so that it does not depend on which other episodes are played."""
    digest = hashlib.sha256(f"{run_seed}\t{task_id}\t{sample}".encode()).digest()
    return int.from_bytes(digest[:6], "big")
