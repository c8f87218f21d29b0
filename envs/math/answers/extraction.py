r"""Finding the answer in a response. Two named policies, both linear in the length of the response.

``boxed`` is the protocol of the papers: the content of the last balanced ``\boxed{...}`` (or ``\fbox{...}``) and
nothing else. ``final`` also takes, in this order, several boxes that stand together, a stated final answer,
a stated answer, and the last mathematics or number of the text.
"""

import re
from enum import StrEnum
from typing import NamedTuple


class Policy(StrEnum):
    """Where an answer may stand."""

    BOXED = "boxed"
    FINAL = "final"


class Box(NamedTuple):
    """The content of a box, and where the whole box starts and ends in the text."""

    content: str
    start: int
    end: int


MAX_CHARACTERS = 2_000_000
TAIL = 20_000
"""Without a box, only so many last characters are searched for a stated answer."""

_BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])\s{0,20}(?P<brace>\{)?")
_MARK = re.compile(
    r"(?P<box>\\(?:boxed|fbox)(?![a-zA-Z])\s{0,20}(?:(?P<brace>\{)|(?P<bare>[^\s{}\\$,.]{1,40})|))|\\[{}]|[{}]"
)
_THINK_END = "</think>"
_THINK_START = "<think>"
_BOXES_TOGETHER = 10
_BOXES_JOINED = 70
_JOINT = re.compile(r"\b(?:and|or)\b|,|;")
_RETRACTION = re.compile(r"(?i)\b(?:no|not|wait|actually|but|instead|rather|correct|corrected|mistake|sorry|oops)\b")

_FINAL_ANSWER = re.compile(r"(?i)\bfinal answer\b[*\s]{0,4}(?::|is\b|=)?[*\s:]{0,6}(?:\\?\")?")
_ANSWER = re.compile(
    r"(?i)\b(?:answer|result|solution)\b[^.\n$\\=:]{0,60}?(?:\bis\b|\bare\b|=|:)[*\s:]{0,6}|\banswer\b[*\s:]{0,6}(?=\$|\\[(\[])"
)
_MATHEMATICS = re.compile(
    r"(?<!\\)\$\$(?P<display>[^$]{1,4000})(?<!\\)\$\$"
    r"|(?<![\\\d$])\$(?P<inline>(?:\\\$|[^$\n]){1,2000})(?<!\\)\$(?!\d)"
    r"|\\\[(?P<bracket>(?:[^\\]|\\(?!\]|\[)){1,4000})\\\]"
    r"|\\\((?P<parenthesis>(?:[^\\\n]|\\(?!\)|\()){1,2000})\\\)"
)
_DELIMITED = re.compile(r"\$[^$]{1,2000}\$|\\\([^)]{1,2000}\\\)")
_NUMBER = re.compile(
    r"(?<![\w.,^_\\{])(?P<number>[$€£¥]?-?(?:\d{1,3}(?:,\d{3}){1,9}(?:\.\d{1,20})?|\d{1,40}[.,]\d{1,20}|\.\d{1,20}|\d{1,40})"
    r"(?:\s?/\s?\d{1,20})?)(?P<percent>\s?(?:\\?%|percent\b|pct\b))?(?![\d^_{])"
)
_SENTENCE_END = re.compile(r"\.(?=\s|$)|\n|<\||\bI hope\b|\"|\\n")
_LAST_CLAUSE = re.compile(r"(?i).*(?:\bis\b|\bare\b|=(?!=))\s*(?P<rest>.+)", re.DOTALL)
_LABEL = re.compile(r"[*_`#\s]{1,6}$|^[*_`#\s:]{1,6}")


def find_answer(response: str, policy: Policy) -> str | None:
    """Finds the answer of a response.

    Reasoning between ``<think>`` and ``</think>`` does not count; if it was not closed there is no answer.

    Returns:
        The text of the answer as it was written, or None if the policy finds none.
    """
    if len(response) > MAX_CHARACTERS:
        return None
    text = after_reasoning(response)
    if text is None:
        return None
    if policy is Policy.BOXED:
        last = last_box(text)
        return last.content if last else None
    return _final(text)


def find_gold(gold: str) -> str:
    """The answer that a gold states: the joined boxes of a worked solution, else the mathematics, else all of it."""
    boxes = joined_boxes(gold)
    if boxes:
        return ", ".join(box.content for box in boxes)
    opened = _BOX.search(gold)
    if opened and opened["brace"]:
        return gold[opened.end("brace") :]
    if len(gold) > 300 and (found := _final(gold)) is not None:
        return found
    return gold


def after_reasoning(response: str) -> str | None:
    """What follows the last ``</think>``; None if a ``<think>`` was never closed."""
    _, closed, rest = response.rpartition(_THINK_END)
    return None if _THINK_START in rest else rest if closed else response


def boxes(text: str) -> list[Box]:
    """The balanced boxes of a text in the order in which they start, also those inside another."""
    found: list[Box] = []
    open_braces: list[tuple[int, int] | None] = []
    for mark in _MARK.finditer(text):
        if mark["box"]:
            if mark["bare"]:
                found.append(Box(mark["bare"], mark.start(), mark.end()))
            elif mark["brace"]:
                open_braces.append((mark.start(), mark.end()))
        elif mark[0] == "{":
            open_braces.append(None)
        elif mark[0] == "}" and open_braces:
            opened = open_braces.pop()
            if opened is not None:
                found.append(Box(text[opened[1] : mark.start()].strip(), opened[0], mark.end()))
    return sorted(found, key=lambda box: box.start)


def last_box(text: str) -> Box | None:
    r"""The last balanced box with something in it: ``\boxed{}`` in a repeated instruction is no answer."""
    return next((box for box in reversed(boxes(text)) if box.content), None)


def joined_boxes(text: str) -> list[Box]:
    """The last box and those before it that belong to the same answer: close by, or joined by ``and`` or a comma."""
    found: list[Box] = []
    for box in boxes(text):
        # Of boxes inside one another, the outermost is the answer.
        if box.content and (not found or box.start >= found[-1].end):
            found.append(box)
    joined = found[-1:]
    for box in reversed(found[:-1]):
        between = text[box.end : joined[0].start]
        repeats = box.content == joined[0].content
        near = len(between) < _BOXES_TOGETHER
        listed = len(between) < _BOXES_JOINED and not repeats and _JOINT.search(between)
        if not (near or listed) or _RETRACTION.search(between):
            break
        if box.content != joined[0].content:
            joined.insert(0, box)
        else:
            joined[0] = Box(joined[0].content, box.start, joined[0].end)
    return joined


def _final(text: str) -> str | None:
    joined = joined_boxes(text) if "\\boxed" in text or "\\fbox" in text else []
    tail_start = max(0, len(text) - TAIL)
    tail = text[tail_start:]
    stated = _last(_FINAL_ANSWER, tail)
    if stated is not None and (not joined or tail_start + stated.end() > joined[-1].end):
        answer = _stated(tail[stated.end() :])
        if answer:
            return answer
    if joined:
        return ", ".join(box.content for box in joined)
    if _is_bare(text):
        return text.strip()
    stated = _last(_ANSWER, tail)
    if stated is not None:
        answer = _stated(tail[stated.end() :])
        if answer:
            return answer
    return _last_mathematics(tail)


def _is_bare(text: str) -> bool:
    """Whether the whole response is the answer: short, one line, no words."""
    text = text.strip()
    return (
        0 < len(text) <= 80 and "\n" not in text and not re.search(r"(?<!\\)\b[a-zA-Z]{3,}\b(?!\()|[a-z]\s+[a-z]", text)
    )


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = None
    for match in pattern.finditer(text):
        last = match
    return last


def _stated(text: str) -> str | None:
    """The answer in what follows ``the answer is``: leading mathematics, or the end of the sentence."""
    text = text[:2_000]
    begins = _MATHEMATICS.match(text)
    if begins:
        return _joined_mathematics(text, begins)
    ends = _SENTENCE_END.search(text)
    sentence = text[: ends.start()] if ends else text
    clause = _LAST_CLAUSE.fullmatch(sentence)
    rest = _LABEL.sub("", clause["rest"] if clause else sentence).strip()
    begins = _MATHEMATICS.match(rest)
    if begins:
        return _joined_mathematics(rest, begins)
    if len(rest) <= 40 and not (" " in rest and re.search(r"[a-z]{3,} .*\d", rest)):
        return rest or None
    return _last_mathematics(sentence)


def _joined_mathematics(text: str, first: re.Match[str]) -> str:
    """``$1$, $2$ and $3$`` is one answer; so is ``$28$ percent``."""
    parts = [_inside(first)]
    position = first.end()
    while (joint := re.compile(r"\s?(?:,\s?(?:and|or)?|and|or)\s?").match(text, position)) is not None:
        following = _MATHEMATICS.match(text, joint.end())
        if following is None:
            break
        parts.append(_inside(following))
        position = following.end()
    percent = re.compile(r"\s?(?:\\?%|percent\b|pct\b|percentage\b)").match(text, position)
    return ", ".join(parts) + (r"\%" if percent else "")


def _last_mathematics(text: str) -> str | None:
    """The last mathematics between delimiters or the last bare number, whichever stands later."""
    spans = list(_MATHEMATICS.finditer(text))
    covered = [(span.start(), span.end()) for span in _DELIMITED.finditer(text)]
    covered += [(span.start(), span.end()) for span in spans]
    number = None
    for match in _NUMBER.finditer(text):
        if not any(start <= match.start() < end for start, end in covered[-400:]):
            number = match
    if spans and (number is None or spans[-1].end() > number.start()):
        first = len(spans) - 1
        while first > 0 and re.fullmatch(
            r"\s?(?:,\s?(?:and|or)?|and|or)\s?", text[spans[first - 1].end() : spans[first].start()]
        ):
            first -= 1
        return _joined_mathematics(text, spans[first])
    if number is not None:
        return number["number"].lstrip("$€£¥") + (r"\%" if number["percent"] else "")
    return None


def _inside(match: re.Match[str]) -> str:
    return next(value for value in match.groups() if value is not None).strip()
