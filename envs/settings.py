"""Typed settings: frozen dataclasses filled from TOML files, dotted overrides and options.

A settings class is a standard-library dataclass. Values come in layers, each with the place they come from;
a later layer wins. Types and ranges are checked by pydantic, strictly: ``"3"`` is not a number. A key that
the class does not have is an error which names the nearest key that it has. A group of alternatives is a
union of dataclasses that each have ``name: Literal["..."]``; the value of ``name`` picks one.
"""

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from enum import Enum
from pathlib import Path
from typing import NamedTuple, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from .errors import ConfigError, nearest
from .files import read_file

SettingsT = TypeVar("SettingsT")


class Layer(NamedTuple):
    """Nested values and where they come from, as error messages name it: a file, ``--set``, an option."""

    origin: str
    values: Mapping[str, object]


class Difference(NamedTuple):
    """A setting on which two settings records disagree."""

    key: str
    first: object
    second: object


def file_layer(path: Path) -> Layer:
    """Reads a TOML file.

    Raises:
        ConfigError: If the file cannot be read or is not TOML.
    """
    try:
        return Layer(str(path), tomllib.loads(read_file(path).decode("utf-8-sig")))
    except FileNotFoundError:
        raise ConfigError(f"there is no config file {path}") from None
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"the config file {path} is not UTF-8 text") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"the config file {path} is not valid TOML: {error}") from None


def assignment_layer(assignments: Sequence[str], origin: str = "--set") -> Layer:
    """Reads dotted overrides such as ``agent.temperature=0.4``.

    The value is read as TOML (``3``, ``true``, ``"text"``, ``[1, 2]``); what is not TOML is taken as text, so
    quotes are only needed for text that looks like a number or a truth value.

    Raises:
        ConfigError: If an override has no ``=``, an empty key, or contradicts an earlier one.
    """
    values: dict[str, object] = {}
    for assignment in assignments:
        dotted, equals, text = assignment.partition("=")
        *groups, last = (part.strip() for part in dotted.split("."))
        if not equals or not last or not all(groups):
            raise ConfigError(f"cannot read the override {assignment!r}: write it as key=value or group.key=value")
        inner = values
        for group in groups:
            nested = inner.setdefault(group, {})
            if not isinstance(nested, dict):
                raise ConfigError(f"the override {assignment!r} contradicts an earlier value of {group!r}")
            inner = nested
        if isinstance(inner.get(last), dict):
            raise ConfigError(f"the override {assignment!r} contradicts earlier values inside {last!r}")
        inner[last] = _value(text.strip())
    return Layer(origin, values)


def resolve(kind: type[SettingsT], layers: Sequence[Layer]) -> SettingsT:
    """Fills a settings class; what no layer gives keeps its default.

    Raises:
        ConfigError: If a key is unknown or missing, or a value has the wrong type or is out of range.
    """
    merged = merge(layers)
    for layer in layers:
        _refuse_unknown_keys(kind, layer, merged, layers)
    _refuse_unknown_keys(kind, Layer("", merged), merged, layers)
    _refuse_value_for_group(kind, merged, layers)
    _refuse_bytes(merged, layers)
    try:
        text = json.dumps(merged, default=_reject)
        return TypeAdapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        raise ConfigError(_explain(error, merged, layers)) from None


def merge(layers: Sequence[Layer]) -> dict[str, object]:
    """The values of all layers, unchecked; a later layer wins, and groups are merged key by key."""
    merged: dict[str, object] = {}
    for layer in layers:
        _merge(merged, layer.values)
    return merged


def keys_of(values: Mapping[str, object], leave_out: Sequence[str] = ()) -> list[str]:
    """The dotted keys of nested values.

    Args:
        values: As in a ``Layer``.
        leave_out: Dotted keys of values and groups to leave out.
    """
    return [key for key, _ in _leaves(_without(values, leave_out))]


