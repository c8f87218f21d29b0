import csv
import io
import re
from html.parser import HTMLParser

import pytest
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.eval.intervals import wilson
from holdergym.leaderboards.csv_file import boards_as_csv
from holdergym.leaderboards.markdown import boards_as_markdown, escape
from holdergym.leaderboards.page import boards_as_html
from holdergym.leaderboards.rows import build_boards
from holdergym.leaderboards.text import boards_as_text, run_as_text

NASTY = '<script>alert(1)</script>|a`b*c_d"e&f\n# h \x1b[31m[x](y)'


class Tables(HTMLParser):
    """Collects the cells of all tables, and the tags that occur."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self._in_cell = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._in_cell = True
            self.rows[-1].append("")
        if tag == "small":
            self.rows[-1][-1] += " "

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


@pytest.fixture
def boards(make_run):
    return build_boards([make_run("first", "expert", won=12), make_run("second", "walker", won=3, failed=2)])


def test_text(boards) -> None:
    text = boards_as_text(boards)
    assert text.startswith(f"alfworld, panel made_up: 12 tasks, sha256 {boards[0].panel_sha256[:12]}\n")
    lines = text.splitlines()
    expert = next(line for line in lines if line.startswith("expert"))
    assert expert.split()[1:4] == ["100.0", "[75.8,", "100.0]"]
    assert "12/12" in lines[lines.index(expert) + 1]
    assert "walker (second): 2 failed (error or timeout) and left out of the rates" in text
    assert "\n  2 x error: task …: the engine stopped (as in alfworld/made_up/t03)\n" in text
    assert re.search(r"^agent +success % \(95%\) +Pick +Look +Pick2 +steps", text, re.MULTILINE)


def test_text_of_one_run_by_type(make_run) -> None:
    text = run_as_text(make_run("a", won=3, failed=2, missing=1))
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.split()}
    assert rows["all"][:2] == ["3/9", "33.3"]
    assert rows["Pick"][:2] == ["1/3", "33.3"]
    assert "2 of 12 episodes failed" in text
    assert "incomplete: 1 of 12 episodes are missing" in text


def problems_of(*types: str) -> Panel:
    return Panel.of("sums", [Task(f"math/sums/p{i}", kind, f"{i:064x}") for i, kind in enumerate(types)])


def test_a_panel_of_one_type_has_one_row(make_run) -> None:
    for kind in ("all", "algebra"):
        text = run_as_text(make_run(kind, env="math", engine=None, panel=problems_of(kind, kind), won=1))
        assert [line.split()[0] for line in text.splitlines() if "1/2" in line] == [kind]
    (board,) = build_boards([make_run("b", env="math", engine=None, panel=problems_of("all", "all"), won=1)])
    assert boards_as_text([board]).splitlines()[2].split() == ["agent", "success", "%", "(95%)", "steps", "run"]
    assert "| Agent | n | Success % | 95% interval | Steps | Run |" in boards_as_markdown([board])
    assert Tables(boards_as_html([board])).rows[0] == ["Agent", "Success %", "Steps", "Run"]
    text = run_as_text(make_run("c", env="math", engine=None, panel=problems_of("all", "algebra"), won=1))
    assert re.findall(r"^(all.*?) +\d/", text, re.MULTILINE) == ["all", "all types"]


def test_measures_of_games_are_left_out_of_mathematics(make_run) -> None:
    run = make_run("m", env="math", engine=None, panel=problems_of("algebra", "geometry"), won=1)
    boards = build_boards([run])
    csv_of_both = boards_as_csv([*boards, *build_boards([make_run("games")])])
    for text in (run_as_text(run), boards_as_text(boards), boards_as_markdown(boards), boards_as_html(boards)):
        assert not re.search("invalid|path.eff|goal", text, re.IGNORECASE)
        assert "geometry" in text
    assert not re.search("invalid|path_eff|goal", boards_as_csv(boards))
    problems, games = csv.DictReader(io.StringIO(csv_of_both))
    for name in ("invalid_command_rate", "path_efficiency", "goal_condition_success_rate"):
        assert problems[name] == ""
        assert games[name] != ""


def test_types_with_control_characters_stay_in_line(make_run) -> None:
    run = make_run("x", env="math", engine=None, panel=problems_of("a\x1b[31m", "a\nb", "\u202ez"), won=1)
    table = [line for line in run_as_text(run).splitlines() if re.search(r"\d/\d", line)]
    assert len(table) == 4
    assert len(set(map(len, table))) == 1
    assert all(line.isprintable() for line in boards_as_text(build_boards([run])).splitlines())


def test_undefined_numbers_are_a_dash(make_run) -> None:
    text = run_as_text(make_run("a", won=0, failed=12))
    assert next(line.split() for line in text.splitlines() if line.startswith("all")) == ["all", "0/0", *"------"]


def test_markdown(boards) -> None:
    lines = boards_as_markdown(boards).splitlines()
    assert lines[0] == f"**alfworld, panel made\\_up**: 12 tasks, sha256 `{boards[0].panel_sha256[:12]}`, dialect 0.4"
    table = [line for line in lines if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    cells = [cell.strip() for cell in table[2].strip("|").split("|")]
    assert cells[:5] == ["expert", "12", "100.0", "[75.8, 100.0]", "100.0 (4/4) [51.0, 100.0]"]


def test_csv_has_every_number_in_full(boards) -> None:
    rows = list(csv.DictReader(io.StringIO(boards_as_csv(boards))))
    assert [row["agent"] for row in rows] == ["expert", "walker"]
    assert float(rows[1]["success_rate"]) == 3 / 10
    assert float(rows[1]["success_rate_failed_as_lost"]) == 3 / 12
    assert rows[1]["errors"] == "2"
    assert rows[0]["panel_sha256"] == boards[0].panel_sha256
    assert rows[0]["pick_two_obj_and_place.won"] == "4"
    kind = "pick_two_obj_and_place"
    ends = float(rows[0][f"{kind}.interval_low"]), float(rows[0][f"{kind}.interval_high"])
    assert ends == pytest.approx(wilson(4, 4)[:2])
    assert float(rows[0]["interval_low"]) == wilson(12, 12).low
    assert rows[0]["interval_method"] == "wilson"


def test_csv_of_several_panels_keeps_them_apart(make_run, panel_of) -> None:
    boards = build_boards([make_run("a"), make_run("b", panel=panel_of("later", size=1))])
    rows = list(csv.DictReader(io.StringIO(boards_as_csv(boards))))
    assert [row["panel"] for row in rows] == ["later", "made_up"]
    assert rows[0]["look_at_obj_in_light.finished"] == ""
    assert rows[1]["look_at_obj_in_light.finished"] == "4"


def test_csv_leaves_undefined_numbers_empty(make_run) -> None:
    rows = list(csv.DictReader(io.StringIO(boards_as_csv(build_boards([make_run("a", won=0, failed=12)])))))
    assert (rows[0]["success_rate"], rows[0]["interval_low"], rows[0]["won"]) == ("", "", "0")


def test_html(boards) -> None:
    tables = Tables(boards_as_html(boards))
    assert tables.rows[0][:3] == ["Agent", "Success %", "Pick"]
    assert tables.rows[1][:3] == ["expert", "100.0 12/12 [75.8, 100.0]", "100.0 4/4 [51.0, 100.0]"]
    assert len({len(row) for row in tables.rows}) == 1


def test_a_name_with_markup_stays_a_name(make_run, panel_of) -> None:
    panel = panel_of(NASTY.replace("/", ""), size=3)
    boards = build_boards([make_run("a", NASTY, panel=panel)])
    shown = NASTY.replace("\n", "?").replace("\x1b", "?")

    page = boards_as_html(boards)
    tables = Tables(page)
    assert tables.rows[1][0] == shown
    assert "script" not in tables.tags
    assert "<script" not in page

    markdown = boards_as_markdown(boards)
    table = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(table) == 3
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert "<" not in markdown

    for text in (boards_as_text(boards), run_as_text(make_run("b", NASTY, panel=panel)), boards_as_csv(boards)):
        assert "\x1b" not in text
    assert len(list(csv.reader(io.StringIO(boards_as_csv(boards))))) == 2


def test_markdown_renders_an_escaped_name_as_it_is() -> None:
    markdown_it = pytest.importorskip("markdown_it")
    shown = NASTY.replace("\n", "?").replace("\x1b", "?")
    rendered = markdown_it.MarkdownIt().enable("table").render(f"| a |\n|---|\n| {escape(NASTY)} |\n")
    tables = Tables(rendered)
    assert tables.rows[1] == [shown]
    assert tables.tags == {"table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum(a)"])
def test_csv_names_are_no_formulas(make_run, name: str) -> None:
    rows = list(csv.DictReader(io.StringIO(boards_as_csv(build_boards([make_run("a", name)])))))
    assert rows[0]["agent"] == f"'{name}"
