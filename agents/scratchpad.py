"""An agent that shows its work in arithmetic, or does not: what a policy can find out to be worth the tokens."""

import random
import re
from collections.abc import Sequence
from typing import Final

from .agent import Agent, AgentError, Conversation, Response

_QUESTION: Final = re.compile(r"Compute \$(?P<first>\d+) (?P<sign>[+-]) (?P<second>\d+)\$\.")


class ScratchpadAgent(Agent):
    r"""Answers sums and differences of two numbers, always rightly: some at once, some by a scratchpad.

    A scratchpad (arXiv 2112.00114) is the same sum or difference of the tens and of the ones, each by itself and with
    its sign, before the answer: ``4-8=-4,7-5=2,\boxed{-38}`` for 47 - 85. Whoever imitates both learns two ways to
    answer, and not which of them it is itself right with more often.

    Args:
        share: Share of the questions that are worked out; the draw derives from the episode's seed alone.
    """

    name = "scratchpad"

    def __init__(self, share: float) -> None:
        self._share = share

    @property
    def fingerprint(self) -> str:
        """The name with every setting that can change an action."""
        return f"scratchpad(share={self._share})"

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order.

        Raises:
            AgentError: If the question is not one sum or difference of two numbers.
        """
        return [Response(self._answer(one)) for one in conversations]

    def _answer(self, conversation: Conversation) -> str:
        found = _QUESTION.search(conversation.observation)
        if found is None:
            raise AgentError(
                "the agent 'scratchpad' works out sums and differences of two numbers, such as 'Compute $47 - 85$.', "
                f"and was asked {conversation.observation!r}"
            )
        first, sign, second = int(found["first"]), found["sign"], int(found["second"])
        answer = f"\\boxed{{{_value(first, sign, second)}}}"
        if random.Random(f"scratchpad {conversation.seed} {conversation.turn}").random() >= self._share:
            return answer
        places = ((first // 10, second // 10), (first % 10, second % 10))
        return "".join(f"{one}{sign}{two}={_value(one, sign, two)}," for one, two in places) + answer


def _value(first: int, sign: str, second: int) -> int:
    return first + second if sign == "+" else first - second
