"""Reading an answer: from text to numbers, formulas, words, lists, tuples, intervals and named values."""

import re

from .brackets import enclosed, split, tokens
from .names import name_of
from .plain import Number, read_number
from .structure import Answer, Formula, Items, Named, Relation, Unit, Unreadable, Words
from .tidy import MAX_CHARACTERS, tidy
from .units import take_unit

_AND_OR = re.compile(
    r",?\s?\\text\s?\{\s?,?\s?(?:and|or)\s?\}|,?(?:(?<=[\d)}\]\s])|(?<=\d))\b(?:and|or)\b(?=[\s\d(\\{-]|[a-zA-Z]\w?\s?[=(])"
    r"|,?(?<=[\d)}\]])(?:and|or)(?=[\d(\\-]|[a-zA-Z]\s?[=(])"
)
_TEXT = re.compile(r"\\text\s?\{(?P<inside>[^{}]*)\}")
_TEXT_COMMAND = re.compile(r"\\text\s?\{([^{}]*)\}")
_RELATION = re.compile(r"\\(?:le|ge|ne|in|notin|approx|equiv|cup|cap|setminus|subset|subseteq)(?![a-zA-Z])|[<>=]")
_EQUALS = frozenset({"="})
_ORDER = {"<": (False, True), r"\le": (True, True), ">": (False, False), r"\ge": (True, False)}
_SET_OPERATIONS = frozenset({r"\cup", r"\cap", r"\setminus"})
_CHOICE = re.compile(r"\(?\s?(?P<letter>[A-Z])\s?(?:\)|[.:](?=\s|$))?")
_CHOICE_WITH_VALUE = re.compile(r"(?:\\text\s?\{)?\s?\((?P<letter>[A-H])\)\s?\}?\s?(?P<value>.+)")
_BARE_WORDS = re.compile(r"[a-zA-Z][a-zA-Z' -]*[a-zA-Z]\.?")
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d\s?[ap]\.?\s?m\.?", re.IGNORECASE)
_PROSE = re.compile(r"(?<![\\a-zA-Z{])[a-z]{4,}(?![a-zA-Z}])")
_DECIMAL_COMMA = re.compile(r"-?\d{1,9},(?:\d\d|\d{4,9})|-?0,\d{2,9}")
_TIGHT_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ONE_GROUPED = re.compile(
    r"(?P<before>|[^,;]{0,200}[=\s<>+-])(?P<number>[1-9]\d{0,2}(?:,\d{3}){1,9})(?P<after>(?:[^,;\d][^,;]{0,200})?)"
)
_TWO_NUMBERS = re.compile(r"(?<![\\\w])\d[\d.]*\s+\d")
_PLUS_MINUS = re.compile(r"\\pm(?![a-zA-Z])|\\mp(?![a-zA-Z])|\+/-")
_SENTENCE = re.compile(r"(?<![\\a-zA-Z{])(?:where|with|such that|is an?|are|for all|if and only)(?![a-zA-Z}])")
_LETTER_BEFORE_INTERVAL = re.compile(r"(?P<name>[a-zA-Z])\s?(?P<interval>\([^()\[\]]+\]|\[[^()\[\]]+\))")
_MATRIX = re.compile(r"\\begin\s?\{(?:[pbB]?matrix|smallmatrix|array)\}")
_COLUMNS = re.compile(r"^\{[clr| ]{1,40}\}\s?|\\hline")
_VARIABLES = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]|\\(?:alpha|beta|gamma|theta|lambda|mu|omega|phi)")
_MATHEMATICAL_WORDS = frozenset(
    "sin cos tan cot sec csc log ln exp sqrt pi infinity infty inf arcsin arccos arctan max min frac".split()  # noqa: SIM905
)
MAX_MEMBERS = 200


def read_answer(text: str) -> Answer:
    """Reads an answer.

    Raises:
        Unreadable: If it is empty, too long, or its brackets do not match.
    """
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"the answer has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read")
    tidied = tidy(text)
    if not tidied:
        raise Unreadable("the answer is empty")
    return _read(tidied, 0)


def _read(text: str, depth: int) -> Answer:
    if depth > 12:
        raise Unreadable("the answer is nested too deeply")
    if not text:
        raise Unreadable("a part of the answer is empty")
    number = read_number(text)
    if number is not None:
        return Formula(text, number)
    if depth == 0 and _SENTENCE.search(text):
        return Words(_plain_words(_TEXT_COMMAND.sub(r" \1 ", text)), False, text)
    return (
        _as_words(text)
        or _as_list(text, depth)
        or _as_relation(text, depth)
        or _as_bracketed(text, depth)
        or _as_formula(text, depth)
    )


