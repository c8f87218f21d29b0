"""What one episode leaves behind: a trajectory of turns with a typed outcome."""

from dataclasses import dataclass
from enum import StrEnum

from .usage import Usage


class Outcome(StrEnum):
    """How an episode ended. ``ERROR`` and ``TIMEOUT`` are failures of the machinery, never a score of 0."""

    WON = "won"
    LOST = "lost"
    LIMIT = "limit"
    """The environment's step limit."""

    TOKENS = "token_limit"
    """The limit of tokens that a language model may say in an episode."""

    CONTEXT = "context_overflow"
    """The prompt has outgrown the model's context."""

    ERROR = "error"
    TIMEOUT = "timeout"

    @property
    def finished(self) -> bool:
        """Whether the agent, not the machinery, decided how the episode ended."""
        return self not in (Outcome.ERROR, Outcome.TIMEOUT)


@dataclass(frozen=True, slots=True)
class Turn:
    """One observation and what the agent did with it.

    Attributes:
        observation: The text the agent answered.
        action: The command sent to the environment, exactly.
        valid: Whether the command was among the admissible ones.
        reward: Reward of the step that followed.
        reply: The agent's whole reply when it says more than the command, else None.
        prompt_ids: Token ids the model saw, or None for an agent without tokens.
        response_ids: Token ids the model sampled; the loss mask is exactly these.
        logprobs: Log-probability of each response token under the sampler, same length as ``response_ids``.
        agent_seconds: Wall time in the agent.
        env_seconds: Wall time in the environment.
        finish: Why the reply ended: ``stop``, or ``length`` for one that was cut; None without a language model.
        unparsable: Whether the reply held no command, so that the action is a stand-in.
        remarks: What the parser says of the reply, by the names of ``parsing.Remark``.
        snapped_from: The command in the reply, where the action is the admissible one nearest to it.
        usage: Tokens that the reply took, as far as the back end counts them.
        admissible_commands: Commands that the environment accepted; empty where it lists none.
    """

    observation: str
    action: str
    valid: bool
    reward: float
    reply: str | None = None
    prompt_ids: tuple[int, ...] | None = None
    response_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    agent_seconds: float = 0.0
    env_seconds: float = 0.0
    finish: str | None = None
    unparsable: bool = False
    remarks: tuple[str, ...] = ()
    snapped_from: str | None = None
    usage: Usage | None = None
    admissible_commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode.

    Attributes:
        task_id: The task that was played.
        task_type: Its type.
        sample: 0, 1, ... when a task is played several times.
        seed: The seed given to the agent for this episode.
        agent: Fingerprint of the agent that played.
        turns: The turns in order.
        outcome: How it ended.
        goal_condition_success_rate: Share of the goal's conditions that held at the end, in [0, 1]; NaN for an episode
            that failed before it began.
        final_observation: What the environment answered to the last action.
        reason: One line on why, for an episode that neither the agent's commands nor the step limit ended; else empty.
        answer: The last answer that was graded, as written; None where there was none, and where nothing is graded.
        verdict: What the grader found of it, or that there was nothing to grade; None where nothing is graded.
        updates: Optimiser steps behind the weights that played, in training; None elsewhere.
    """

    task_id: str
    task_type: str
    sample: int
    seed: int
    agent: str
    turns: tuple[Turn, ...]
    outcome: Outcome
    goal_condition_success_rate: float
    final_observation: str = ""
    reason: str = ""
    answer: str | None = None
    verdict: str | None = None
    updates: int | None = None
