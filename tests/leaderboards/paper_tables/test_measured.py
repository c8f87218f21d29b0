"""What was measured stands beside what is published, with all that a number needs, or not at all."""

import csv
import io
from dataclasses import replace

import pytest
from holdergym.envs.errors import ConfigError, HolderGymError, UnknownNameError
from holdergym.envs.math.problems import open_problems
from holdergym.eval.intervals import wilson
from holdergym.leaderboards.paper_tables import (
    as_csv,
    as_html,
    as_latex,
    as_markdown,
    as_text,
    paper_table,
    placed_below,
    placed_by,
)
from holdergym.leaderboards.paper_tables.assembling import EXACT, EXACT_AVERAGE
from holdergym.leaderboards.paper_tables.listing import state_of, tables_as_text
from holdergym.leaderboards.rate_differences import Part, combined

from .conftest import ROW, household_panel

NAME = ROW.rpartition("/")[2]


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def cells_of(table, row):
    found = next(each for each in table.rows if each.name == row)
    return dict(zip((column.benchmark for column in table.table.columns), found.cells, strict=True)), found


def test_a_drawn_run_fills_the_six_types_and_all(measure, runs) -> None:
    panel = household_panel().draw(128, 7)
    run = measure(f"{ROW}/valid_seen", won=100, panel=panel, draw=128, protocol="gigpo-128", max_steps=50)
    table = paper_table("holderpo/3", placed_below(runs))
    cells, row = cells_of(table, NAME)
    whole = cells["All"].measured
    assert (whole.won, whole.total) == (100, 128)
    assert sum(cells[kind].measured.total for kind in ("Pick", "Look", "Clean", "Heat", "Cool", "PickTwo")) == 128
    assert sum(cells[kind].measured.won for kind in ("Pick", "Look", "Clean", "Heat", "Cool", "PickTwo")) == 100
    # Games that were drawn twice are one cluster; the published 93.8 of 128 has Wilson's interval.
    expected, interval = combined([Part(1.0, 100 / 128, whole.interval), Part(-1.0, 0.938, wilson(120, 128))])
    assert whole.method == "cluster_bootstrap"
    assert whole.delta.value == pytest.approx(expected)
    assert whole.delta_interval == pytest.approx((*interval[:2], ""))
    assert not whole.published_exact
    assert cells["Pick"].measured.published_exact  # the paper gives no number of Pick games
    text = " ".join(table.footnotes[number - 1] for number in row.measured_notes)
    assert run.panel.sha256[:12] in text
    assert run.manifest.config_sha256[:12] in text
    assert "llm org/model" in text
    assert f"run {ROW}/valid_seen" in text
    assert "draws of 140" in text
    assert "is the paper's" not in text


def test_a_difference_to_a_number_without_a_count_is_marked_in_every_form(measure, runs) -> None:
    measure(f"{ROW}/valid_seen", won=100, panel=household_panel().draw(128, 7), draw=128, max_steps=50)
    table = paper_table("holderpo/3", placed_below(runs))
    cells, _ = cells_of(table, NAME)
    # The paper says how many games All is of, and not how many each type is of.
    number = table.footnotes.index(EXACT) + 1
    assert {name for name, cell in cells.items() if cell.difference_notes == (number,)} == {
        "Pick", "Look", "Clean", "Heat", "Cool", "PickTwo",
    }  # fmt: skip
    assert cells["All"].difference_notes == ()
    assert not any(cell.difference_notes for row in table.rows if row.name != NAME for cell in row.cells)

    def last_line(text: str) -> str:
        lines = (line for line in text.splitlines() if "95% interval" in line.replace("\\", ""))
        return [line for line in lines if "Measured" not in line][-1]

    text, markdown, latex = as_text([table]), as_markdown([table]), as_latex([table])
    assert last_line(text).count(f"[{number}]") == 6
    assert last_line(markdown).count(f"<sup>{number}</sup>") == 6
    assert last_line(latex).count(f"\\textsuperscript{{{number}}}") == 6
    page = as_html([table])
    assert page[page.rindex('<tr class="interval">') :].partition("</tr>")[0].count(f"<sup>{number}</sup>") == 6
    for form in (text, markdown, latex, page):
        assert " ".join(form.replace("\\", "").split()).count("takes its number as exact") == 1
    rows = {row["benchmark"]: row for row in csv.DictReader(io.StringIO(as_csv([table]))) if row["measured"]}
    assert {name for name, row in rows.items() if row["published_taken_as_exact"] == "yes"} == set(cells) - {"All"}
    assert [name for name, row in rows.items() if f"[{number}] {EXACT}" not in row["footnotes"]] == ["All"]


