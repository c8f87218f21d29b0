"""The games of a panel: opened from the official tree, a packed file or the generator, decoded when asked for."""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from ..errors import GameError, HolderGymError, UnknownNameError
from ..panel import Panel
from .dialect import Dialect
from .game import Game, StoredGame
from .game_file import make_game, read_file
from .pack import is_pack, list_panels, read_pack
from .tree import GAME_FILE, NO_GAME, LeftOut, find_root, list_games, list_splits
from .world import World

__all__ = [
    "BUILTIN_PANELS",
    "RELEASED",
    "Game",
    "Games",
    "build_world",
    "find_data",
    "find_source",
    "open_games",
    "panel_names",
]

BUILTIN_PANELS = (
    "builtin_pick_train",
    "builtin_pick_valid",
    "builtin_small_train",
    "builtin_small_valid",
    "builtin_train",
    "builtin_valid",
)

# Number of games of each split in the release; a split with fewer is a partial panel and says so.
RELEASED = {"train": 3553, "valid_seen": 140, "valid_train": 200, "valid_unseen": 134}

# A World takes about 0.1 MB, so that this many are at most 50 MB; building one again takes a millisecond.
_WORLDS = 512
_OPENED = 4


class UnknownGameError(UnknownNameError, KeyError):
    """A task id that a panel does not have. A ``KeyError`` too, as a mapping must raise."""

    __str__ = Exception.__str__


class Games(Mapping[str, Game]):
    """The games of one panel by task id, in the panel's order.

    Games are kept in compact form and decoded when asked for; worlds (the fixed tables of a game) are kept
    for the games played last, so that all live copies of a game share one.

    Attributes:
        panel: The tasks; ``panel.full_size`` exceeds their number if games are missing.
        left_out: Trial folders that gave no game, with reasons; empty for packs and generated games.
    """

    def __init__(self, panel: Panel, stored: Iterable[StoredGame], left_out: tuple[LeftOut, ...] = ()) -> None:
        self.panel = panel
        self.left_out = left_out
        self._stored = {game.task.id: game for game in stored}
        if tuple(self._stored) != tuple(task.id for task in panel.tasks):
            raise ValueError(f"the games of panel {panel.name!r} are not those of its tasks, in order")
        self._world = lru_cache(maxsize=_WORLDS)(self._make_world)

    @classmethod
    def of(cls, name: str, games: Iterable[Game]) -> "Games":
        """Makes the whole panel of some games, for example generated ones."""
        stored = sorted(map(StoredGame.of, games), key=lambda game: game.task.id)
        return cls(Panel.of(name, [game.task for game in stored]), stored)

    @property
    def stored(self) -> tuple[StoredGame, ...]:
        """The games in compact form, in the panel's order."""
        return tuple(self._stored.values())

    def world(self, task_id: str) -> World:
        """The fixed tables of a game, shared by its live copies.

        Raises:
            UnknownGameError: If the panel has no such task.
            GameError: If the game is damaged, or speaks a dialect that the native engine does not play.
        """
        return self._world(task_id)

    def __getitem__(self, task_id: str) -> Game:
        try:
            stored = self._stored[task_id]
        except KeyError:
            raise UnknownGameError(f"task of panel {self.panel.name!r}:", task_id, self._stored) from None
        return stored.load()

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._stored

    def __repr__(self) -> str:
        return f"Games({self.panel.label!r}, {len(self)} games)"

    def _make_world(self, task_id: str) -> World:
        return build_world(self[task_id])


def build_world(game: Game) -> World:
    """Makes the fixed tables of a game. ``Games.world`` keeps them, so that live copies share them.

    Raises:
        GameError: If the game speaks a dialect that the native engine does not play.
    """
    if game.dialect != Dialect.V04:
        raise GameError(
            f"{game.source}: speaks dialect {game.dialect}, and the native engine plays {Dialect.V04}: choose "
            "engine='textworld', or get the games of release 0.4 with `alfworld-download`"
        )
    return World(game.problem, game.sentence)


def open_games(panel: str | None = None, data: str | os.PathLike[str] | None = None) -> Games:
    """Opens the games of a panel.

    Opening the same unchanged files again gives the same object, so that many environments share the games.

    Args:
        panel: A split (``valid_unseen``) or one of ``BUILTIN_PANELS``. None: the only panel of ``data``, or
            ``builtin_valid`` where no ``data`` is given.
        data: The root of the official tree (the folder with ``json_2.1.1``) or a packed file. None: what
            ALFWORLD_DATA names. The built-in panels need none.

    Raises:
        UnknownNameError: If the data have no such panel.
        GameError: If a game cannot be read; the message names the file.
        HolderGymError: If the data are missing, empty or not games.
    """
    if panel is None and data is None:
        panel = "builtin_valid"
    if panel in BUILTIN_PANELS and (data is None or panel not in panel_names(data)):
        if data is not None:
            raise HolderGymError(f"panel {panel!r} is generated: leave out --data, or name a panel of {data}")
        from .builtin import builtin_games

        return builtin_games(panel)
    if data is None and not os.environ.get("ALFWORLD_DATA") and panel is not None and panel not in RELEASED:
        raise UnknownNameError("panel", panel, [*BUILTIN_PANELS, *RELEASED])
    path = find_data(data)
    if panel is None:
        names = panel_names(path)
        if len(names) > 1:
            raise HolderGymError(f"{path} holds several panels: choose one of {', '.join(names)}")
        panel = names[0]
    if path.is_file():
        status = path.stat()
        return _open_pack(path, panel, (status.st_size, status.st_mtime_ns))
    root = find_root(path)
    listing = list_games(root, panel)
    stamps = tuple(_stamp(file) for file in listing.files)
    return _open_split(root, panel, listing.files, listing.left_out, stamps)


