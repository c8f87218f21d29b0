"""A number that may be undefined, and then says why."""

import math
from typing import NamedTuple


class Value(NamedTuple):
    """A number, or NaN with the cause why it is undefined."""

    value: float
    cause: str = ""

    @classmethod
    def undefined(cls, cause: str) -> "Value":
        """NaN, and why."""
        return cls(math.nan, cause)

    @property
    def defined(self) -> bool:
        """Whether there is a number."""
        return not self.cause


def ratio(part: float, whole: float, cause: str) -> Value:
    """``part / whole``, undefined for the given cause where ``whole`` is 0."""
    return Value(part / whole) if whole else Value.undefined(cause)
