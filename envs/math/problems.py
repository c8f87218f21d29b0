"""The problems of a panel: from a published set, a file, the hub, or a generator."""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from ..errors import HolderGymError, UnknownNameError
from ..panel import Panel
from .files import SUFFIXES, read_rows
from .problem import Problem, ProblemError, make_problem
from .published import PUBLISHED, Published

BUILTIN_PANELS = (
    "builtin_difference_train",
    "builtin_difference_valid",
    "builtin_small_train",
    "builtin_small_valid",
    "builtin_train",
    "builtin_valid",
)
DATA_VARIABLE = "HOLDERGYM_MATH_DATA"
_OPENED = 4


class UnknownProblemError(UnknownNameError, KeyError):
    """A task id that a panel does not have. A ``KeyError`` too, as a mapping must raise."""

    __str__ = Exception.__str__


class Problems(Mapping[str, Problem]):
    """The problems of one panel by task id, in the panel's order.

    Args:
        name: The panel's name.
        problems: Its problems, in any order.
        full_size: Number of problems of the panel that this one was cut from, if it was.

    Attributes:
        panel: The tasks.
    """

    def __init__(self, name: str, problems: Iterable[Problem], full_size: int | None = None) -> None:
        by_id = sorted(problems, key=lambda problem: problem.task.id)
        self.panel = Panel(name, tuple(problem.task for problem in by_id), full_size or len(by_id))
        self._problems = {problem.task.id: problem for problem in by_id}

    def golds(self) -> dict[str, tuple[str, ...]]:
        """The gold answers by task id, as ``Grader.require_golds`` takes them."""
        return {id_: problem.golds for id_, problem in self._problems.items()}

    def __getitem__(self, task_id: str) -> Problem:
        try:
            return self._problems[task_id]
        except KeyError:
            raise UnknownProblemError(f"task of panel {self.panel.name!r}:", task_id, self._problems) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._problems)

    def __len__(self) -> int:
        return len(self._problems)

    def __repr__(self) -> str:
        return f"Problems({self.panel.label!r}, {len(self)} problems)"


def open_problems(panel: str | None = None, data: str | os.PathLike[str] | None = None) -> Problems:
    """Opens the problems of a panel.

    Args:
        panel: One of ``BUILTIN_PANELS``, ``builtin_valid`` by default; ``reasoning_gym_train`` or
            ``reasoning_gym_valid``, also with ``:FAMILY``; the name of a published set (``aime2024``, ``math500``);
            the path of a file, or the name of one in ``data``; or ``hub:OWNER/NAME``, also with ``:CONFIG:SPLIT``.
        data: Folder with the files of the sets, or one file. None: what HOLDERGYM_MATH_DATA names.

    Raises:
        UnknownNameError: If nothing has this name.
        ProblemError: If the file is missing, malformed, or not the published set that its name says.
        MissingExtraError: If the source needs an extra that is not installed.
        HolderGymError: If no data are given and the panel needs them.
    """
    if panel is None and data is None:
        panel = "builtin_valid"
    if panel is not None and panel.startswith("hub:"):
        from .hub import hub_problems

        return hub_problems(panel)
    if panel is not None and panel.startswith("reasoning_gym_"):
        from .reasoning_families import reasoning_problems

        return reasoning_problems(panel)
    if panel in BUILTIN_PANELS:
        if data is not None:
            raise HolderGymError(f"panel {panel!r} is generated: leave out --data, or name a panel of {data}")
        from .builtin import builtin_problems

        return builtin_problems(panel)
    if panel is not None and panel.endswith(SUFFIXES):
        return _open_file(Path(panel).expanduser())
    return _open_from(panel, _find_data(panel, data))


def panel_names(data: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """Names the panels that a folder of problem files has, sorted; published sets by their published names.

    Raises:
        HolderGymError: If there is no such folder.
    """
    folder = _find_data(None, data)
    files = [folder] if folder.is_file() else [path for path in folder.iterdir() if path.suffix in SUFFIXES]
    published = {file: name for name, known in PUBLISHED.items() for file in known.files}
    return tuple(sorted(published.get(path.stem, path.stem) for path in files))


def find_source(panel: str | None = None, data: str | os.PathLike[str] | None = None) -> Path | None:
    """Where ``open_problems`` finds a panel, as an absolute path; None for one that is generated or from the hub.

    Raises:
        HolderGymError: If nothing is there.
    """
    if panel is None and data is None:
        return None
    if panel is not None and (panel in BUILTIN_PANELS or panel.startswith(("hub:", "reasoning_gym_"))):
        return None
    if panel is not None and panel.endswith(SUFFIXES):
        return Path(panel).expanduser().absolute()
    return _find_data(panel, data).absolute()


def _open_from(panel: str | None, data: Path) -> Problems:
    if data.is_file():
        if panel is not None and panel not in PUBLISHED and panel != data.stem:
            raise UnknownNameError(f"panel of {data}:", panel, [data.stem, *PUBLISHED])
        published = PUBLISHED.get(panel) if panel else None
        return _open_published(panel or data.stem, published, data) if published else _open_file(data)
    names = panel_names(data)
    if panel is None:
        raise HolderGymError(f"{data} holds several panels: choose one of {', '.join(names)}")
    published = PUBLISHED.get(panel)
    stems = published.files if published else (panel,)
    path = next((data / (stem + end) for stem in stems for end in SUFFIXES if (data / (stem + end)).is_file()), None)
    if path is None:
        raise UnknownNameError(f"panel of {data}:", panel, names)
    return _open_published(panel, published, path) if published else _open_file(path)


def _open_file(path: Path) -> Problems:
    if not path.is_file():
        raise ProblemError(f"there is no problem file {path}")
    return _read_file(path.absolute(), path.stem, _stamp(path))


def _open_published(name: str, published: Published, path: Path) -> Problems:
    problems = _read_file(path.absolute(), name, _stamp(path))
    if problems.panel.sha256 != published.sha256:
        raise ProblemError(
            f"{path} holds {len(problems)} problems, but not the {published.rows} of the panel {name!r} (sha256 "
            f"{problems.panel.sha256[:12]} instead of {published.sha256[:12]}): give the file itself as the panel "
            "to use it under its own name"
        )
    return problems


def _find_data(panel: str | None, data: str | os.PathLike[str] | None) -> Path:
    named = data if data is not None else os.environ.get(DATA_VARIABLE)
    if not named:
        raise HolderGymError(
            f"panel {panel!r} needs problem files: give --data DIR or set {DATA_VARIABLE}, or play a built-in panel "
            f"({', '.join(BUILTIN_PANELS)})"
        )
    path = Path(named).expanduser()
    if not path.exists():
        raise HolderGymError(f"{'--data' if data is not None else DATA_VARIABLE}: there is no {path}")
    return path


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=_OPENED)
def _read_file(path: Path, name: str, stamp: tuple[int, int]) -> Problems:
    """Reads a file once while it stays what it was; many environments share the problems."""
    rows = read_rows(path)
    return Problems(
        name, (make_problem(name, row.id, row.statement, row.golds, row.type, row.metadata) for row in rows)
    )