def as_toml(settings: object, leave_out: Sequence[str] = ()) -> str:
    """Writes a settings record as TOML, in the order of its fields; None is left out, as TOML has no null.

    Args:
        settings: A dataclass instance.
        leave_out: Dotted keys of fields and groups to leave out.
    """
    import tomli_w

    return tomli_w.dumps(_without(_plain_fields(settings), leave_out))


def digest(text: str) -> str:
    """The sha256 of a resolved config's text, as run folders record it."""
    return hashlib.sha256(text.encode()).hexdigest()


def first_difference(first: object, second: object, leave_out: Sequence[str] = ()) -> Difference | None:
    """Finds the first setting on which two records of one class disagree, as a dotted key.

    Args:
        first: A dataclass instance.
        second: Another of the same class.
        leave_out: Dotted keys of fields and groups that may differ.
    """
    firsts = dict(_leaves(_without(_plain_fields(first), leave_out)))
    seconds = dict(_leaves(_without(_plain_fields(second), leave_out)))
    for key in [*firsts, *(key for key in seconds if key not in firsts)]:
        if firsts.get(key) != seconds.get(key):
            return Difference(key, firsts.get(key), seconds.get(key))
    return None


def _value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def _reject(value: object) -> object:
    """TOML's dates are the only values that JSON lacks; no setting is a date, so they are text as written."""
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(f"a setting cannot be a {type(value).__name__}")


def _merge(into: dict[str, object], values: Mapping[str, object]) -> None:
    for key, value in values.items():
        present = into.get(key)
        if isinstance(value, Mapping):
            inner = dict(present) if isinstance(present, Mapping) else {}
            _merge(inner, value)
            into[key] = inner
        else:
            into[key] = value


class _Unknown(NamedTuple):
    """A key that there is not: where it is, what there is instead, and in which alternative, if it is in one."""

    key: tuple[str, ...]
    known: list[str]
    alternative: str


def _refuse_unknown_keys(kind: type, layer: Layer, merged: Mapping[str, object], layers: Sequence[Layer]) -> None:
    """Checks a layer by itself, so that the message names its origin, or the merged values of all layers."""
    for unknown in _unknown(kind, layer.values, merged, (), ""):
        origin = layer.origin or _origin(unknown.key, layers)
        whose = f" for {unknown.alternative}" if unknown.alternative else ""
        shown = ".".join(unknown.key)
        raise ConfigError(f"unknown setting {shown!r} (from {origin}){whose}{nearest(unknown.key[-1], unknown.known)}")


def _unknown(
    kind: type, values: Mapping[str, object], merged: Mapping[str, object], above: tuple[str, ...], alternative: str
) -> Iterator[_Unknown]:
    """Yields each key path that ``kind`` does not have; the merged values say which alternative a group is."""
    hints = get_type_hints(kind, include_extras=True)
    known = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    for key, value in values.items():
        if key not in known:
            yield _Unknown((*above, key), list(known), alternative)
        elif isinstance(value, Mapping):
            whole = merged.get(key)
            whole = whole if isinstance(whole, Mapping) else {}
            name = value.get("name", whole.get("name"))
            named = f"{key} {name!r}" if isinstance(name, str) else ""
            alternatives = _alternatives(known[key], name)
            if len(alternatives) != 1:
                named = ""
            found = [list(_unknown(one, value, whole, (*above, key), named)) for one in alternatives]
            if found and all(found):
                yield min(found, key=len)[0]


def _refuse_bytes(values: Mapping[str, object], layers: Sequence[Layer]) -> None:
    """Refuses text that no file of ours could hold: the command line gives bytes outside UTF-8 as lone surrogates."""
    for key, value in _leaves(values):
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise ConfigError(f"setting {key!r} (from {_origin(tuple(key.split('.')), layers)}): not UTF-8: {value!r}")


