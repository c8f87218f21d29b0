"""What an answer is made of: numbers, formulas, words, lists, tuples, intervals and named values."""

from dataclasses import dataclass, field
from enum import Enum

from .plain import Number


class Unreadable(Exception):
    """A text that cannot be read as an answer; the message says why."""


class Unit(Enum):
    """What a sign behind a number means for its value."""

    NONE = ""
    PERCENT = "percent"
    DEGREE = "degree"


@dataclass(frozen=True, slots=True)
class Formula:
    """A number or expression.

    Attributes:
        latex: The tidied text without its unit.
        number: Its value when it is a plain number, else None.
        sign: A percent or degree sign that stood behind it.
        unit: Any other unit, as ``unit_name`` writes it; empty when there was none.
    """

    latex: str
    number: Number | None = None
    sign: Unit = Unit.NONE
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    r"""Text: a name, ``no solution``, the letter of a choice.

    Attributes:
        text: Lower-case words with single blanks, without punctuation.
        marked: Whether it was written as text (``\text{...}``), so that it cannot be a product of variables.
        latex: The tidied text.
    """

    text: str
    marked: bool
    latex: str


@dataclass(frozen=True, slots=True)
class Items:
    r"""Several answers together.

    Attributes:
        members: The parts in the order of writing.
        opening: ``(``, ``[``, ``\{`` or ``\langle``; ``matrix`` for the rows of a matrix, ``&`` for one row;
            ``\pm`` for two signs; empty for a bare list ``1, 2``.
        closing: What closes it.
        decimal: The number that a bare ``1,5`` is where a comma is the decimal point, else None.
        latex: The tidied text, for a matrix only.
    """

    members: tuple["Answer", ...]
    opening: str = ""
    closing: str = ""
    decimal: Number | None = None
    latex: str = ""

    @property
    def ordered(self) -> bool:
        """Whether the order of the members matters: it does in tuples and intervals."""
        return self.opening in ("(", "[", r"\langle", "matrix", "&")

    @property
    def interval(self) -> bool:
        """Whether it can be read as an interval."""
        return len(self.members) == 2 and self.opening in ("(", "[")

    @property
    def vector(self) -> tuple["Answer", ...] | None:
        """The entries, if it is a matrix of one row or one column."""
        if self.opening != "matrix":
            return None
        rows = [row.members for row in self.members if isinstance(row, Items)]
        if len(rows) == 1:
            return rows[0]
        return tuple(row[0] for row in rows) if all(len(row) == 1 for row in rows) else None


@dataclass(frozen=True, slots=True)
class Named:
    r"""A value with the name that it was given: ``x = 3``, ``f(x) = x^2``, ``x \in [0, 1]``.

    Attributes:
        name: The squashed left side.
        value: The right side.
    """

    name: str
    value: "Answer"


@dataclass(frozen=True, slots=True)
class Relation:
    """An equation, an inequality or a union of sets that has no simpler form.

    Attributes:
        latex: The tidied text.
        sides: Left and right side of an equation; empty for the rest.
    """

    latex: str
    sides: tuple[str, ...] = field(default=())


Answer = Formula | Words | Items | Named | Relation
