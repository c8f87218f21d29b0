"""Packed games: whole panels in one small file that opens in milliseconds and decodes a game when it is played.

A pack is a gzip file (``zcat`` shows it) of one member for the header and one for each panel, so that a
panel is read without unpacking the others. The header is a line of JSON: format, version, and for each panel
its name, full size, number of games, sha256 and compressed length. A panel's member is a line of JSON with a
row ``[id, type, digest, dialect, walkthrough]`` for each game, then for each game a line with its canonical
facts, which are the bytes that the digest is made of.
"""

import gzip
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import GameError, HolderGymError, UnknownNameError
from ..files import open_file, read_file, replace_file
from ..panel import Panel
from .dialect import Dialect
from .game import StoredGame, make_task

FORMAT = "holdergym alfworld games"
VERSION = 1

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
# No panel comes near: 4,027 released games unpack to 28 MB. Past these a file is damaged or made to harm.
_MAX_HEADER_BYTES = 2**20
_MAX_PANEL_BYTES = 2**30


class PackedPanel(NamedTuple):
    """A panel and its games, in the panel's order."""

    panel: Panel
    games: tuple[StoredGame, ...]


class _Entry(NamedTuple):
    """A panel's line in the header, with ``start`` and ``stop`` of its member in the file."""

    name: str
    full_size: int
    games: int
    sha256: str
    start: int
    stop: int


def is_pack(path: Path) -> bool:
    """Whether a file looks packed: it is a gzip file."""
    try:
        with open_file(path) as file:
            return file.read(2) == _GZIP_MAGIC
    except OSError as error:
        raise HolderGymError(f"{path}: cannot be read ({error.strerror}): give another --data") from None


def write_pack(path: Path, panels: Iterable[PackedPanel]) -> None:
    """Writes a pack. Equal games give an equal file; a failed write leaves no file behind.

    Raises:
        GameError: If a game speaks dialect 0.3: the stock engine plays it from its own file only.
        HolderGymError: If the file cannot be written.
    """
    entries, members = [], []
    for panel, games in panels:
        for game in games:
            if game.task.metadata["dialect"] != Dialect.V04:
                raise GameError(
                    f"{game.source}: speaks dialect {game.task.metadata['dialect']}; a pack holds games of "
                    f"dialect {Dialect.V04}: leave this panel out"
                )
        rows = [[g.task.id, g.task.type, g.task.digest, g.task.metadata["dialect"], g.walkthrough] for g in games]
        member = _compress(b"\n".join([_to_json(rows), *(game.facts for game in games)]) + b"\n")
        entry = {"name": panel.name, "full_size": panel.full_size, "games": len(games)}
        entries.append({**entry, "sha256": panel.sha256, "bytes": len(member)})
        members.append(member)
    header = _compress(_to_json({"format": FORMAT, "version": VERSION, "panels": entries}) + b"\n")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, b"".join([header, *members]))
    except OSError as error:
        raise HolderGymError(f"{path}: cannot be written ({error.strerror}): choose another file") from None


def list_panels(path: Path) -> tuple[str, ...]:
    """Names the panels of a pack, sorted.

    Raises:
        GameError: If the file is not a pack, is damaged or of another version.
    """
    return tuple(sorted(entry.name for entry in _read_header(path, _read(path))))


def read_pack(path: Path, name: str) -> PackedPanel:
    """Reads one panel of a pack; its games stay undecoded.

    Raises:
        UnknownNameError: If the pack has no such panel.
        GameError: If the file is not a pack, is damaged or of another version.
    """
    content = _read(path)
    entries = {entry.name: entry for entry in _read_header(path, content)}
    if name not in entries:
        raise UnknownNameError(f"panel of {path}:", name, entries)
    entry = entries[name]
    unpacked = _decompress(path, content[entry.start : entry.stop], _MAX_PANEL_BYTES).content
    index, *lines = unpacked.removesuffix(b"\n").split(b"\n")
    try:
        rows = json.loads(index)
        games = tuple(
            StoredGame(
                make_task(task_id, task_type, digest, dialect),
                facts,
                None if walkthrough is None else tuple(walkthrough),
                f"{path}#{task_id}",
            )
            for (task_id, task_type, digest, dialect, walkthrough), facts in zip(rows, lines, strict=True)
        )
        panel = Panel(name, tuple(game.task for game in games), entry.full_size)
    except (ValueError, TypeError, RecursionError):
        raise _damaged(path) from None
    if len(games) != entry.games or panel.sha256 != entry.sha256:
        raise _damaged(path)
    return PackedPanel(panel, games)


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise GameError(f"{path}: cannot be read ({error.strerror}): give another --data") from None


def _read_header(path: Path, content: bytes) -> list[_Entry]:
    header = _decompress(path, content, _MAX_HEADER_BYTES)
    try:
        fields = json.loads(header.content)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise GameError(f"{path}: is not a pack of games: give a file made by `holdergym games pack`")
    if fields.get("version") != VERSION:
        raise GameError(
            f"{path}: is a pack of version {fields.get('version')}, and this is version {VERSION}: pack the "
            "games again with `holdergym games pack`"
        )
    entries, start = [], header.end
    try:
        for panel in fields["panels"]:
            if not str(panel["name"]).isprintable():  # progress bars and tables show it as it is
                raise _damaged(path)
            stop = start + int(panel["bytes"])
            sizes = int(panel["full_size"]), int(panel["games"])
            entries.append(_Entry(str(panel["name"]), *sizes, str(panel["sha256"]), start, stop))
            start = stop
    except (KeyError, TypeError, ValueError):
        raise _damaged(path) from None
    if start != len(content):
        raise _damaged(path)
    return entries


class _Member(NamedTuple):
    """What a gzip member holds, and where it ends."""

    content: bytes
    end: int


def _decompress(path: Path, content: bytes, limit: int) -> _Member:
    inflater = zlib.decompressobj(_GZIP_WINDOW)
    try:
        unpacked = inflater.decompress(content, limit)
    except zlib.error:
        raise _damaged(path) from None
    if not inflater.eof:
        raise _damaged(path)
    return _Member(unpacked, len(content) - len(inflater.unused_data))


def _damaged(path: Path) -> GameError:
    return GameError(f"{path}: is cut or damaged: make it again with `holdergym games pack`")


def _compress(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def _to_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