def panel_names(data: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """Names the panels of a data source, sorted.

    Raises:
        HolderGymError: If the data are missing, empty or not games.
    """
    path = find_data(data)
    return list_panels(path) if path.is_file() else list_splits(find_root(path))


def find_data(data: str | os.PathLike[str] | None = None) -> Path:
    """Finds the tree or the packed file: what is given, or what ALFWORLD_DATA names.

    Raises:
        HolderGymError: If neither is given, or nothing is there.
    """
    named = data if data is not None else os.environ.get("ALFWORLD_DATA")
    if not named:
        raise HolderGymError(
            "no ALFWorld games: give --data DIR or set ALFWORLD_DATA to the folder that `alfworld-download` "
            f"filled, or play a built-in panel ({', '.join(BUILTIN_PANELS)})"
        )
    path = Path(named).expanduser().absolute()
    origin = "--data" if data is not None else "ALFWORLD_DATA"
    if not str(path).isprintable():
        raise HolderGymError(f"{origin}: {str(path)!r} is not plain UTF-8 text, so it cannot be recorded: rename it")
    if not path.exists():
        raise HolderGymError(f"{origin}: there is no {path}: give the folder that `alfworld-download` filled")
    if path.is_file() and not is_pack(path):
        what = "a single game" if path.name == GAME_FILE else "neither a folder nor a pack of games"
        raise HolderGymError(f"{origin}: {path} is {what}: give the folder with json_2.1.1 or a packed file")
    return path


def find_source(panel: str, data: str | os.PathLike[str] | None = None) -> Path | None:
    """Where ``open_games`` finds a panel, as an absolute path; None for one that is generated.

    Raises:
        HolderGymError: If nothing is there.
    """
    return None if data is None and panel in BUILTIN_PANELS else find_data(data)


@lru_cache(maxsize=_OPENED)
def _open_pack(path: Path, name: str, stamp: tuple[int, int]) -> Games:
    packed = read_pack(path, name)
    return Games(_with_full_size(packed.panel, packed.panel.full_size), packed.games)


@lru_cache(maxsize=_OPENED)
def _open_split(
    root: Path,
    split: str,
    files: tuple[Path, ...],
    left_out: tuple[LeftOut, ...],
    stamps: tuple[tuple[int, int], ...],
) -> Games:
    stored: list[StoredGame] = []
    unsolvable: list[LeftOut] = []
    for path in files:
        file = read_file(path)
        if file.solvable:
            stored.append(StoredGame.of(make_game(path, file)))
        else:
            unsolvable.append(LeftOut(path.parent, "marked unsolvable, as in the stock engine"))
    if not stored:
        raise HolderGymError(
            f"{root / split} holds no game ({len(left_out)} trial folders without, {len(unsolvable)} marked "
            "unsolvable): run `alfworld-download` again"
        )
    stored.sort(key=lambda game: game.task.id)
    # The whole training split of the release is taken as it is; a matching number says nothing of a smaller one.
    if split != "train" or len(stored) != RELEASED["train"]:
        _refuse_copies(stored)
    panel = Panel.of(split, [game.task for game in stored])
    absent = sum(item.reason == NO_GAME for item in left_out)
    size = len(stored) + len(unsolvable) + absent
    return Games(_with_full_size(panel, size), stored, (*left_out, *unsolvable))


def _refuse_copies(stored: list[StoredGame]) -> None:
    """Refuses the same game under two ids: a copied folder would count twice. A whole release is as it is."""
    first: dict[str, StoredGame] = {}
    for game in stored:
        known = first.setdefault(game.task.digest, game)
        if known is not game:
            raise GameError(f"{game.source}: is the same game as {known.source}: remove one of the two")


def _with_full_size(panel: Panel, size: int) -> Panel:
    """Says how many games the whole panel has: as many as were released, or as many as there should be.

    The release has trial folders without a game, so for its splits only the released number counts.
    """
    size = max(len(panel.tasks), RELEASED.get(panel.name, size))
    return Panel(panel.name, panel.tasks, size)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise GameError(f"{path}: cannot be read ({error.strerror}): mend or remove it") from None
    return status.st_size, status.st_mtime_ns