def test_a_cell_without_a_difference_has_no_mark(measure, runs) -> None:
    measure(f"{ROW}/part", won=5, panel=household_panel().limit(12))
    table = paper_table("holderpo/3", placed_below(runs))
    assert EXACT not in table.footnotes


def test_rows_without_runs_stay_empty(measure, runs) -> None:
    measure(f"{ROW}/valid_seen", won=100, panel=household_panel().draw(128, 7), draw=128)
    table = paper_table("holderpo/3", placed_below(runs))
    assert [row.name for row in table.rows if row.has_measured] == [NAME]
    lines = as_markdown([table]).splitlines()
    assert sum("measured here" in line for line in lines) == 1
    assert not any(row.has_measured for row in paper_table("holderpo/2", placed_below(runs)).rows)


def test_a_part_of_the_panel_and_an_unfinished_run_have_no_difference(measure, runs, tmp_path) -> None:
    measure(f"{ROW}/part", won=5, panel=household_panel().limit(12))
    table = paper_table("holderpo/3", placed_below(runs))
    whole = cells_of(table, NAME)[0]["All"].measured
    assert (whole.won, whole.total, whole.delta.defined) == (5, 12, False)
    assert "only a part of the panel" in whole.delta.cause
    assert "part of the panel, valid_seen[12 of 140]" in " ".join(table.footnotes)
    assert "no difference, as only a part of the panel was played" in " ".join(as_markdown([table]).split("\n"))
    other = tmp_path / "runs" / "holderpo/3/qwen2.5-1.5b-instruct_grpo_1"
    measure(f"{other.relative_to(runs)}/open", won=5, missing=8, panel=household_panel(), protocol="full")
    table = paper_table("holderpo/3", placed_below(runs))
    whole = cells_of(table, "qwen2.5-1.5b-instruct_grpo_1")[0]["All"].measured
    assert "not complete" in whole.delta.cause
    assert "incomplete, 132 of 140 episodes played" in " ".join(table.footnotes)
    assert "protocol full, and gigpo-128 is the paper's" in " ".join(table.footnotes)


def test_the_row_of_an_untrained_model_says_so_if_another_one_played(measure, runs, shared) -> None:
    panel = open_problems("aime2024", shared / "math").panel
    for row, model in (("qwen2.5-math-7b", "org/other"), ("qwen2.5-math-1.5b", "Qwen/Qwen2.5-Math-1.5B")):
        measure(f"holderpo/2/{row}/a", won=5, model=model, panel=panel, env="math", engine=None, max_steps=1)
    notes = " ".join(paper_table("holderpo/2", placed_below(runs)).footnotes)
    assert "model org/other, and the row is about Qwen2.5-Math-7B" in notes
    assert "and the row is about Qwen2.5-Math-1.5B" not in notes


def test_what_was_measured_in_part_is_still_missing(measure, runs) -> None:
    measure(f"{ROW}/part", won=5, panel=household_panel().limit(12))
    row = next(each for each in state_of("holderpo/3", placed_below(runs)).rows if each.row[0].row == NAME)
    assert row.measured[-1] == "All (in part)"
    assert "All" in row.wanted
    assert "--protocol gigpo-128" in row.commands.evaluate


def test_runs_that_do_not_fit_are_refused(measure, runs) -> None:
    measure(f"{ROW}/a", won=5, panel=household_panel("valid_unseen", 134))
    with pytest.raises(HolderGymError, match=r"played alfworld, panel valid_unseen.*its cells are for valid_seen"):
        paper_table("holderpo/3", placed_below(runs))
    measure("holderpo/2/qwen2.5-math-7b_grpo_1/x", won=5, panel=household_panel())
    with pytest.raises(HolderGymError, match=r"no cell for it"):
        paper_table("holderpo/2", placed_below(runs))


def test_a_panel_of_the_same_name_that_is_another_one_is_refused(measure, runs) -> None:
    measure(f"{ROW}/a", won=5, panel=household_panel(size=100))
    with pytest.raises(HolderGymError, match="100 games, and the official one 140"):
        paper_table("holderpo/3", placed_below(runs))


def test_two_runs_for_a_cell_are_refused(measure, runs) -> None:
    for name in ("a", "b"):
        measure(f"{ROW}/{name}", won=5, panel=household_panel())
    with pytest.raises(HolderGymError, match="both fill Pick"):
        paper_table("holderpo/3", placed_below(runs))


def test_who_is_no_language_model_has_no_row(make_run, runs) -> None:
    make_run(f"runs/{ROW}/a", "expert", won=140, panel=household_panel())
    with pytest.raises(HolderGymError, match="expert, which is no language model"):
        paper_table("holderpo/3", placed_below(runs))


