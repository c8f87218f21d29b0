"""What is shown: tables of measured and published results. Each name is loaded on first use."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .csv_file import boards_as_csv
    from .markdown import boards_as_markdown
    from .page import boards_as_html
    from .rows import Board, Row, build_boards
    from .text import boards_as_text, run_as_text

__all__ = [
    "Board",
    "Row",
    "boards_as_csv",
    "boards_as_html",
    "boards_as_markdown",
    "boards_as_text",
    "build_boards",
    "run_as_text",
]

_LAZY = {
    "Board": ".rows",
    "Row": ".rows",
    "boards_as_csv": ".csv_file",
    "boards_as_html": ".page",
    "boards_as_markdown": ".markdown",
    "boards_as_text": ".text",
    "build_boards": ".rows",
    "run_as_text": ".text",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
