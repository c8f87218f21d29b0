"""The main tables of every paper, as they were looked at. To write one again after a change that was meant:

holdergym table holderpo/2 --format md --out tests/leaderboards/golden/holderpo-2.md
holdergym table holderpo/2 --format latex --out tests/leaderboards/golden/holderpo-2.tex
"""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from holdergym.leaderboards.audit import audit
from holdergym.leaderboards.paper_tables import as_csv, as_html, as_latex, as_markdown, latex_escape, paper_table
from holdergym.leaderboards.paper_tables.records import BEST, SECOND
from holdergym.leaderboards.published import TABLES, results_of

from .latex_check import problems_of

GOLDEN = Path(__file__).parent.parent / "golden"
MAIN = (
    *(f"holderpo/{number}" for number in range(1, 8)),
    "s2l-po/1",
    "cov-grpo/main",
    "avspo/icml",
    "avspo/www-1",
    "expo/main",
    "codistill/main",
    "gmpo/math",
    "gigpo/alfworld",
    "apmpo/main",
    "dapo/reproduction",
    "entropy/main",
)
NASTY = '\\input{/etc/passwd} $x$ 50% a_b #1 {y} ~ ^2 <b> | " ` [z] é ö 测 \x1b -> -2'


@pytest.fixture(scope="module")
def tables():
    findings = audit()
    return {table.id: paper_table(table.id, (), findings) for table in TABLES}


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize(("suffix", "write"), [("md", as_markdown), ("tex", as_latex)])
def test_golden_files(tables, name: str, suffix: str, write) -> None:
    golden = GOLDEN / f"{name.replace('/', '-')}.{suffix}"
    assert write([tables[name]]) == golden.read_text(encoding="utf-8")


def test_there_is_no_golden_file_too_many() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {
        f"{name.replace('/', '-')}.{suffix}" for name in MAIN for suffix in ("md", "tex")
    }


def test_marks_of_table_2(tables) -> None:
    table = tables["holderpo/2"]
    column = [each.benchmark for each in table.table.columns].index("Avg")
    ranks = {row.name: row.cells[column].rank for row in table.rows}
    assert [name for name, rank in ranks.items() if rank == BEST] == [
        "qwen2.5-math-1.5b_holderpo-1.5b_p-not-stated",
        "qwen2.5-math-7b_holderpo-dynamic_linear-2-to-minus-2",
        "deepseek-r1-distill-qwen-7b_holderpo-dynamic_linear-2-to-minus-2",
    ]
    assert [name for name, rank in ranks.items() if rank == SECOND] == [
        "qwen2.5-math-1.5b_gmpo-1.5b_0",
        "qwen2.5-math-7b_pmpo_adaptive-in-0-1",
        "deepseek-r1-distill-qwen-7b_pmpo_adaptive-in-0-1",
    ]
    ties = [row.name for row in table.rows if row.cells[0].rank == SECOND and "7b" in row.name and "r1" not in row.name]
    assert len(ties) == 5  # 43.3 five times


def test_lower_is_better_where_it_is(tables) -> None:
    rows = tables["s2l-po/3"].rows
    assert [row.cells[0].rank for row in rows] == [BEST, SECOND, "", ""]
    assert [row.cells[2].rank for row in rows] == [BEST, SECOND, "", ""]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.id)
def test_every_table_has_every_number_in_every_form(tables, table) -> None:
    """Every published value stands in each form; nothing is lost between the data and a page."""
    shown = tables[table.id]
    values = [each.value for each in results_of(table.id) if each.found]
    page, markdown, latex, rows = (write([shown]) for write in (as_html, as_markdown, as_latex, as_csv))
    for value in values:
        if all(character.isdigit() or character in ".-" for character in value):
            assert value in markdown
            assert value in page
            assert latex_escape(value) in latex
    assert rows.count("\n") == len(results_of(table.id)) + 1
    assert problems_of(latex) == []


def test_the_checker_finds_what_it_should() -> None:
    good = "\\begin{tabular}{lr}\na & 1 \\\\\n\\end{tabular}"
    assert problems_of(good) == []
    for bad in (
        good.replace("a &", "a_b &"),
        good.replace("a &", "a & b &"),
        good.replace("a &", "{a &"),
        good.replace("a &", "\\input{x} &"),
        good.replace("a &", "$a &"),
        good.replace("\\end{tabular}", ""),
        good.replace("a &", "ö &"),
    ):
        assert problems_of(bad), bad


def test_text_of_others_is_text_in_latex() -> None:
    escaped = latex_escape(NASTY)
    assert problems_of(escaped) == []
    assert "\\input" not in escaped
    assert "\\'{e} \\\"{o} [U+6D4B] [U+001B] $\\to$ $-$2" in escaped


@pytest.mark.skipif(
    not (shutil.which("pdflatex") or shutil.which("tectonic")), reason="neither pdflatex nor tectonic is installed"
)
@pytest.mark.slow
def test_latex_compiles(tables, tmp_path) -> None:
    document = as_latex(list(tables.values()), standalone=True)
    hostile = f"\\clearpage\n{latex_escape(NASTY)}\n\\end{{document}}"
    (tmp_path / "all.tex").write_text(document.replace("\\end{document}", hostile), encoding="utf-8")
    compiler = shutil.which("pdflatex")
    command = [compiler, "-interaction=nonstopmode", "-halt-on-error"] if compiler else ["tectonic"]
    done = subprocess.run(
        [*command, "all.tex"], cwd=tmp_path, capture_output=True, timeout=240, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 100_000
    assert "Overfull" not in done.stdout
    assert "Float too large" not in done.stdout


class Page(HTMLParser):
    """Collects how many columns rows span, the footnote marks, and what would load something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.widths: list[int] = []
        self.marks: list[str] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [str(given["id"])] if "id" in given else []
        self.loads += (
            [tag] if tag in ("script", "link", "img", "iframe") or {"src", "href", "onclick"} & set(given) else []
        )
        if tag == "tr":
            self.widths.append(0)
        if tag in ("td", "th"):
            self.widths[-1] += int(given.get("colspan") or 1)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "sup":
            self.marks += data.split(",")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.id)
def test_pages_are_whole_and_load_nothing(tables, table) -> None:
    shown = tables[table.id]
    page = Page(as_html([shown]))
    assert page.open == []
    assert set(page.widths) == {len(shown.headers) + len(table.columns)}
    assert page.loads == []
    assert len(page.ids) == len(set(page.ids))
    assert {int(mark) for mark in page.marks} == set(range(1, len(shown.footnotes) + 1))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.id)
def test_markdown_rows_have_all_columns(tables, table) -> None:
    shown = tables[table.id]
    rows = [line for line in as_markdown([shown]).splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(shown.headers) + len(table.columns) + 1}
