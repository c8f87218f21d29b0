"""Writes a site: whole or not at all, and never over anything but a site."""

import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ...envs.errors import HolderGymError
from ...version import __version__

MARK = "holdergym-site.json"
SCHEMA = 1


class SiteError(HolderGymError):
    """A folder that a site cannot be written to."""


def check_target(folder: Path) -> None:
    """Makes sure, before anything is computed, that a site may be written to a folder.

    Raises:
        SiteError: If there is something that is not a site of ours.
    """
    if not folder.is_symlink() and not folder.exists():
        return
    if folder.is_symlink() or not folder.is_dir():
        raise SiteError(f"{folder} is not a folder: choose another --out")
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise SiteError(f"cannot read {folder}: {error.strerror}") from None
    if names and not _is_site(folder):
        raise SiteError(
            f"{folder} is not empty (it holds {names[0]!r}) and is not a leaderboard site: choose another --out"
        )
    strange = [name for name in names if name not in _mark_names(folder)] if names else []
    if strange:
        raise SiteError(
            f"{folder} is a leaderboard site that also holds {strange[0]!r}, which would be lost: move it, or choose "
            "another --out"
        )


def write_site(files: Mapping[str, bytes], folder: Path) -> None:
    """Writes into a new folder beside the wanted one, which then takes its place.

    Args:
        files: Contents by path, with ``/`` between folders.
        folder: Where the site shall be; a site that is there already is replaced.

    Raises:
        SiteError: If the folder holds something else, or cannot be written; what was there is then as it was.
    """
    folder = Path(os.path.abspath(folder))
    check_target(folder)
    names = sorted({path.partition("/")[0] for path in files} | {MARK})
    mark = json.dumps({"schema": SCHEMA, "holdergym": __version__, "names": names}, indent=2) + "\n"
    new = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.new")
    held = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _clear_up(folder)
        new.mkdir()
        held = _hold(new)
        for path, content in {**files, MARK: mark.encode()}.items():
            _write(new, path, content)
        _take_place(new, folder)
    except OSError as error:
        raise SiteError(f"cannot write the site {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
        _let_go(held)


def _hold(folder: Path) -> int | None:
    """Marks a folder as one that this process is at work on, until it lets go or ends in whatever way.

    Returns:
        A descriptor for ``_let_go``; None where another process holds it, it is gone, or the disk knows no locks.
    """
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held


def _let_go(held: int | None) -> None:
    if held is not None:
        os.close(held)


def _clear_up(folder: Path) -> None:
    """Deals with what a killed build left beside a site: puts the old site back if it is gone, and removes the rest.

    A build that is at work holds its folder, which is then left alone.
    """
    left = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{8}}\.(?:new|old)")
    for name in sorted(os.listdir(folder.parent)):
        found = folder.with_name(name)
        if not left.fullmatch(name) or found.is_symlink() or not found.is_dir():
            continue
        held = _hold(found)
        if held is None:
            continue
        try:
            if name.endswith(".old") and _is_site(found) and not os.path.lexists(folder):
                os.rename(found, folder)
            else:
                shutil.rmtree(found, ignore_errors=True)
        except OSError:
            continue  # another build was faster
        finally:
            _let_go(held)


def _write(root: Path, path: str, content: bytes) -> None:
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ValueError(f"{path!r} is no path inside a site")
    target = root.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        file.write(content)


def _take_place(new: Path, folder: Path) -> None:
    """Puts the new folder where the old one is; should that fail, the old one is put back."""
    if not folder.exists():
        os.rename(new, folder)
        return
    old = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.old")
    held = _hold(folder)  # so that no other build takes what is set aside for what a killed one left
    try:
        os.rename(folder, old)
        try:
            os.rename(new, folder)
        except OSError:
            with suppress(OSError):
                os.rename(old, folder)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        _let_go(held)


def _is_site(folder: Path) -> bool:
    return (folder / MARK).is_file() and bool(_mark_names(folder))


def _mark_names(folder: Path) -> list[str]:
    """The names that a site says to be made of, or nothing for what is no site."""
    try:
        record = json.loads((folder / MARK).read_bytes()[: 2**20])
    except (OSError, ValueError, RecursionError):
        return []
    names = record.get("names") if isinstance(record, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
