"""Agents that know or ignore the answers to mathematics problems: the two ends of every table."""

from collections.abc import Sequence

from ..envs.math.problems import Problems
from .agent import Agent, Conversation, Response


class OracleAgent(Agent):
    """Gives the gold answer in a box: it scores 100 % on every panel whose golds can be graded.

    Args:
        problems: The problems that will be played.
    """

    name = "oracle"
    fingerprint = "oracle"

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order.

        Raises:
            UnknownNameError: If a task is not among the problems.
        """
        return [Response(f"\\boxed{{{self._problems[c.task.id].golds[0]}}}") for c in conversations]


class BlankAgent(Agent):
    """Says nothing: it scores 0 % everywhere, and every verdict on it is ``unparsable``."""

    name = "blank"
    fingerprint = "blank"

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order."""
        return [Response("") for _ in conversations]
