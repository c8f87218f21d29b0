"""Data sets of the Hugging Face hub, through the ``datasets`` package, which is only needed here."""

import importlib.util
from functools import lru_cache

from ..errors import MissingExtraError
from .files import make_rows
from .problem import ProblemError, make_problem
from .problems import Problems


@lru_cache(maxsize=4)
def hub_problems(name: str) -> Problems:
    """Loads ``hub:OWNER/NAME``, ``hub:OWNER/NAME:SPLIT`` or ``hub:OWNER/NAME:CONFIG:SPLIT``.

    The split is ``test`` if none is given. The panel's name is the whole text, so that a number says where its
    problems come from; the panel hash says which they were.

    Raises:
        MissingExtraError: If ``datasets`` is not installed.
        ProblemError: If the data set cannot be loaded or has no column with problems or answers.
    """
    if importlib.util.find_spec("datasets") is None:
        raise MissingExtraError(f"panel {name!r}", "hub", "datasets")
    parts = name.split(":")[1:]
    if not 1 <= len(parts) <= 3 or not all(parts):
        raise ProblemError(f"cannot read the panel {name!r}: write hub:OWNER/NAME, with :SPLIT or :CONFIG:SPLIT")
    split = parts[-1] if len(parts) > 1 else "test"
    config = parts[1] if len(parts) == 3 else None
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    try:
        records = list(load_dataset(parts[0], config, split=split))
    except (DatasetsError, ValueError, OSError) as error:
        raise ProblemError(f"cannot load {name!r}: {' '.join(str(error).split())[:200]}") from None
    rows = make_rows(records, name)
    return Problems(
        name, (make_problem(name, row.id, row.statement, row.golds, row.type, row.metadata) for row in rows)
    )
