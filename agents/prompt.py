r"""Prompts: Jinja2 files that say what a model reads and how it has to answer.

A prompt file sets up to five names and defines one or two macros::

    {% set style = "conversation" %}
    {% set rule = "tags" %}
    {% set stop = ["\nObservation:"] %}
    {% set history = 2 %}
    {% set examples = [{"user": "...", "assistant": "..."}] %}
    {% macro system(turn) %} ... {% endmacro %}
    {% macro user(turn) %} ... {% endmacro %}

``style``
    ``conversation``: a system message, then a user message each turn, and the model's answers between them.
    ``window``: one fresh user message each turn, which tells of the last turns itself.
``rule``
    Where the command stands in an answer; see ``parsing``.
``stop``
    Texts that end an answer. Optional.
``history``
    Finished turns that the model sees, where the settings do not say otherwise: all in a conversation, none in a
    window if this is not set.
``examples``
    Messages of user and model that stand before the first real one. Optional.
``turn``
    A ``TurnView``. Blanks around what a macro gives are cut off.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from ..envs.errors import HolderGymError, MissingExtraError, nearest
from ..envs.files import read_file
from .memory import Memory, remember
from .parsing import Rule

PROMPTS = {
    "chat": "the whole conversation, which grows by each turn; the command between <action> tags",
    "free": "what the environment says and nothing else; the whole reply is the action (mathematics)",
    "react": "the whole conversation in lines of Thought: and Action:, after an example",
    "tiny": "a few words each turn, with what was seen where; the number of a command (policies made for it)",
    "window": "a fresh prompt each turn with the last 2 turns, as in verl-agent; <think>, then <action>",
}


class PromptError(HolderGymError):
    """A prompt file that cannot be used as it is."""


class Style(StrEnum):
    """How turns become messages."""

    CONVERSATION = "conversation"
    WINDOW = "window"


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A finished turn, as templates see it.

    Attributes:
        number: 1 for the first turn of the episode.
        observation: What was seen.
        action: The command that was given; empty where the answer held none.
    """

    number: int
    observation: str
    action: str


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn, as templates see it.

    Attributes:
        task: What is to be done, without the words before it.
        introduction: The first observation of the episode.
        observation: What is seen now.
        commands: The admissible commands, or none where the settings withhold them or there is no list.
        step: Number of commands given so far.
        past: The last finished turns, oldest first.
        first: Whether this is the first message that the model sees of the episode.
        dialect: Wording of the game, ``0.4`` or ``0.3``.
    """

    task: str
    introduction: str
    observation: str
    commands: tuple[str, ...]
    step: int
    past: tuple[PastTurn, ...]
    first: bool
    dialect: str

    @property
    def memory(self) -> Memory:
        """What the turns in ``past`` and the present one have shown of a household."""
        return remember([*(one.observation for one in self.past), self.observation])

    @property
    def words(self) -> frozenset[str]:
        """The words of the task."""
        return frozenset(re.findall(r"\w+", self.task))


class Example(NamedTuple):
    """Two messages of an invented conversation."""

    user: str
    assistant: str


class Prompt:
    """A prompt file, read and checked.

    Attributes:
        name: Its short name.
        digest: sha256 of its text.
        style: How turns become messages.
        rule: Where the command stands in an answer.
        stop: Texts that end an answer.
        history: Finished turns that the model sees by default; None for all.
        examples: Messages before the first real one, as pairs of what the user and what the model says.
    """

    def __init__(self, name: str, source: str) -> None:
        """Reads a template.

        Args:
            name: Its short name.
            source: The text of the file.

        Raises:
            MissingExtraError: If jinja2 is not installed.
            PromptError: If it is not a template of the form that this module describes.
        """
        self.name = name
        self.digest = hashlib.sha256(source.encode()).hexdigest()
        self._source = source
        self.style = Style(self._one_of("style", [style.value for style in Style]))
        self.rule = Rule(self._one_of("rule", [rule.value for rule in Rule]))
        self.stop = self._stop()
        self.history = self._history()
        self.examples = self._examples()
        if "user" not in self._names:
            raise PromptError(f"{self._where}: has no macro 'user'")
        for view in _EXAMPLES:
            self.system(view)
            if not self.user(view):
                raise PromptError(f"{self._where}: its macro 'user' gives no text")

    def system(self, turn: TurnView) -> str:
        """The system message; empty for none."""
        return self._render("system", turn) if "system" in self._names else ""

    def user(self, turn: TurnView) -> str:
        """The user message of a turn."""
        return self._render("user", turn)

    def _render(self, macro: str, turn: TurnView) -> str:
        from jinja2 import TemplateError

        try:
            return str(self._names[macro](turn)).strip()  # type: ignore[operator]
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise PromptError(f"{self._where}: its macro {macro!r} fails: {error}") from None

    @cached_property
    def _names(self) -> Mapping[str, object]:
        """What the template sets and defines."""
        try:
            from jinja2 import StrictUndefined, TemplateError
            from jinja2.sandbox import ImmutableSandboxedEnvironment
        except ModuleNotFoundError:
            raise MissingExtraError("a language model's prompt", "train", "jinja2") from None
        # Sandboxed, as prompts are passed around. Text for a model must not be escaped as HTML is.
        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
        )
        try:
            return dict(vars(environment.from_string(self._source).module))
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            line = getattr(error, "lineno", None)
            where = self._where if line is None else f"{self._where}, line {line}"
            raise PromptError(f"{where}: {error}") from None

    @property
    def _where(self) -> str:
        return f"prompt {self.name!r}"

    def _one_of(self, name: str, known: list[str]) -> str:
        if name not in self._names:
            raise PromptError(f'{self._where}: does not set {name!r}: write {{% set {name} = "{known[0]}" %}}')
        value = str(self._names[name])
        if value not in known:
            raise PromptError(f"{self._where}: {name} cannot be {value!r}{nearest(value, known)}")
        return value

    def _stop(self) -> tuple[str, ...]:
        stop = self._names.get("stop", [])
        if not isinstance(stop, list) or not all(isinstance(text, str) and text for text in stop):
            raise PromptError(f"{self._where}: stop must be a list of texts, not {stop!r}")
        return tuple(stop)

    def _history(self) -> int | None:
        history = self._names.get("history", 0 if self.style is Style.WINDOW else None)
        if history is not None and (type(history) is not int or history < 0):
            raise PromptError(f"{self._where}: history must be a number of turns, not {history!r}")
        return history

    def _examples(self) -> tuple[Example, ...]:
        examples = self._names.get("examples", [])
        if not isinstance(examples, list):
            raise PromptError(f"{self._where}: examples must be a list, not {examples!r:.60}")
        pairs = []
        for entry in examples:
            if not isinstance(entry, dict) or set(entry) != {"user", "assistant"}:
                raise PromptError(
                    f'{self._where}: an example is {{"user": "...", "assistant": "..."}}, not {entry!r:.60}'
                )
            pairs.append(Example(str(entry["user"]), str(entry["assistant"])))
        return tuple(pairs)


def open_prompt(name: str) -> Prompt:
    """Opens a prompt by its name, or a file.

    Raises:
        PromptError: If there is no such prompt or it cannot be used.
        MissingExtraError: If jinja2 is not installed.
    """
    if name in PROMPTS:
        return Prompt(name, built_in_template(name))
    path = Path(name).expanduser()
    if not path.is_file():
        raise PromptError(f"there is no prompt {name!r}{nearest(name, PROMPTS)}; or give a file")
    return Prompt(path.name, read_template(path))


def built_in_template(name: str) -> str:
    """The text of one of the package's own templates."""
    return (resources.files(__package__) / "prompts" / f"{name}.jinja").read_text(encoding="utf-8")


def read_template(path: Path) -> str:
    """The text of a template file.

    Raises:
        PromptError: If it cannot be read.
    """
    try:
        return read_file(path).decode()
    except OSError as error:
        raise PromptError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise PromptError(f"{path}: is not UTF-8 text") from None


_EXAMPLE_TASK = "put a mug in desk."
_EXAMPLES = (
    TurnView(_EXAMPLE_TASK, "You see a desk 1.", "You see a desk 1.", ("look",), 0, (), True, "0.4"),
    TurnView(_EXAMPLE_TASK, "You see a desk 1.", "Nothing.", (), 2, (PastTurn(2, "Nothing.", "look"),), False, "0.3"),
)
