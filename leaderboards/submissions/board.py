"""A board: a folder of runs that were checked before they were taken. Effects live here."""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...agents.trajectory import Trajectory
from ...envs.files import open_file, read_file
from ...envs.folder_lock import LOCK, FolderLock
from ...eval.errors import RunError
from ...eval.prompt_texts import kept_in
from ...eval.run import CONFIG, EPISODES, MANIFEST, SUMMARY, Run, folder_of, read_config
from ...version import __version__
from .checking import RefusedError, check_run
from .replaying import Replayed, replay_run

SUBMISSION = "submission.json"
SCHEMA = 1
_FILES = (CONFIG, MANIFEST, EPISODES, SUMMARY)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_LEFT_OVER = re.compile(r"\.[0-9a-f]{8}\.new")
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Added:
    """A run that was taken.

    Attributes:
        folder: Where it is now.
        run: The run, read from there.
        replayed: How much of it was played again, or None where that was not asked for.
    """

    folder: Path
    run: Run
    replayed: Replayed | None


def add_run(
    source: Path,
    board: Path,
    *,
    name: str | None = None,
    replay: bool = False,
    data: Path | None = None,
    each: Callable[[Trajectory], None] = lambda played: None,
) -> Added:
    """Checks a run and puts a copy of it on a board; the board has all of it or nothing.

    What is checked is the copy, so that nobody can change the run between the check and the copy.

    Args:
        source: The run folder.
        board: The board; it is made if it is not there.
        name: Name of the run on the board; None takes that of its folder.
        replay: Whether to play its actions again.
        data: Games or problems for that.
        each: Told each episode that was played again.

    Raises:
        RefusedError: If the run is not taken, with the reason.
        HolderGymError: If something cannot be read or written.
    """
    source = folder_of(source)
    _require_run(source)
    name = source.resolve().name if name is None else name
    if not _NAME.fullmatch(name):
        raise RefusedError(
            f"{name!r} cannot be the name of a run on a board: give --name of letters, digits, . _ and -"
        )
    made = _open_board(board)
    try:
        return _add(source, board, name, replay, data, each)
    except BaseException:
        if made:
            with suppress(OSError):
                (board / LOCK).unlink()
                board.rmdir()  # only if it is empty, as it was before
        raise


def _add(
    source: Path,
    board: Path,
    name: str,
    replay: bool,
    data: Path | None,
    each: Callable[[Trajectory], None],
) -> Added:
    lock = FolderLock(board)
    new = board / f".{secrets.token_hex(4)}.new" / name
    try:
        target = board / name
        _remove_left_over(board)
        if os.path.lexists(target):
            raise RefusedError(f"{board} has a run {name!r} already: give another --name")
        new.mkdir(parents=True)
        digests = {file: _copy(source / file, new / file) for file in _FILES}
        try:
            settings = read_config(new).agent
            digests |= {file: _copy(source / file, new / file) for file in kept_in(source, settings)}
            run = check_run(new)
            _refuse_second(run, board)
            replayed = replay_run(run, data, each=each) if replay else None
        except (RefusedError, RunError) as error:
            # The copy is gone when this is read.
            raise RefusedError(str(error).replace(str(new), str(source))) from None
        _write_submission(new, run, digests, replayed)
        os.rename(new, target)
        return Added(target, run, replayed)
    except OSError as error:
        raise RunError(f"cannot write to the board {board}: {error.strerror}") from None
    finally:
        shutil.rmtree(new.parent, ignore_errors=True)
        lock.release()


def _remove_left_over(board: Path) -> None:
    """Removes what a killed process left. The lock says that nobody is copying."""
    for found in board.iterdir():
        if _LEFT_OVER.fullmatch(found.name) and found.is_dir() and not found.is_symlink():
            shutil.rmtree(found, ignore_errors=True)


def _require_run(source: Path) -> None:
    for file in _FILES:
        if not (source / file).is_file():
            what = "is no whole run folder" if source.is_dir() else "is no run folder"
            raise RefusedError(f"{source} {what}: {file} is missing")


def _open_board(board: Path) -> bool:
    """Makes the folder where it is not there, and says whether it did. Other folders are no boards."""
    try:
        if not board.exists():
            board.mkdir(parents=True)
            return True
        names = sorted(os.listdir(board))
    except OSError as error:
        raise RunError(f"cannot open the board {board}: {error.strerror}") from None
    for found in names:
        if not found.startswith(".") and not (board / found / SUBMISSION).is_file():
            raise RunError(
                f"{board} is no board: {found!r} was not put there by `leaderboard add`; choose another --board"
            )
    return False


def _copy(source: Path, target: Path) -> str:
    """Copies a regular file, forced to the disk, and returns its hash."""
    digest = hashlib.sha256()
    try:
        opened = open_file(source)
    except OSError as error:
        raise RunError(f"cannot read {source}: {error.strerror}") from None
    with opened, target.open("xb") as out:
        while chunk := opened.read(_CHUNK):
            digest.update(chunk)
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _refuse_second(run: Run, board: Path) -> None:
    """Refuses a run whose settings, seed, agent and tasks are those of one that is there: it would count twice."""
    for folder in sorted(path.parent for path in board.glob(f"*/{SUBMISSION}")):
        try:
            record = json.loads(read_file(folder / SUBMISSION))
        except (OSError, ValueError, RecursionError):
            raise RunError(f"{folder / SUBMISSION} is damaged: restore it, or remove {folder} from the board") from None
        identity = record.get("run") if isinstance(record, dict) else None
        if identity == _identity(run):
            raise RefusedError(
                f"{run.folder} is refused: {folder.name!r} on the board is a run of the same agent, settings, seed "
                "and tasks"
            )


def _identity(run: Run) -> dict[str, str]:
    return {
        "agent_fingerprint": run.manifest.agent_fingerprint,
        "config_sha256": run.manifest.config_sha256,
        "panel_sha256": run.panel.sha256,
    }


def _write_submission(folder: Path, run: Run, digests: dict[str, str], replayed: Replayed | None) -> None:
    record = {
        "schema": SCHEMA,
        "checked_by": f"holdergym {__version__}",
        "run": _identity(run),
        "sha256": digests,
        "episodes": len(run.results),
        "failed_and_played_again": run.replayed,
        "replayed": None if replayed is None else replayed._asdict(),
    }
    with (folder / SUBMISSION).open("x", encoding="utf-8") as file:
        file.write(json.dumps(record, indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