def _refuse_value_for_group(
    kind: type, values: Mapping[str, object], layers: Sequence[Layer], above: tuple[str, ...] = ()
) -> None:
    """Refuses ``agent=expert`` with what was meant, as the agent is a group of settings: ``agent.name=expert``."""
    hints = get_type_hints(kind, include_extras=True)
    for key, value in values.items():
        path = (*above, key)
        groups = _alternatives(hints[key], value.get("name") if isinstance(value, Mapping) else None)
        if isinstance(value, Mapping):
            if len(groups) == 1:
                _refuse_value_for_group(groups[0], value, layers, path)
        elif groups and isinstance(value, str):
            names = [name for group in groups for name in get_args(get_type_hints(group).get("name"))]
            keys = sorted({field.name for group in groups for field in dataclasses.fields(group)})
            dotted = ".".join(path)
            if not names:
                raise ConfigError(
                    f"setting {dotted!r} (from {_origin(path, layers)}) is a group, not {value!r}: set a key of it, "
                    f"{dotted}.{f', {dotted}.'.join(keys)}"
                )
            known = value if value in names else f"NAME{nearest(value, names)}"
            also = f", or give --{key} {known}" if value in names and not above else ""
            raise ConfigError(
                f"setting {dotted!r} (from {_origin(path, layers)}) is a group, not {value!r}: set "
                f"{dotted}.name={known}{also}"
            )


def _alternatives(hint: object, name: object) -> list[type]:
    """The dataclasses inside a type hint; only the one called ``name`` where there is such a one."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return [hint]
    inside = [kind for argument in get_args(hint) for kind in _alternatives(argument, None)]
    called = [kind for kind in inside if name in get_args(get_type_hints(kind).get("name"))]
    return called or inside


def _explain(error: ValidationError, merged: Mapping[str, object], layers: Sequence[Layer]) -> str:
    """One line for the first complaint: the dotted key, where its value comes from, and what is expected."""
    first = error.errors(include_url=False)[0]
    key = _dotted(first["loc"], merged)
    if first["type"] == "union_tag_not_found":
        return f"the setting {'.'.join((*key, 'name'))!r} is missing"
    if first["type"].startswith("missing"):
        return f"the setting {'.'.join(key)!r} is missing"
    context = first.get("ctx", {})
    where = f"setting {'.'.join(key)!r} (from {_origin(key, layers)})"
    expected = context.get("expected_tags") or context.get("expected")
    if expected is not None:
        wrong = context.get("tag", first["input"])
        known = [part.strip(" '") for part in str(expected).replace(" or ", ",").split(",")]
        return f"{where} cannot be {wrong!r}{nearest(str(wrong), known)}"
    message = first["msg"][:1].lower() + first["msg"][1:]
    return f"{where}: {message}, not {first['input']!r}"


def _dotted(location: tuple[int | str, ...], merged: Mapping[str, object]) -> tuple[str, ...]:
    """The key path of a pydantic location, which also holds the names of the alternatives that were tried."""
    key: list[str] = []
    here: object = merged
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if isinstance(part, int):
            key.append(str(part))
        elif isinstance(here, Mapping) and (part in here or last):
            key.append(part)
            here = here.get(part)
    return tuple(key)


def _origin(key: tuple[str, ...], layers: Sequence[Layer]) -> str:
    for layer in reversed(layers):
        if _gives(layer.values, key):
            return layer.origin
    return "the defaults"


def _gives(values: Mapping[str, object], key: tuple[str, ...]) -> bool:
    """Whether the values set this key, or put a single value where its group belongs."""
    here: object = values
    for part in key:
        if not isinstance(here, Mapping):
            return True
        if part not in here:
            return False
        here = here[part]
    return True


def _plain_fields(settings: object) -> dict[str, object]:
    """The fields of a record as TOML knows values, without those that are None."""
    assert dataclasses.is_dataclass(settings)
    named = ((field.name, getattr(settings, field.name)) for field in dataclasses.fields(settings))
    return {name: _plain(value) for name, value in named if value is not None}


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain_fields(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _without(values: Mapping[str, object], leave_out: Sequence[str], above: str = "") -> dict[str, object]:
    kept = {key: value for key, value in values.items() if f"{above}{key}" not in leave_out}
    return {
        key: _without(value, leave_out, f"{above}{key}.") if isinstance(value, Mapping) else value
        for key, value in kept.items()
    }


def _leaves(values: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
