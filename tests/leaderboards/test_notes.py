"""What stands below a table, in every format: why numbers are missing, and how episodes ended."""

from holdergym.leaderboards.markdown import boards_as_markdown
from holdergym.leaderboards.page import boards_as_html
from holdergym.leaderboards.rows import build_boards
from holdergym.leaderboards.side_tables import side_tables
from holdergym.leaderboards.text import boards_as_text, run_as_text


def test_why_pass_at_k_is_undefined_is_said_below_the_table(make_run) -> None:
    """The last task has 3 of its 4 samples; the fourth was not played."""
    whole = make_run("whole", won=14, samples=4)
    short = make_run("short", won=14, samples=4, missing=1)
    boards = build_boards([short, whole])
    said = "walker (short): undefined from k = 4 on, as 1 of 12 tasks have fewer than 4 finished samples"
    assert [note for table in side_tables(boards[0]) for note in table.notes] == [said]
    for text in (boards_as_text(boards), run_as_text(short), boards_as_html(boards)):
        assert said in text
    assert said in boards_as_markdown(boards).replace("\\", "")
    assert "undefined from" not in run_as_text(whole)
