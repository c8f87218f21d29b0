"""From a conversation to the prompt of its next turn."""

from collections.abc import Sequence
from typing import Literal, Protocol

from .agent import AgentError, Conversation, Exchange, Response
from .backends.backend import Message, MessagePrompt, TokenPrompt
from .chat_format import ChatFormat
from .prompt import PastTurn, Prompt, Style, TurnView

TASK_MARK = "Your task is to: "


class Viewer:
    """Makes what templates see of a conversation.

    Args:
        history: Finished turns that the model sees; None for all.
        admissible: Whether it sees the admissible commands.
        dialect: Wording of the commands that templates name; None for that of each game.
    """

    def __init__(self, history: int | None, admissible: bool, dialect: Literal["0.3", "0.4"] | None = None) -> None:
        self.history = history
        self._admissible = admissible
        self._dialect = dialect

    def start(self, conversation: Conversation) -> int:
        """Number of the first turn that the model sees."""
        return 0 if self.history is None else max(0, conversation.turn - self.history)

    def view(self, conversation: Conversation, turn: int, *, first: bool) -> TurnView:
        """A turn of the conversation, finished or not.

        Args:
            conversation: The episode so far.
            turn: Number of the turn, from 0.
            first: Whether it is the first message that the model sees.
        """
        history = conversation.history
        introduction = history[0].observation if history else conversation.observation
        past = history[:turn] if self.history is None else history[max(0, turn - self.history) : turn]
        observation, commands = conversation.observation, conversation.admissible_commands
        if turn < len(history):
            observation, commands = history[turn].observation, history[turn].admissible_commands
        return TurnView(
            task=introduction.partition(TASK_MARK)[2].strip() or introduction,
            introduction=introduction,
            observation=observation,
            commands=tuple(commands) if self._admissible else (),
            step=turn,
            past=tuple(
                PastTurn(turn - len(past) + number, exchange.observation, exchange.action)
                for number, exchange in enumerate(past, start=1)
            ),
            first=first,
            dialect=self._dialect or conversation.task.metadata.get("dialect", "0.4"),
        )


class Composer(Protocol):
    """Makes prompts. It keeps nothing between calls."""

    def compose(self, conversation: Conversation) -> TokenPrompt | MessagePrompt:
        """The prompt for the next turn."""


class TokenComposer:
    """Makes prompts of tokens: responses stay the tokens that were sampled.

    Args:
        prompt: The templates.
        viewer: What they see.
        chat: Writes messages as tokens.
    """

    def __init__(self, prompt: Prompt, viewer: Viewer, chat: ChatFormat) -> None:
        self._prompt = prompt
        self._viewer = viewer
        self._chat = chat

    def compose(self, conversation: Conversation) -> TokenPrompt:
        """The prompt for the next turn.

        Raises:
            AgentError: If an earlier turn was answered without tokens.
        """
        turn, history = conversation.turn, conversation.history
        if self._prompt.style is Style.WINDOW or not history:
            return TokenPrompt(self._chat.begin(_opening(self._prompt, self._viewer, conversation, turn)))
        start = self._viewer.start(conversation)
        if start == 0:
            # The prompt of the last turn holds all before it.
            ids, start = _tokens(history[-1])[0], turn - 1
        else:
            ids = self._chat.begin(_opening(self._prompt, self._viewer, conversation, start))
        for number in range(start, turn):
            message = _user(self._prompt, self._viewer, conversation, number + 1)
            ids = self._chat.go_on(ids, _tokens(history[number])[1], message)
        return TokenPrompt(ids)


class MessageComposer:
    """Makes prompts of messages, for servers that turn them into tokens themselves.

    Args:
        prompt: The templates.
        viewer: What they see.
    """

    def __init__(self, prompt: Prompt, viewer: Viewer) -> None:
        self._prompt = prompt
        self._viewer = viewer

    def compose(self, conversation: Conversation) -> MessagePrompt:
        """The prompt for the next turn."""
        turn = conversation.turn
        start = turn if self._prompt.style is Style.WINDOW else self._viewer.start(conversation)
        messages = list(_opening(self._prompt, self._viewer, conversation, start))
        for number in range(start, turn):
            exchange = conversation.history[number]
            reply = exchange.response.reply if exchange.response else None
            messages.append(Message("assistant", exchange.action if reply is None else reply))
            messages.append(_user(self._prompt, self._viewer, conversation, number + 1))
        return MessagePrompt(tuple(messages))


def _opening(prompt: Prompt, viewer: Viewer, conversation: Conversation, turn: int) -> Sequence[Message]:
    """The messages that the model sees first."""
    view = viewer.view(conversation, turn, first=True)
    system = prompt.system(view)
    messages = [Message("system", system)] if system else []
    for example in prompt.examples:
        messages += [Message("user", example.user), Message("assistant", example.assistant)]
    return [*messages, Message("user", prompt.user(view))]


def _user(prompt: Prompt, viewer: Viewer, conversation: Conversation, turn: int) -> Message:
    return Message("user", prompt.user(viewer.view(conversation, turn, first=False)))


def _tokens(exchange: Exchange) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The prompt and response tokens of a finished turn."""
    response: Response | None = exchange.response
    if response is None or response.prompt_ids is None or response.response_ids is None:
        raise AgentError("the server does not tell the tokens of its responses: set agent.backend.send=messages")
    return response.prompt_ids, response.response_ids
