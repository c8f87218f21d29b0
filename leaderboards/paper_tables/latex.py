r"""Paper tables as LaTeX for ``booktabs``: bold and underlined numbers, notes below the table or right behind it."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from .grid import BLOCK, PUBLISHED, Line, Shown, causes_of, lines_of
from .records import BEST, SECOND, PaperTable

# What is not a letter, digit or harmless sign of ASCII. A caret or a brace alone would end or begin something.
_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    '"': "{''}",
    "`": r"\textasciigrave{}",
    "±": r"$\pm$",
    "\u00d7": r"$\times$",
    "→": r"$\to$",
    "↳": r"$\hookrightarrow$",
    "\u2212": "$-$",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "\u03b1": r"$\alpha$",
    "…": r"\dots{}",
    "\u2013": "--",
    "\u2019": "'",
}
# A float cannot be broken over pages: with more characters of notes than these they stand behind it.
_BELOW: Final = 1500
# Marks that stand above or below a letter, as TeX's own font encoding knows them.
_ACCENTS: Final = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0308": '"',
    "\u030a": "r ",
    "\u0327": "c ",
}


def as_latex(tables: Sequence[PaperTable], *, standalone: bool = False) -> str:
    r"""One ``table`` environment a table.

    Args:
        tables: The tables.
        standalone: Whether to make a whole document of them, to be compiled as it is.
    """
    # Many floats in a row would wait for a place until there are too many.
    between = "\n\n\\clearpage\n" if standalone else "\n\n"
    body = between.join(_table(table) for table in tables)
    if not standalone:
        return f"% needs \\usepackage{{booktabs}}\n{body}\n"
    return (
        "\\documentclass{article}\n\\usepackage[a4paper,landscape,margin=15mm]{geometry}\n"
        "\\usepackage{booktabs}\n\\begin{document}\n"
        f"{body}\n\\end{{document}}\n"
    )


def latex_escape(text: str) -> str:
    r"""A text that prints as it is: nothing in it is a command, and every character has a glyph.

    A letter with an accent is written as TeX's accent; a character that TeX's usual fonts lack as its number, as in
    ``[U+6D4B]``.
    """
    text = text.replace("->", "→")
    text = re.sub(r"(?<![\w.-])-(?=\d)", "\u2212", text)
    return "".join(_character(character) for character in text)


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if " " <= character <= "\x7e":
        return character
    decomposed = unicodedata.normalize("NFD", character)
    base, marks = decomposed[0], decomposed[1:]
    if marks in _ACCENTS and base.isascii() and base.isalpha():
        return f"\\{_ACCENTS[marks]}{{{base}}}"
    return f"[U+{ord(character):04X}]"


def _table(table: PaperTable) -> str:
    left, right = len(table.headers), len(table.table.columns)
    headers = [*table.headers, *(column.title for column in table.table.columns)]
    label = re.sub(r"[^a-z0-9-]", "-", table.table.id)
    lines = [
        "\\begin{table}[!htbp]",
        "\\centering\\footnotesize",
        "\\setlength{\\tabcolsep}{3pt}",
        f"\\caption{{{latex_escape(f'{table.table.title} ({table.table.id}, {table.table.place}).')}}}",
        f"\\label{{tab:{label}}}",
        f"\\begin{{tabular}}{{{'l' * left}{'r' * right}}}",
        "\\toprule",
        _row([latex_escape(header) for header in headers]),
        "\\midrule",
    ]
    for number, line in enumerate(lines_of(table)):
        if line.kind == BLOCK:
            lines += ["\\midrule"] if number else []
            lines.append(
                f"\\multicolumn{{{left + right}}}{{l}}{{\\textit{{{latex_escape(line.labels[0].text)}}}}} \\\\"
            )
        else:
            lines.append(_row(_line(line)))
    lines += ["\\bottomrule", "\\end{tabular}"]
    notes = [
        f"\\textsuperscript{{{number}}}~{latex_escape(text)}\\par" for number, text in enumerate(table.footnotes, 1)
    ]
    notes += [f"{latex_escape(remark)}\\par" for remark in (*table.remarks, *causes_of(table))]
    if sum(map(len, notes)) <= _BELOW:
        lines += [
            "",
            "\\smallskip",
            "\\begin{minipage}{\\linewidth}\\scriptsize\\raggedright",
            *notes,
            "\\end{minipage}",
        ]
        return "\n".join([*lines, "\\end{table}"])
    return "\n".join([*lines, "\\end{table}", "{\\scriptsize\\raggedright\\noindent", *notes, "}"])


def _row(cells: Sequence[str]) -> str:
    # A bracket at the start of a row would be the argument of the line break before it.
    first = f"{{}}{cells[0]}" if cells and cells[0].startswith(("[", "*")) else cells[0] if cells else ""
    return " & ".join([first, *cells[1:]]) + " \\\\"


def _line(line: Line) -> list[str]:
    labels = [_cell(label) for label in line.labels]
    if line.kind != PUBLISHED:
        labels[0] = f"\\quad {labels[0]}"
    return [*labels, *(_cell(cell) for cell in line.cells)]


def _cell(cell: Shown) -> str:
    text = latex_escape(cell.text)
    if cell.rank == BEST:
        text = f"\\textbf{{{text}}}"
    elif cell.rank == SECOND:
        text = f"\\underline{{{text}}}"
    marks = ",".join(map(str, cell.notes))
    return f"{text}\\textsuperscript{{{marks}}}" if marks else text
