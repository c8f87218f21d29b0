"""Agents that need no language model: a random one, and two that know the game.

They keep nothing between calls, so one agent may serve any number of episodes and threads at once, and no
answer depends on which other conversations are in the batch.
"""

import hashlib
from collections.abc import Sequence

from ..envs.alfworld.games import Games
from ..envs.alfworld.planner import shortest_plan
from .agent import Agent, AgentError, Conversation, Response


class RandomAgent(Agent):
    """Draws each command uniformly from the admissible ones; the draw derives from seed and turn alone."""

    name = "random"
    fingerprint = "random"

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order.

        Raises:
            AgentError: If an environment says of no command that it is admissible.
        """
        return [Response(self._draw(conversation)) for conversation in conversations]

    def _draw(self, conversation: Conversation) -> str:
        commands = conversation.admissible_commands
        if not commands:
            raise AgentError(f"task {conversation.task.id}: no command is admissible, so none can be drawn")
        # A hash, because it gives the same draw in every version of Python. 256 bits leave no bias to speak of.
        digest = hashlib.sha256(f"{conversation.seed}\t{conversation.turn}".encode()).digest()
        return commands[int.from_bytes(digest) % len(commands)]


class ExpertAgent(Agent):
    """Follows a shortest plan, found by a search over the native engine with full knowledge of the game.

    It replays the commands so far and plans anew each turn, so it also finishes what others began.

    Args:
        games: The games that will be played.
    """

    name = "expert"
    fingerprint = "expert"

    def __init__(self, games: Games) -> None:
        self._games = games

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order.

        Raises:
            AgentError: If nothing can win any more, or the game is won already.
            HolderGymError: If a task is not among the games, or speaks an older dialect.
        """
        return [Response(self._next(conversation)) for conversation in conversations]

    def _next(self, conversation: Conversation) -> str:
        state = self._games.world(conversation.task.id).initial_state()
        for exchange in conversation.history:
            state.step(exchange.action)
        plan = shortest_plan(state)
        if not plan:
            why = "nothing can win any more" if plan is None else "the game is won already"
            raise AgentError(f"task {conversation.task.id}: {why} after {conversation.turn} commands")
        return plan[0]


class WalkthroughAgent(Agent):
    """Says the commands of the game's own walkthrough, one after the other.

    Args:
        games: The games that will be played.
    """

    name = "walkthrough"

    def __init__(self, games: Games) -> None:
        self._walkthroughs = {game.task.id: game.walkthrough for game in games.stored}
        self._digest = hashlib.sha256(repr(sorted(self._walkthroughs.items())).encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """Equal for equal walkthroughs, which no panel hash covers."""
        return f"walkthrough(sha256={self._digest[:16]})"

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order.

        Raises:
            AgentError: If a game has no walkthrough, or it ended without a win.
        """
        return [Response(self._next(conversation)) for conversation in conversations]

    def _next(self, conversation: Conversation) -> str:
        task_id = conversation.task.id
        walkthrough = self._walkthroughs.get(task_id)
        if walkthrough is None:
            raise AgentError(f"task {task_id}: its file gives no walkthrough; the expert plans without one")
        if conversation.turn >= len(walkthrough):
            raise AgentError(f"task {task_id}: the walkthrough ends after {len(walkthrough)} commands")
        return walkthrough[conversation.turn]
