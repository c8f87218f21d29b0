r"""From a model's reply to a command, by exact rules.

A reply is never repaired. What a rule does not find is not there: the reply is unparsable, nothing sensible is sent
to the environment, and the step is lost. A command that the environment does not know is sent as it is.

First, for every rule, the thinking is cut away: everything up to the last ``</think>``. A reply whose thinking never
ends has nothing behind it. The thinking begins with ``<think>`` in the reply, or at its very start where the chat
template has put ``<think>`` at the end of the prompt, as those of some models that think do. Then the rule of the
prompt applies:

``tags``
    The text between the first ``<action>`` and the next ``</action>``. An ``<action>`` that is never closed does not
    count, so a reply that was cut inside it is unparsable.
``line``
    The rest of the first line that begins with ``Action:``. If the reply was cut by its token limit at the end of
    that very line the command may lack its end, so it does not count.
``whole``
    All of it, for environments that take free text. It keeps its letters as they are.
``choice``
    The number of one of the admissible commands, counted from 1 in the order of the environment: ``7`` or ``#7``, and
    nothing else but blanks around it. A reply that was cut by its token limit may lack digits, so it does not count.

With ``tags`` and ``line`` the command is then stripped of blanks at both ends and put into small letters, as all
commands of the games are. Nothing else is changed: quotes, code marks and full stops stay.

Tags and ``Action:`` are known in capital or small letters.
"""

import difflib
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple


class Rule(StrEnum):
    """How a prompt wants the command to be marked."""

    TAGS = "tags"
    LINE = "line"
    WHOLE = "whole"
    CHOICE = "choice"


class Remark(StrEnum):
    """What is to be said about a reply. The first six make it unparsable, the others are only recorded."""

    EMPTY = "empty"
    """There is nothing but blanks, or the command is."""

    ENDLESS_THINKING = "endless_thinking"
    """The thinking begins and never ends."""

    NO_ACTION = "no_action"
    """There is no mark of a command."""

    UNCLOSED_ACTION = "unclosed_action"
    """The tag of the command is never closed."""

    CUT_ACTION = "cut_action"
    """The reply was cut at the end of the command."""

    NO_SUCH_CHOICE = "no_such_choice"
    """There are not so many commands, or the number is 0."""

    SEVERAL_ACTIONS = "several_actions"
    """There are further commands, and not all are the same; the first counts."""

    NO_THINKING = "no_thinking"
    """There is no ``<think>`` with its ``</think>``."""

    CHINESE = "chinese"
    """There is a Chinese character."""


class Parsed(NamedTuple):
    """What a reply says.

    Attributes:
        command: The command, or None if the reply is unparsable.
        remarks: What is to be said about the reply.
    """

    command: str | None
    remarks: tuple[Remark, ...]


_THINK_OPEN = re.compile(r"<think>", re.IGNORECASE)
_THINK_CLOSE = re.compile(r"</think>", re.IGNORECASE)
_TAG_OPEN = re.compile(r"<action>", re.IGNORECASE)
_TAG_CLOSE = re.compile(r"</action>", re.IGNORECASE)
_LINE = re.compile(r"^[ \t]*action:(.*)$", re.IGNORECASE | re.MULTILINE)
# As many digits as no list has, so that a number cannot be too long to read.
_CHOICE = re.compile(r"#?([0-9]{1,6})", re.ASCII)
_LEAST_LIKENESS = 0.6
# No command of the games is nearly as long, and likeness takes time with the square of the length.
_LONGEST_COMMAND = 200
_CHINESE = re.compile("[\u4e00-\u9fff]")


def parse_reply(
    reply: str, rule: Rule, cut: bool = False, commands: Sequence[str] = (), *, thinking_open: bool = False
) -> Parsed:
    """Finds the command in a reply; the rules are at the top of this module.

    Args:
        reply: All that the model said.
        rule: How the prompt wants the command to be marked.
        cut: Whether the reply ended at its token limit.
        commands: The admissible commands, in the order of the environment; only ``choice`` needs them.
        thinking_open: Whether the prompt ended with an open ``<think>``, so that the reply begins within the thinking.
    """
    remarks = _style_remarks(reply, thinking_open)
    *thinking, rest = _THINK_CLOSE.split(reply)
    if not thinking and (thinking_open or _THINK_OPEN.search(rest)):
        return Parsed(None, (Remark.ENDLESS_THINKING, *remarks))
    if not rest.strip():
        return Parsed(None, (Remark.EMPTY, *remarks))
    match rule:
        case Rule.WHOLE:
            return Parsed(rest.strip(), remarks)
        case Rule.CHOICE:
            chosen = _chosen(rest.strip(), cut, commands)
            return Parsed(None, (chosen, *remarks)) if isinstance(chosen, Remark) else Parsed(chosen, remarks)
        case Rule.TAGS:
            found = _tagged(rest)
            missing = Remark.UNCLOSED_ACTION if _TAG_OPEN.search(rest) else Remark.NO_ACTION
        case Rule.LINE:
            lines = list(_LINE.finditer(rest))
            found, missing = [line[1] for line in lines], Remark.NO_ACTION
            if cut and lines and lines[0].end() == len(rest):
                found, missing = [], Remark.CUT_ACTION
    texts = [text.strip().lower() for text in found]
    if not texts:
        return Parsed(None, (missing, *remarks))
    if not texts[0]:
        return Parsed(None, (Remark.EMPTY, *remarks))
    if len(set(texts)) > 1:
        remarks = (Remark.SEVERAL_ACTIONS, *remarks)
    return Parsed(texts[0], remarks)


def _chosen(text: str, cut: bool, commands: Sequence[str]) -> "str | Remark":
    """The command with this number, or why there is none."""
    found = _CHOICE.fullmatch(text)
    if found is None:
        return Remark.NO_ACTION
    if cut:
        return Remark.CUT_ACTION
    number = int(found[1])
    return commands[number - 1] if 1 <= number <= len(commands) else Remark.NO_SUCH_CHOICE


def _tagged(text: str) -> list[str]:
    """What stands between tags. Each tag is looked for from where the last one ended, so the time is linear."""
    found: list[str] = []
    end = 0
    while (opening := _TAG_OPEN.search(text, end)) and (closing := _TAG_CLOSE.search(text, opening.end())):
        found.append(text[opening.end() : closing.start()])
        end = closing.end()
    return found


def nearest_command(command: str, commands: Sequence[str]) -> str | None:
    """The admissible command that is most like another text, or None if none is alike at all.

    Likeness is that of ``difflib``; of several equally alike commands the first in order is taken.
    """
    if len(command) > _LONGEST_COMMAND:
        return None
    likeness = difflib.SequenceMatcher(b=command)
    best, best_ratio = None, _LEAST_LIKENESS
    for candidate in commands:
        likeness.set_seq1(candidate)
        if likeness.ratio() > best_ratio:
            best, best_ratio = candidate, likeness.ratio()
    return best


def _style_remarks(reply: str, thinking_open: bool) -> tuple[Remark, ...]:
    remarks = []
    if not ((thinking_open or _THINK_OPEN.search(reply)) and _THINK_CLOSE.search(reply)):
        remarks.append(Remark.NO_THINKING)
    if _CHINESE.search(reply):
        remarks.append(Remark.CHINESE)
    return tuple(remarks)
