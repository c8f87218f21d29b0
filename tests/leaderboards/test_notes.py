"""What stands below a table, in every format: why numbers are missing, and how episodes ended."""

from dataclasses import replace

from holdergym.agents.trajectory import Outcome
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


def test_episodes_that_were_cut_off_are_counted_below_the_table(make_run) -> None:
    run = make_run("a", won=1, failed=1)
    ends = [Outcome.TOKENS, Outcome.CONTEXT, Outcome.CONTEXT]
    cut = [replace(result, outcome=end) for result, end in zip(run.results[2:], ends, strict=False)]
    run = replace(run, results=(*run.results[:2], *cut, *run.results[5:]))
    tokens = "1 of 11 episodes ended as token_limit (the model may say no more tokens in an episode)"
    context = "2 of 11 episodes ended as context_overflow (the prompt outgrew the model's context)"
    lines = run_as_text(run).splitlines()
    assert lines.index(tokens) + 1 == lines.index(context)
    (board,) = build_boards([run])
    assert board.rows[0].notes[-2:] == (tokens, context)
    assert not any("ended as" in line for line in run_as_text(make_run("b")).splitlines())
