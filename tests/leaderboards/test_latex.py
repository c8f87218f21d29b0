"""LaTeX tables: their form, and texts that would like to be commands."""

import re
from collections.abc import Callable

from holdergym.eval.run import Run
from holdergym.leaderboards.latex import boards_as_latex, escape, table_as_latex
from holdergym.leaderboards.rows import build_boards
from holdergym.leaderboards.side_tables import SideTable
from hypothesis import given
from hypothesis import strategies as st


def test_a_board_has_a_row_a_run_and_as_many_cells_as_headers(make_run: Callable[..., Run]) -> None:
    text = boards_as_latex(build_boards([make_run("a", won=6), make_run("b", "other_agent & co", won=3, samples=2)]))
    main = text.split("\\end{table}")[0]
    rows = [line for line in main.splitlines() if line.endswith("\\\\")]
    assert len(rows) == 3
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {9}
    assert rows[1].startswith("walker & 12 & 50.0 & {}[25.4, 74.6] & 50.0 (2/4)")
    assert "other\\_agent \\& co" in text
    assert text.count("\\begin{tabular}") == text.count("\\end{tabular}") == 2


@given(st.text(max_size=40))
def test_no_text_is_a_command(text: str) -> None:
    escaped = escape(text)
    words = "textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|textquotedbl"
    allowed = rf"\\({words})\{{\}}|\\[&%$#_{{}}]|-\{{\}}"
    assert not set(re.sub(allowed, "", escaped)) & set("\\&%$#_{}~^\n")


def test_cells_that_begin_a_line() -> None:
    """After ``\\\\`` a bracket would be the length of a skip and a star its form."""
    table = SideTable("t", 1, ("a", "b"), (("[-1.5, 2]", "+3.0"), ("*", "-0.5"), ("a-b -- c", "(-1)")), ("note_1",))
    text = table_as_latex(table)
    assert "{}[$-$1.5, 2] & +3.0 \\\\" in text
    assert "{}* & $-$0.5 \\\\" in text
    assert "a-b -{}- c & ($-$1) \\\\" in text
    assert "note\\_1" in text
