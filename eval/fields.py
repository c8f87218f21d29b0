"""Reads the fields of a JSON object and says what is wrong with them."""

from collections.abc import Mapping
from typing import TypeVar

ValueT = TypeVar("ValueT")


class EpisodeFormatError(ValueError):
    """A line that is not an episode of this form; the message says what is wrong with it."""


def field_of(record: Mapping[str, object], key: str, kind: type[ValueT]) -> ValueT:
    """A field of a given type.

    Raises:
        EpisodeFormatError: If it is something else or missing.
    """
    if key not in record:
        raise EpisodeFormatError(f"the field {key!r} is missing")
    value = record[key]
    # bool is a kind of int in Python, but true is not a count.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise EpisodeFormatError(f"the field {key!r} is {value!r:.60}, which is not a {kind.__name__}")
    return value


def count_of(record: Mapping[str, object], key: str) -> int:
    """A whole number that is not negative.

    Raises:
        EpisodeFormatError: If it is something else or missing.
    """
    value = field_of(record, key, int)
    if value < 0:
        raise EpisodeFormatError(f"the field {key!r} is {value}, which is negative")
    return value


def number_of(record: Mapping[str, object], key: str) -> float:
    """A number, written with or without a point.

    Raises:
        EpisodeFormatError: If it is something else or missing.
    """
    value = record.get(key)
    return float(value) if type(value) is int else field_of(record, key, float)


def share_of(record: Mapping[str, object], key: str) -> float:
    """A number between 0 and 1.

    Raises:
        EpisodeFormatError: If it is something else or missing.
    """
    value = number_of(record, key)
    if not 0.0 <= value <= 1.0:
        raise EpisodeFormatError(f"the field {key!r} is {value}, which is not between 0 and 1")
    return value


def values_of(record: Mapping[str, object], key: str, kind: type[ValueT]) -> tuple[ValueT, ...] | None:
    """A list of values of one type, or None where the field is missing.

    Raises:
        EpisodeFormatError: If it is something else.
    """
    if key not in record:
        return None
    values = field_of(record, key, list)
    if not all(isinstance(value, kind) for value in values):
        raise EpisodeFormatError(f"the field {key!r} holds something that is not a {kind.__name__}")
    return tuple(values)