def _as_words(text: str) -> Words | None:
    choice = _CHOICE.fullmatch(text)
    if choice:
        return Words(choice["letter"].lower(), "(" in text, text)
    valued = _CHOICE_WITH_VALUE.fullmatch(text)
    if valued and not _RELATION.search(valued["value"]) and text.startswith((r"\text", "(")) and "," not in text:
        return Words(valued["letter"].lower(), True, text) if r"\text" in text else None
    marked = _TEXT.fullmatch(text)
    if marked and not re.fullmatch(r"[\s\d.,/+()-]*", marked["inside"]):
        return None if "," in marked["inside"] else Words(_plain_words(marked["inside"]), True, text)
    if _TIME_OF_DAY.fullmatch(text):
        return Words(_plain_words(text), True, text)
    if (
        _PROSE.search(text)
        and take_unit(text).text == text
        and not _RELATION.search(text)
        and not _MATHEMATICAL_WORDS & set(_PROSE.findall(text))
    ):
        return Words(_plain_words(_TEXT_COMMAND.sub(r" \1 ", text)), False, text) if "," not in text else None
    if _BARE_WORDS.fullmatch(text) and not _MATHEMATICAL_WORDS & set(text.lower().split()):
        longest = max(map(len, re.findall(r"[a-zA-Z]+", text)))
        return Words(_plain_words(text), False, text) if longest > 1 else None
    if re.fullmatch(r"(?:\\text\s?\{[^{}]*\}|[a-zA-Z .,'-])+", text) and r"\text" in text and "," not in text:
        return Words(_plain_words(_TEXT_COMMAND.sub(r" \1 ", text)), True, text)
    return None


