"""The site in a real headless Chromium, opened from disk: pictures, filters, phones, contrast, hostile runs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from holdergym.leaderboards.site.building import build_site
from holdergym.leaderboards.site.gathering import gather
from holdergym.leaderboards.site.writing import write_site

from ...eval.viewer.test_browser import CONTRAST
from .conftest import Built
from .hostile import write_hostile_run, write_hostile_training

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DRAWN = "() => [...document.querySelectorAll('.plot')].every((plot) => plot.classList.contains('drawn'))"
WIDER = """() => JSON.stringify([...document.querySelectorAll('body *')]
  .filter((one) => !one.closest('.scroll, .paper-table, pre, .plot, .hidden, .skip'))
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => one.outerHTML.slice(0, 80)))"""


class Opened(NamedTuple):
    page: "Page"
    complaints: list[str]
    requests: list[str]


Open = Callable[..., Opened]


@pytest.fixture
def open_site(browser: "Browser") -> Iterator[Open]:
    contexts = []

    def open_(
        folder: Path, path: str, *, width: int = 1300, scheme: str = "light", scripts: bool = True, fragment: str = ""
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 850}, color_scheme=scheme, java_script_enabled=scripts
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        opened = Opened(page, [], [])
        page.on("console", lambda message: opened.complaints.append(message.text))
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.on("request", lambda request: opened.requests.append(request.url))
        page.goto((folder / path).as_uri() + fragment)
        return opened

    yield open_
    for context in contexts:
        context.close()


def draw_all(page: "Page") -> None:
    """Scrolls through the page, as pictures are drawn when they come near the screen."""
    for place in page.locator(".plot").all():
        place.scroll_into_view_if_needed()
    page.wait_for_function(DRAWN)


def ranking_of(built: Built) -> str:
    return next(path for path in built.site.files if path.startswith("rankings/expert"))


def page_named(built: Built, start: str) -> str:
    return next(path for path in built.site.files if path.startswith(start))


def test_pictures_are_drawn_from_disk_without_the_network(built: Built, open_site: Open) -> None:
    page, complaints, requests = open_site(built.folder, ranking_of(built))
    draw_all(page)
    assert page.locator(".plot").count() == 2
    assert page.locator("#pass-at-k .scatterlayer .trace").count() == 6  # two runs, each with the two ends of its band
    assert page.locator("#steps .scatterlayer .trace").count() == 4
    assert complaints == []
    root = built.folder.as_uri()
    assert all(url.startswith(root) for url in requests)
    assert sum(url.endswith("plotly.min.js") for url in requests) == 1


def test_the_library_is_not_loaded_where_nothing_is_drawn(built: Built, open_site: Open) -> None:
    page, complaints, requests = open_site(built.folder, "index.html")
    page.wait_for_timeout(300)
    assert [url.rpartition("/")[2] for url in requests] == ["index.html"]
    assert complaints == []


def test_numbers_in_a_picture_are_those_of_the_run(built: Built, open_site: Open) -> None:
    page, _, _ = open_site(built.folder, ranking_of(built))
    draw_all(page)
    found = json.loads(
        page.evaluate("() => JSON.stringify(document.querySelector('#pass-at-k').data.filter((t) => t.hovertemplate))")
    )
    summary = json.loads((built.runs / "random" / "summary.json").read_text())
    (curve,) = [trace for trace in found if trace["name"] == "random"]
    for k, value in zip(curve["x"], curve["y"], strict=True):
        assert value == pytest.approx(summary["overall"]["at_k"][f"pass@{k}"]["value"], rel=1e-5)


def test_a_run_is_switched_off_in_all_pictures(built: Built, open_site: Open) -> None:
    page, complaints, _ = open_site(built.folder, ranking_of(built))
    draw_all(page)
    page.locator(".chip", has_text="expert").click()
    assert page.locator("#pass-at-k .scatterlayer .trace").count() == 3
    assert page.locator("#steps .scatterlayer .trace").count() == 3
    assert page.locator(".chip", has_text="expert").get_attribute("aria-pressed") == "false"
    page.locator(".chip", has_text="expert").click()
    assert page.locator("#steps .scatterlayer .trace").count() == 4
    assert complaints == []


def test_training_curves_share_an_axis_of_rounds(built: Built, open_site: Open) -> None:
    page, complaints, _ = open_site(built.folder, page_named(built, "training/trained"))
    draw_all(page)
    traces = json.loads(page.evaluate("() => JSON.stringify(document.querySelector('#exponent').data)"))
    assert [(trace["name"], trace["yaxis"]) for trace in traces] == [
        ("Hölder exponent p", "y"),
        ("collapsed groups (ACR)", "y"),
        ("entropy", "y2"),
        ("KL to the reference", "y2"),
    ]
    assert {tuple(trace["x"]) for trace in traces} == {(1, 2, 3, 4, 5, 6)}
    assert complaints == []


def test_filters_hide_rows_and_whole_rankings(built: Built, open_site: Open) -> None:
    page, complaints, _ = open_site(built.folder, "index.html")
    page.select_option("select[name=model]", "random")
    assert page.locator("tr[data-key]:visible").count() == 2
    assert page.locator("section:visible").count() == 1
    assert "2 of 5 runs" in page.inner_text("#filters output")
    ranks = page.locator("tr[data-key]:visible .rank").all_inner_texts()
    assert ranks == ["3", "3"]
    page.select_option("select[name=panel]", "math: builtin_valid[10 of 200]")
    assert page.locator("#nothing").is_visible()
    address = page.evaluate("location.hash")
    again, _, _ = open_site(built.folder, "index.html", fragment=address)
    assert again.locator("#nothing").is_visible()
    again.get_by_role("button", name="Show all").click()
    assert again.locator("tr[data-key]:visible").count() == 5
    again.select_option("select[name=dialect]", "none")
    assert again.locator("section:visible h2").all_inner_texts() == ["math: builtin_valid[10 of 200]"]
    again.select_option("select[name=dialect]", "")
    again.select_option("select[name=method]", "scripted")
    assert again.locator("tr[data-key]:visible").count() == 5
    assert complaints == []


def test_a_hostile_address_filters_nothing(built: Built, open_site: Open) -> None:
    page, complaints, _ = open_site(
        built.folder, "index.html", fragment="#model=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&__proto__=x"
    )
    assert page.locator("tr[data-key]:visible").count() == 5
    assert complaints == []


def test_tables_are_there_without_scripts(built: Built, open_site: Open) -> None:
    page, _, requests = open_site(built.folder, ranking_of(built), scripts=False)
    assert page.locator(".ranking tbody tr:visible").count() == 4
    assert page.locator(".heat tbody tr:visible").count() == 4
    assert page.locator(".pairs tbody tr:visible").count() == 4
    assert not page.locator(".chip:visible").count()
    page.locator("details summary", has_text="Numbers").first.click()
    assert page.locator("details table:visible").count() >= 1
    assert len(requests) == 1
    first, _, _ = open_site(built.folder, "index.html", scripts=False)
    assert first.locator("tr[data-key]:visible").count() == 5
    assert not first.locator("#filters").is_visible()


@pytest.mark.parametrize("width", [320, 375, 820])
def test_nothing_is_wider_than_a_phone(built: Built, open_site: Open, width: int) -> None:
    paths = ["index.html", "training.html", "reading.html", "papers.html", ranking_of(built)]
    paths += ["papers/holderpo.html", "papers/avspo.html"]
    paths += [page_named(built, start) for start in ("runs/random", "training/trained")]
    for path in paths:
        page, _, _ = open_site(built.folder, path, width=width)
        draw_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert json.loads(page.evaluate(WIDER)) == [], path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_names_of_a_published_table_stay_while_its_numbers_scroll(
    built: Built, open_site: Open, scheme: str
) -> None:
    page, _, _ = open_site(built.folder, "papers/holderpo.html", width=390, scheme=scheme)
    box = page.locator("#holderpo-2 .paper-table")
    name, block = box.locator("tbody td.label").first, box.locator("tr.block span").first
    number = box.locator("tbody tr:not(.block) td:not(.label)").first
    before = [one.bounding_box() for one in (name, block, number)]
    box.focus()  # the keyboard reaches it
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('#holderpo-2 .paper-table').scrollLeft > 100")
    page.wait_for_timeout(500)  # it glides there
    after = [one.bounding_box() for one in (name, block, number)]
    assert [one["x"] for one in after[:2]] == pytest.approx([one["x"] for one in before[:2]], abs=1.5)
    assert after[2]["x"] < before[2]["x"] - 100
    assert before[0]["width"] < 150  # of 390: the numbers have the rest
    ground = name.evaluate("(one) => getComputedStyle(one).backgroundColor")
    assert ground.startswith("rgb(")  # nothing shines through
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_ranking_fits_on_a_phone_without_scrolling(built: Built, open_site: Open) -> None:
    page, _, _ = open_site(built.folder, "index.html", width=375)
    inner, outer = page.evaluate(
        "(() => { const s = document.querySelector('.scroll'); return [s.scrollWidth, s.clientWidth]; })()"
    )
    assert inner <= outer


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_ground(built: Built, open_site: Open, scheme: str) -> None:
    """WCAG 2.2 AA: 4.5 to 1, and 3 to 1 for large texts, which are not told apart here."""
    for path in (
        "index.html", "training.html", "papers.html", "papers/gmpo.html", ranking_of(built),
        page_named(built, "runs/expert"),
    ):  # fmt: skip
        page, _, _ = open_site(built.folder, path, scheme=scheme)
        for fold in page.locator("details").all():
            fold.evaluate("(one) => { one.open = true; }")
        found = json.loads(page.evaluate(CONTRAST))
        assert len(found) > 40
        assert [one for one in found if one[0] < 4.5] == [], path


def test_pictures_follow_the_scheme(built: Built, open_site: Open) -> None:
    page, _, _ = open_site(built.folder, ranking_of(built))
    draw_all(page)
    ground = "() => document.querySelector('#steps').layout.paper_bgcolor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("(light) => document.querySelector('#steps').layout.paper_bgcolor !== light", arg=light)
    draw_all(page)


def test_a_page_without_the_library_keeps_its_numbers(built: Built, open_site: Open, tmp_path: Path) -> None:
    files = {path: content for path, content in built.site.files.items() if not path.startswith("assets/")}
    write_site(files, tmp_path / "site")
    page, _, _ = open_site(tmp_path / "site", ranking_of(built))
    page.locator("#steps").scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('#steps').textContent.includes('could not be drawn')")


def test_episodes_are_a_click_away(built: Built, open_site: Open) -> None:
    page, complaints, _ = open_site(built.folder, "index.html")
    page.locator(".ranking a", has_text="expert").first.click()
    page.get_by_role("link", name="Read the episodes turn by turn").click()
    page.wait_for_selector("#rows .row")
    assert page.title() == "expert · HölderGym run viewer"
    assert complaints == []


def test_hostile_runs_do_nothing(open_site: Open, tmp_path: Path) -> None:
    for number in range(3):
        write_hostile_run(tmp_path / "runs" / f"<b>{number}", number)
    write_hostile_training(tmp_path / "runs" / '"><svg onload=window.hacked=1>')
    site = build_site(gather([tmp_path / "runs"]))
    write_site(site.files, tmp_path / "site")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["runs", "site"]
    for path in site.files:
        if not path.endswith(".html"):
            continue
        page, complaints, requests = open_site(tmp_path / "site", path)
        if not path.startswith("episodes/"):
            draw_all(page)
            for place in page.locator(".plot").all():
                place.hover()
            page.wait_for_timeout(50)
            assert page.locator("main img, main iframe, .plot a, .plot b").count() == 0, path
        assert page.evaluate("window.hacked") is None, path
        assert complaints == [], path
        assert all(url.startswith((tmp_path / "site").as_uri()) for url in requests), path


def test_a_script_that_got_in_would_not_run(built: Built, open_site: Open, tmp_path: Path) -> None:
    """Should a text ever become markup, the policy still stops what it would do."""
    text = built.site.files["index.html"].decode()
    evil = (
        '<script>window.hacked = 1</script><img src="x.png" onerror="window.hacked = 2"><script src="evil.js"></script>'
    )
    files = dict(built.site.files) | {"index.html": text.replace("<main", evil + "<main").encode()}
    write_site({**files, "evil.js": b"window.hacked = 3"}, tmp_path / "site")
    page, complaints, _ = open_site(tmp_path / "site", "index.html")
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert len(complaints) >= 3
    assert page.locator("tr[data-key]:visible").count() == 5
