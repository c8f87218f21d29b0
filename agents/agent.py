"""What an agent is: a map from a batch of conversations to a batch of responses."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..envs.task import Task
from .trajectory import Outcome
from .usage import Usage


@dataclass(frozen=True, slots=True)
class Response:
    """An agent's answer: the command, and what a language model said and sampled to get there.

    Attributes:
        action: The command.
        reply: All that a language model said.
        prompt_ids: Tokens that it saw.
        response_ids: Tokens that it sampled.
        logprobs: Their log-probabilities, as long as ``response_ids``.
        finish: Why the reply ended: ``stop``, or ``length`` for one that was cut.
        unparsable: Whether the reply holds no command, so that ``action`` is a stand-in.
        remarks: What the parser says of the reply, by the names of ``parsing.Remark``.
        snapped_from: The command in the reply, where ``action`` is the admissible one nearest to it.
        usage: Tokens that it took.
    """

    action: str
    reply: str | None = None
    prompt_ids: tuple[int, ...] | None = None
    response_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    finish: str | None = None
    unparsable: bool = False
    remarks: tuple[str, ...] = ()
    snapped_from: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A finished turn as the agent remembers it.

    Attributes:
        observation: What it saw.
        action: The command that it gave.
        admissible_commands: Commands that the environment accepted then, sorted.
        response: Its whole answer.
    """

    observation: str
    action: str
    admissible_commands: Sequence[str] = ()
    response: Response | None = None


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
            AgentTimeout: When it did not answer in time; they end as ``timeout``.
            EpisodeLimit: When an episode has used up what the agent may use; they end with its outcome.
        """

    def open(self) -> None:
        """Loads what is needed to answer, so that the first answer does not take the time. Most agents need nothing.

        Raises:
            HolderGymError: If something cannot be loaded.
        """
        return None

    def close(self) -> None:
        """Frees what the agent holds; calls of ``act`` that are under way fail. Most agents hold nothing."""
        return None


class AgentError(Exception):
    """An agent cannot answer. The episode ends as ``error``: it is not a loss."""


class AgentTimeout(AgentError):
    """An agent did not answer in time. The episode ends as ``timeout``: it is not a loss."""


class EpisodeLimit(Exception):
    """An episode cannot go on, and that is the agent's doing: it ends with the given outcome, which counts.

    Attributes:
        outcome: How the episode ends.
    """

    def __init__(self, outcome: Outcome, reason: str) -> None:
        self.outcome = outcome
        super().__init__(reason)


def episode_seed(run_seed: int, task_id: str, sample: int) -> int:
    """Derives the seed of an episode, so that it does not depend on which other episodes are played."""
    digest = hashlib.sha256(f"{run_seed}\t{task_id}\t{sample}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


def turn_seed(seed: int, turn: int) -> int:
    """Derives the seed of one response from that of its episode. It has 31 bits, which every server takes."""
    digest = hashlib.sha256(f"{seed}\t{turn}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