def _plain_words(text: str) -> str:
    text = re.sub(r"[^\w:+-]+", " ", re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", text.lower())).strip()
    return re.sub(r"^(?:the|an|a) (?=\w\w)", "", text)


def _as_list(text: str, depth: int) -> Answer | None:
    r"""Reads ``1, 2``, ``x = 1 or x = 2``, ``1; 2`` and ``\pm 2``."""
    if marked := _TEXT.fullmatch(text):
        text = marked["inside"].strip()
    decimal = _decimal_comma(text)
    grouped = _ONE_GROUPED.fullmatch(text)
    if grouped and all(grouped["before"].count(a) == grouped["before"].count(b) for a, b in ("()", "[]", "{}")):
        return _read(grouped["before"] + grouped["number"].replace(",", "") + grouped["after"], depth + 1)
    text = _AND_OR.sub(" , ", text)
    separators = frozenset({";"}) if ";" in text else frozenset({","})
    if ", " in text and separators == {","} and not text.startswith(("(", "[")):
        text = _TIGHT_THOUSANDS.sub("", text)
    parts = split(text, separators)
    if len(parts) == 1 and separators == {";"}:
        parts = split(text, frozenset({","}))
    if len(parts) > MAX_MEMBERS:
        raise Unreadable(f"the answer lists more than {MAX_MEMBERS} things")
    if len(parts) > 1 or marked:
        parts = [part for part in parts if part] if len(parts) > 1 else parts
        return (
            _list_of([_read(part, depth + 1) for part in parts], decimal)
            if parts != [text] or not marked
            else _read(text, depth + 1)
        )
    return None


def _list_of(members: list[Answer], decimal: Number | None) -> Answer:
    r"""Makes a list, in which a member that is a list without brackets (from ``1 \pm 2``) dissolves."""
    if len(members) == 1:
        return members[0]
    flat: list[Answer] = []
    for member in members:
        value = member.value if isinstance(member, Named) else member
        if isinstance(value, Items) and value.opening == r"\pm":
            flat.extend(Named(member.name, one) if isinstance(member, Named) else one for one in value.members)
        else:
            flat.append(member)
    return Items(tuple(flat), decimal=decimal)


def _decimal_comma(text: str) -> Number | None:
    match = _DECIMAL_COMMA.fullmatch(text)
    return read_number(text.replace(",", ".")) if match else None


def _as_relation(text: str, depth: int) -> Answer | None:
    """Reads ``name = value``, an equation, an inequality or a union of sets."""
    if not _RELATION.search(text):
        return None
    found = [token for token in tokens(text) if token.depth == 0 and _RELATION.fullmatch(token.text)]
    if not found:
        return None
    signs = [token.text for token in found]
    sides = split(text, frozenset(signs))
    if not all(sides):
        raise Unreadable("one side of a relation is empty")
    if r"\approx" in signs:
        return _read(_before_approximation(text, signs, sides), depth + 1)
    name = name_of(sides[0])
    if signs[0] in ("=", r"\in") and name:
        rest = text[found[0].start + len(found[0].text) :].strip()
        if set(signs) == {"="}:
            return _named(name, _read(sides[-1], depth + 1))
        if not {"=", r"\in"} & set(signs[1:]):
            return _named(name, _read(rest, depth + 1))
    if set(signs) == _EQUALS:
        if len(sides) == 2 and _VARIABLES.search(text):
            return Relation(text, (sides[0], sides[1]))
        return _read(sides[-1], depth + 1)
    return _as_interval(signs, sides, depth) or Relation(text)


def _named(name: str, value: Answer) -> Named:
    """Nests no names: ``x = y = 3`` is the value 3 of x."""
    return Named(name, value.value if isinstance(value, Named) else value)


def _before_approximation(text: str, signs: list[str], sides: list[str]) -> str:
    r"""The exact part: ``x = 1/3`` of ``x = 1/3 \approx 0.33``; of ``x \approx 11`` both sides, as if equal."""
    at = signs.index(r"\approx")
    if at == 0 and name_of(sides[0]):
        return text.replace(r"\approx", "=", 1)
    return text[: text.index(r"\approx")].strip()


def _as_interval(signs: list[str], sides: list[str], depth: int) -> Named | None:
    r"""Reads ``-2 \le x < 7`` and ``x > 5`` as intervals of x."""
    if any(sign not in _ORDER for sign in signs) or len({_ORDER[sign][1] for sign in signs}) > 1:
        return None
    rising = _ORDER[signs[0]][1]
    closed = [_ORDER[sign][0] for sign in signs]
    if not rising:
        sides, closed = sides[::-1], closed[::-1]
    infinity = Formula(r"\infty"), Formula(r"-\infty")
    if len(sides) == 3 and (name := name_of(sides[1])) and not name_of(sides[0]) and not name_of(sides[2]):
        ends = _read(sides[0], depth + 1), _read(sides[2], depth + 1)
        return Named(name, Items(ends, "[" if closed[0] else "(", "]" if closed[1] else ")"))
    if len(sides) == 2 and (name := name_of(sides[0])) and not name_of(sides[1]):
        return Named(name, Items((infinity[1], _read(sides[1], depth + 1)), "(", "]" if closed[0] else ")"))
    if len(sides) == 2 and (name := name_of(sides[1])) and not name_of(sides[0]):
        return Named(name, Items((_read(sides[0], depth + 1), infinity[0]), "[" if closed[0] else "(", ")"))
    return None


def _as_bracketed(text: str, depth: int) -> Answer | None:
    """Reads a tuple, an interval, a set, or what stands in brackets that change nothing."""
    lettered = _LETTER_BEFORE_INTERVAL.fullmatch(text)
    if lettered:
        return _named(lettered["name"], _read(lettered["interval"], depth + 1))
    pair = enclosed(text)
    if pair is None:
        return None
    opening, inside, closing = pair
    if opening.startswith(r"\begin"):
        return _as_matrix(text, opening, inside, depth)
    if opening in (r"\lfloor", r"\lceil"):
        return None
    if not inside:
        raise Unreadable("there is nothing between the brackets")
    if opening == "{":
        return _read(inside, depth + 1)
    parts = split(inside, frozenset({";"}))
    if len(parts) == 1:
        parts = split(inside, frozenset({","}))
    if opening == r"\{" and len(parts) == 1 and (r"\mid" in inside or "|" in inside or ":" in inside):
        return Relation(text)
    if len(parts) == 1 and opening != r"\{":
        return _read(inside, depth + 1)
    if len(parts) > MAX_MEMBERS:
        raise Unreadable(f"the answer lists more than {MAX_MEMBERS} things")
    members = [_read(part, depth + 1) for part in parts]
    if opening == r"\{":
        listed = _list_of(members, None)
        members = list(listed.members) if isinstance(listed, Items) and not listed.opening else [listed]
    return Items(tuple(members), opening, closing)


def _as_matrix(text: str, opening: str, inside: str, depth: int) -> Items | None:
    """Reads a matrix cell by cell, so that all that holds for an answer holds for its entries."""
    if not _MATRIX.fullmatch(opening):
        return None
    inside = _COLUMNS.sub("", inside)
    rows = [row for row in split(inside, frozenset({"\\\\"})) if row]
    if not rows or len(rows) > MAX_MEMBERS:
        raise Unreadable("a matrix has no rows, or too many")
    members = []
    for row in rows:
        cells = split(row, frozenset({"&"}))
        members.append(Items(tuple(_read(cell, depth + 1) for cell in cells), "&"))
    return Items(tuple(members), "matrix", latex=text)


def _as_formula(text: str, depth: int) -> Answer:
    quantity = take_unit(text)
    if quantity.text != text and quantity.sign is Unit.NONE:
        inner = _read(quantity.text, depth + 1)
        if isinstance(inner, Formula):
            return Formula(inner.latex, inner.number, inner.sign, quantity.unit)
        return inner
    if quantity.sign is not Unit.NONE and not re.search(r"\\(?:sin|cos|tan|cot|sec|csc)", quantity.text):
        return Formula(quantity.text, read_number(quantity.text), quantity.sign)
    if _PLUS_MINUS.search(text):
        return _both_signs(text, depth)
    if _TWO_NUMBERS.search(re.sub(r"\\[a-z]+\s?\d\s\d", "", text)):
        raise Unreadable("two numbers stand side by side")
    list(tokens(text))
    return Formula(text)


def _both_signs(text: str, depth: int) -> Answer:
    r"""Reads ``1 \pm \sqrt{2}`` as two answers; several such signs go together."""
    plus = text.replace("+/-", r"\pm").replace(r"\pm", "+").replace(r"\mp", "-")
    minus = text.replace("+/-", r"\pm").replace(r"\pm", "-").replace(r"\mp", "+")
    members = tuple(_read(one.removeprefix("+").strip(), depth + 1) for one in (plus, minus))
    return Items(members, r"\pm")