def test_a_misplaced_run_is_an_error_and_other_folders_are_left_alone(measure, runs) -> None:
    measure("mine/3/some-row/a", won=5, panel=household_panel())
    measure("lonely", won=5, panel=household_panel())
    assert placed_below(runs) == []
    measure("holderpo/3/qwen2.5-1.5b-instruct_grpo/a", won=5, panel=household_panel())
    with pytest.raises(UnknownNameError, match=r"did you mean 'qwen2\.5-1\.5b-instruct_grpo_1'"):
        placed_below(runs)
    with pytest.raises(HolderGymError, match="no such folder"):
        placed_below(runs / "nowhere")


def test_a_file_of_rows_places_runs_from_anywhere(measure, runs, tmp_path) -> None:
    measure("elsewhere", won=100, panel=household_panel())
    file = tmp_path / "rows.toml"
    file.write_text(f'[[row]]\ntable = "holderpo/3"\nrow = "{NAME}"\nruns = ["runs/elsewhere"]\n')
    table = paper_table("holderpo/3", placed_by(file))
    assert cells_of(table, NAME)[0]["All"].measured.won == 100
    assert "run runs/elsewhere" in " ".join(table.footnotes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must hold"),
        ("rows = 1\n", "must hold"),
        ("[[row]]\ntable = 1\nrow = 2\nruns = ['a']\n", "must be texts"),
        ("[[row]]\ntable = 'holderpo/3'\nrow = 'x'\nruns = []\n", "list of folders"),
        ("[[row]]\ntable = 'holderpo/3'\nrow = 'x'\nruns = ['a']\nmore = 1\n", "nothing else"),
        ("[[row]]\ntable = 'holderpo/33'\nrow = 'x'\nruns = ['a']\n", "did you mean 'holderpo/3'"),
        (
            "[[row]]\ntable = 'holderpo/3'\nrow = 'gmpo'\nruns = ['a']\n",
            "did you mean 'qwen2.5-1.5b-instruct_gmpo_0'",
        ),
        ("[[row]]\ntable = 'holderpo/3'\nrow = 'qwen2.5-1.5b-instruct_grpo_1'\nruns = ['gone']\n", "does not exist"),
        ("=", "not TOML"),
    ],
)
def test_a_bad_file_of_rows_is_one_line(tmp_path, text: str, says: str) -> None:
    file = tmp_path / "rows.toml"
    file.write_text(text)
    with pytest.raises(HolderGymError, match=says) as caught:
        placed_by(file)
    assert "\n" not in str(caught.value)
    with pytest.raises(HolderGymError, match="cannot read"):
        placed_by(tmp_path / "none.toml")
    assert issubclass(ConfigError, HolderGymError)


def test_a_set_of_another_size_has_no_difference(measure, runs, shared) -> None:
    row = "qwen2.5-math-7b_avspo"
    measure(
        f"avspo/www-1/{row}/amc", won=60, panel=open_problems("amc", shared / "math").panel, env="math", engine=None,
        max_steps=1,
    )  # fmt: skip
    measured = cells_of(paper_table("avspo/www-1", placed_below(runs)), row)[0]["AMC"].measured
    assert (measured.won, measured.total) == (60, 83)
    assert measured.delta.cause == "the paper's set has 120 problems and panel amc 83"


