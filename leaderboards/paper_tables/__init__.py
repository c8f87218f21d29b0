"""Published tables again, in their own layout, with what was measured here beside them.

``paper_table`` makes the records of a table; ``as_text``, ``as_markdown``, ``as_latex``, ``as_html`` and ``as_csv``
write them, and ``section_as_html`` writes one for a page that is made elsewhere.
"""

from .assembling import paper_table
from .csv_file import as_csv
from .latex import as_latex, latex_escape
from .markdown import as_markdown
from .page import STYLE, as_html, section_as_html
from .placing import Placed, placed_below, placed_by
from .records import Measured, PaperTable, Source, TableCell, TableRow
from .text import as_text

__all__ = [
    "STYLE",
    "Measured",
    "PaperTable",
    "Placed",
    "Source",
    "TableCell",
    "TableRow",
    "as_csv",
    "as_html",
    "as_latex",
    "as_markdown",
    "as_text",
    "latex_escape",
    "paper_table",
    "placed_below",
    "placed_by",
    "section_as_html",
]
