"""From messages to tokens by a model's chat template, without ever making text of sampled tokens and back."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .backends.backend import Message
from .checkpoints import ModelError
from .control_tokens import ControlTokens

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TemplateArgument = bool | int | float | str

# Stands for a response while the text behind it is looked for. No template changes it and no game says it.
_RESPONSE = "@@response@@"


class ChatFormat:
    """Writes conversations as the tokens that a model was trained on.

    The tokens of a response are taken as they were sampled. Only what the template puts between it and the next
    response is made into tokens, each time for itself: so a prompt always begins with the prompt and the response
    before it. Where a template would shorten earlier responses, for example by their thinking, this does not: the
    model sees in a conversation what it said.

    What messages say is text, whoever wrote it: ``<|im_end|>`` in it is spelled in ordinary tokens and ends nothing.

    Args:
        tokenizer: The model's tokenizer.
        template: A chat template in place of the tokenizer's own.
        arguments: Further arguments of the template, for example ``{"enable_thinking": False}``.

    Attributes:
        opens_thinking: Whether a prompt ends within a ``<think>``, so that a response begins with thinking.

    Raises:
        ModelError: If there is no chat template or it cannot be used.
    """

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerBase",
        template: str | None = None,
        arguments: Mapping[str, TemplateArgument] | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._arguments = dict(arguments or {})
        if template is None and not tokenizer.chat_template:
            raise ModelError(
                "the model's tokenizer has no chat template, as is usual for a base model: set "
                "agent.chat_template=plain, or to a file with a template"
            )
        self._control = ControlTokens(tokenizer)
        self._merge_system = not self._knows_system()
        self.opens_thinking = self._opens_thinking()
        # Now rather than in the middle of a run.
        self.begin([Message("system", "-"), Message("user", "-")])
        self.go_on((), (), Message("user", "-"))

    def begin(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """The tokens of a prompt that holds no sampled response yet.

        Args:
            messages: A system message, or none, then those of user and assistant in turn; the user has the last.
        """
        return self._control.encode(self._render(messages))

    def go_on(self, prompt_ids: tuple[int, ...], response_ids: tuple[int, ...], message: Message) -> tuple[int, ...]:
        """The tokens of a prompt that adds a response and a user message to the one before.

        Args:
            prompt_ids: The prompt before.
            response_ids: What the model sampled then, with its end token if it ended by itself.
            message: What the user says to that.
        """
        conversation = [Message("user", "-"), Message("assistant", _RESPONSE), message]
        _, found, behind = self._render(conversation).partition(_RESPONSE)
        if not found:
            raise ModelError("the model's chat template leaves out what the model has said, so no episode can go on")
        between = self._control.encode(behind[self._already_said(response_ids, behind) :])
        # A response that ended by itself has its end token already.
        if response_ids and self._control.first(behind) == 0 and between[:1] == response_ids[-1:]:
            between = between[1:]
        return prompt_ids + response_ids + between

    def _already_said(self, response_ids: Sequence[int], behind: str) -> int:
        """How many characters of what follows a response stand at its end already: a stop text that was sampled.

        A special token is never among them. A response may spell one, which does not make it one.
        """
        words = behind[: self._control.first(behind)]
        said = self._tokenizer.decode(list(response_ids), clean_up_tokenization_spaces=False)
        assert isinstance(said, str)
        lengths = range(min(len(words), len(said)), 0, -1)
        return next((length for length in lengths if said.endswith(words[:length])), 0)

    def _render(self, messages: Sequence[Message]) -> str:
        from jinja2 import TemplateError

        if self._merge_system and messages[0].role == "system":
            system, user, *rest = messages
            messages = [Message("user", f"{system.content}\n\n{user.content}"), *rest]
        try:
            return self._apply([Message(one.role, self._control.hide(one.content)) for one in messages])
        except (TemplateError, TypeError, ValueError, LookupError) as error:
            raise ModelError(f"the model's chat template fails: {error}") from None

    def _apply(self, messages: Sequence[Message]) -> str:
        text = self._tokenizer.apply_chat_template(
            [message._asdict() for message in messages],
            chat_template=self._template,
            tokenize=False,
            add_generation_prompt=True,
            **self._arguments,
        )
        assert isinstance(text, str)
        return text

    def _knows_system(self) -> bool:
        """Some templates refuse system messages or leave them out."""
        from jinja2 import TemplateError

        try:
            return _RESPONSE in self._apply([Message("system", _RESPONSE), Message("user", "-")])
        except (TemplateError, TypeError, ValueError, LookupError):
            return False

    def _opens_thinking(self) -> bool:
        """Whether what a template puts before a response opens a ``<think>`` and does not close it."""
        before = self._render([Message("user", _RESPONSE)]).rpartition(_RESPONSE)[2].lower()
        return before.rfind("<think>") > before.rfind("</think>")
