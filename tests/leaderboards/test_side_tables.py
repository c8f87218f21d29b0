"""pass@k, tokens, seconds and costs below the boards, in every format."""

import csv
import io
import re
from dataclasses import replace

import pytest
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.usage import Prices, Usage
from holdergym.envs.errors import UnknownNameError
from holdergym.leaderboards.csv_file import boards_as_csv
from holdergym.leaderboards.markdown import boards_as_markdown
from holdergym.leaderboards.page import boards_as_html
from holdergym.leaderboards.rows import build_boards
from holdergym.leaderboards.side_tables import side_tables
from holdergym.leaderboards.text import boards_as_text, run_as_text

from .test_renderers import Tables

TALKER = LanguageModelSettings(model="small", prompt="chat", max_tokens=64, temperature=0.0)


@pytest.fixture
def sampled(make_run):
    """The first 3 tasks are won in all 4 samples, one half the time, the others never."""
    return make_run("sampled", "walker", won=14, samples=4)


@pytest.fixture
def talk(make_run):
    return make_run("talk", "talker", won=6, agent_settings=TALKER, usage=Usage(1000, 600, 20))


def test_no_table_where_there_is_nothing_to_show(make_run) -> None:
    (board,) = build_boards([make_run("a")])
    assert side_tables(board) == []


def test_pass_at_k_with_intervals(sampled) -> None:
    (board,) = build_boards([sampled])
    (table,) = side_tables(board)
    assert table.headers == ("agent", "run", "k", "pass@k", "pass^k", "avg@k")
    assert [row[:3] for row in table.rows] == [("walker", "sampled", k) for k in ("1", "2", "3", "4")]
    assert re.fullmatch(r"33\.3 \[\d+\.\d, \d+\.\d\]", table.rows[3][3])  # 4 of 12 tasks were won at least once
    assert table.rows[3][4].startswith("25.0 [")
    assert {row[5].split()[0] for row in table.rows} == {"29.2"}


def test_pass_at_k_in_every_format(sampled) -> None:
    boards = build_boards([sampled])
    for text in (boards_as_text(boards), run_as_text(sampled), boards_as_markdown(boards), boards_as_html(boards)):
        assert re.search(r"33\.3 \[", text)
        assert "bootstrap of whole tasks" in text
    assert "no interval" not in run_as_text(sampled)
    (row,) = csv.DictReader(io.StringIO(boards_as_csv(boards)))
    assert float(row["pass@4"]) == pytest.approx(1 / 3)
    assert float(row["pass@4.interval_low"]) < 1 / 3 < float(row["pass@4.interval_high"])
    assert row["interval_method"] == "cluster_bootstrap"


def test_runs_without_samples_have_empty_cells(sampled, make_run) -> None:
    rows = list(csv.DictReader(io.StringIO(boards_as_csv(build_boards([sampled, make_run("once", won=12)])))))
    assert [row["pass@2"] == "" for row in rows] == [True, False]


def test_cached_tokens_that_no_server_told_are_a_dash(make_run) -> None:
    (board,) = build_boards([make_run("untold", won=3, usage=Usage(1000, None, 20))])
    (table,) = side_tables(board)
    cells = dict(zip(table.headers, table.rows[0], strict=True))
    assert cells["cached %"] == "-"
    assert cells["prompt tokens"] != "-"


def test_what_a_language_model_used(talk, make_run) -> None:
    (board,) = build_boards([talk, make_run("quiet", won=3)])
    (table,) = side_tables(board)
    cells = dict(zip(table.headers, table.rows[0], strict=True))
    steps = 6 * 8 + 6 * 50
    assert cells["prompt tokens"] == f"{1000 * steps / 12:.0f}"
    assert cells["cached %"] == "60.0"
    assert cells["generated / success"] == f"{20 * steps / 6:.0f}"
    assert cells["agent s"] == f"{0.5 * steps / 12:.2f}"
    assert (cells["unparsable %"], cells["cut %"]) == ("0.0", "0.0")
    assert "cost" not in table.headers
    quiet = dict(zip(table.headers, table.rows[1], strict=True))
    assert (quiet["prompt tokens"], quiet["env s"]) == ("-", f"{0.25 * (3 * 8 + 9 * 50) / 12:.2f}")


def test_costs_follow_the_prices_of_the_model(talk) -> None:
    boards = build_boards([talk], {"small": Prices(prompt=2.0, cached=0.5, generated=10.0)})
    steps = 6 * 8 + 6 * 50
    cost = steps * (400 * 2.0 + 600 * 0.5 + 20 * 10.0) / 1e6
    (row,) = csv.DictReader(io.StringIO(boards_as_csv(boards)))
    assert float(row["cost"]) == pytest.approx(cost)
    assert float(row["cost_per_success"]) == pytest.approx(cost / 6)
    assert f"{cost / 6:.4f}" in boards_as_text(boards)


def test_costs_follow_the_prices_in_the_settings_where_no_others_are_given(make_run) -> None:
    settings = replace(TALKER, prices=Prices(prompt=2.0))
    run = make_run("priced", "talker", won=12, agent_settings=settings, usage=Usage(1000, 0, 20))
    (row,) = csv.DictReader(io.StringIO(boards_as_csv(build_boards([run]))))
    assert float(row["cost"]) == pytest.approx(12 * 8 * 1000 * 2.0 / 1e6)
    (row,) = csv.DictReader(io.StringIO(boards_as_csv(build_boards([run], {"small": Prices(prompt=1.0)}))))
    assert float(row["cost"]) == pytest.approx(12 * 8 * 1000 * 1.0 / 1e6)


def test_a_price_of_a_model_that_did_not_play(talk) -> None:
    with pytest.raises(UnknownNameError, match=r"'smal'; did you mean 'small'"):
        build_boards([talk], {"smal": Prices(prompt=1.0)})


def test_every_side_table_is_whole(talk, sampled) -> None:
    boards = build_boards([talk, sampled])
    markdown = boards_as_markdown(boards)
    tables = [block.splitlines() for block in markdown.split("\n\n") if block.startswith("|")]
    assert len(tables) == 3
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert len(Tables(boards_as_html(boards)).rows) == (1 + 2) + (1 + 4) + (1 + 2)