@pytest.mark.slow
def test_mathematics_with_average_and_pass_at_8(measure, runs, shared) -> None:
    counts = {
        "aime2024": (30, 12),
        "amc": (83, 50),
        "math500": (500, 400),
        "minerva_math": (272, 90),
        "olympiadbench": (675, 300),
    }
    row = "qwen2.5-math-7b_grpo_1"
    for name, (size, won) in counts.items():
        panel = open_problems(name, shared / "math").panel
        assert len(panel.tasks) == size
        measure(
            f"holderpo/2/{row}/{name}", won=won, panel=panel, env="math", engine=None, max_steps=1,
            protocol="math-greedy-4096",
        )  # fmt: skip
    table = paper_table("holderpo/2", placed_below(runs))
    cells, found = cells_of(table, row)
    assert {name: cells[name].measured.won for name in ("AIME24", "AMC", "OlympiadBench")} == {
        "AIME24": 12, "AMC": 50, "OlympiadBench": 300,
    }  # fmt: skip
    average = cells["Avg"].measured
    assert average.value == pytest.approx(sum(won / size for size, won in counts.values()) / 5)
    assert average.total == 1560
    assert average.delta.value == pytest.approx(average.value - 0.512)
    ends = [Part(0.2, won / size, wilson(won, size)) for size, won in counts.values()]
    assert average.interval == pytest.approx((*combined(ends)[1][:2], ""))
    assert average.interval.low < average.value < average.interval.high
    assert len(found.measured_notes) == 5
    state = state_of("holderpo/2", placed_below(runs))
    assert state.measured == 1
    measured = next(each for each in state.rows if each.row[0].row == row)
    assert (measured.wanted, measured.commands) == ((), None)

    row = "qwen2.5-math-7b_gmpo"  # of notes that give no number of problems
    for name, (_, won) in counts.items():
        panel = open_problems(name, shared / "math").panel
        measure(f"gmpo/math/{row}/{name}", won=won, panel=panel, env="math", engine=None, max_steps=1)
    table = paper_table("gmpo/math", placed_below(runs))
    cells, _ = cells_of(table, row)
    marks = {name: [table.footnotes[number - 1] for number in cell.difference_notes] for name, cell in cells.items()}
    assert marks == {name: [EXACT_AVERAGE if name == "Avg" else EXACT] for name in cells}

    four = "qwen3-4b-base_holderpo_linear-2-to-minus-2"
    panel = open_problems("aime2025", shared / "math").panel
    measure(
        f"holderpo/6/{four}/aime2025", won=100, panel=panel, env="math", engine=None, max_steps=1, samples=8,
        protocol="math-pass-8",
    )  # fmt: skip
    at_8 = cells_of(paper_table("holderpo/6", placed_below(runs)), four)[0]["AIME25"].measured
    # The first 100 of 240 samples are won, so 12 problems each time, one 4 of 8 times, the others never.
    assert at_8.value == pytest.approx(13 / 30)
    assert (at_8.won, at_8.total) == (None, 30)
    one = measure("one", won=3, panel=panel, env="math", engine=None, max_steps=1)
    placed = [replace(placed_below(runs)[-1], run=one, name="one")]
    with pytest.raises(HolderGymError, match="has no pass@8"):
        paper_table("holderpo/6", placed)


def test_a_changed_set_of_problems_is_refused(measure, runs, shared) -> None:
    panel = open_problems("aime2024", shared / "math").panel
    other = type(panel).of("aime2024", [replace(task, digest="0" * 64) for task in panel.tasks])
    measure("holderpo/2/qwen2.5-math-7b_grpo_1/a", won=5, panel=other, env="math", engine=None, max_steps=1)
    with pytest.raises(HolderGymError, match=r"is not the published set \(sha256 c43b342a7dd8\)"):
        paper_table("holderpo/2", placed_below(runs))


def test_a_cell_of_ours_in_csv_has_count_interval_panel_and_run(measure, runs) -> None:
    run = measure(f"{ROW}/a", won=100, panel=household_panel())
    rows = list(csv.DictReader(io.StringIO(as_csv([paper_table("holderpo/3", placed_below(runs))]))))
    mine = [row for row in rows if row["measured"]]
    assert len(mine) == 7
    for row in mine:
        assert row["measured_n"]
        assert row["interval_low"] and row["interval_high"]  # noqa: PT018 - both or neither
        assert row["panel_sha256"] == run.panel.sha256
        assert row["run"] == f"{ROW}/a"
        assert float(row["interval_low"]) <= float(row["measured"]) <= float(row["interval_high"])
    assert all(not row["panel_sha256"] for row in rows if not row["measured"])


NASTY = '</td><script>alert(1)</script>|a`b*c_d"e&f$x$ \\input{/etc/passwd} #~^%{}[x](y) ../../up =1+1 测\x1b[31m\u202e'


def test_what_a_run_is_called_cannot_break_out(measure, runs) -> None:
    measure(f"{ROW}/$x_&%#{{}}~^<b>|`", won=100, panel=household_panel(), agent=NASTY)
    table = paper_table("holderpo/3", placed_below(runs))
    page = as_html([table])
    assert "<script" not in page
    assert "<b>|" not in page
    markdown = as_markdown([table])
    assert "<script" not in markdown
    assert "\\`b\\*c\\_d" in markdown
    assert "\x1b" not in markdown + page
    assert "\u202e" not in markdown + page
    latex = as_latex([table])
    assert "\\input" not in latex
    assert "\\textbackslash{}input\\{/etc/passwd\\}" in latex
    assert latex.isascii()
    spreadsheet = as_csv([table])
    for row in csv.reader(io.StringIO(spreadsheet)):
        assert not any(cell.startswith(("=", "@")) for cell in row)


def test_the_listing_says_what_is_missing_and_how_to_get_it(measure, runs) -> None:
    measure(f"{ROW}/valid_seen", won=100, panel=household_panel())
    text = tables_as_text(["holderpo/3"], placed_below(runs))
    mine = text.split(f"  {NAME}\n")[1]
    assert mine.startswith("    measured: Pick, Look, Clean, Heat, Cool, PickTwo, All")
    assert "train: holdergym train --preset holderpo-alfworld-qwen2.5-1.5b" in text
    assert "--out runs/holderpo/3/qwen2.5-1.5b-instruct_grpo_1/valid_seen" in text
