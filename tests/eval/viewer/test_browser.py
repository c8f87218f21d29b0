"""The page in a real headless Chromium: clicks, filters, keys, hostile replies, two runs, links, contrast, phones."""

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from holdergym.agents.trajectory import Outcome, Turn
from holdergym.eval import evaluate
from holdergym.eval.config import EvalConfig
from holdergym.eval.episode import episode_from_line

from .conftest import GOAL, OpenPage, WriteRun, rows_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    '<img src="x" onerror="window.hacked = 2">',
    "<svg onload=window.hacked=3></svg>",
    "<!-- <script> --><style>body { display: none }</style>",
    '"><a href="javascript:window.hacked=4">look</a>',
    "[[script]] ${window.hacked = 5} {{7*7}}",
]

CONTRAST = """() => {
  const parse = (text) => {
    const numbers = text.match(/[\\d.]+/g).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [...numbers.slice(0, 3).map((n) => n * scale), numbers[3] ?? 1];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const style = getComputedStyle(element);
    const back = ground(element);
    const front = over(parse(style.color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), node.data.trim().slice(0, 40), element.className]);
  }
  return JSON.stringify(found);
}"""


def wait_for_rows(page: "Page", count: int) -> None:
    """The search waits a moment for the next letter."""
    from playwright.sync_api import expect

    expect(page.locator("#rows .row")).to_have_count(count)


def wait_for_lists(page: "Page", count: int) -> None:
    """A browser tells a page of a fold that was opened a moment later."""
    from playwright.sync_api import expect

    expect(page.locator(".offers ul")).to_have_count(count)


def test_it_opens_from_disk_without_a_complaint_or_the_network(played: dict[str, Path], open_page: OpenPage) -> None:
    page, complaints, requests = open_page(played["random"])
    assert page.title() == "random · HölderGym run viewer"
    head = page.inner_text("#head")
    assert "builtin_valid[12 of 60]" in head
    summary = json.loads((played["random"] / "summary.json").read_text())
    low, high = (100 * summary["overall"]["interval"][end] for end in ("low", "high"))
    assert f"of 12 won · 95% [{low:.1f}, {high:.1f}]" in head
    assert summary["panel"]["sha256"][:12] in head
    assert summary["config_sha256"] in page.inner_text("#reader")
    assert len(rows_of(page)) == 12
    page.keyboard.press("j")
    assert complaints == []
    assert all(url.startswith("file:") and url.endswith("view.html") for url in requests)
    assert len(requests) == 1


def test_numbers_are_rounded_as_the_tables_round_them(played: dict[str, Path], open_page: OpenPage) -> None:
    """5 of 16 are 31.25 %: 31.2 for Python, 31.3 for toFixed."""
    page, _, _ = open_page(played["random"])
    source = (files("holdergym.eval.viewer") / "text.js").read_text(encoding="utf-8")

    def shown(expression: str, numbers: list[float]) -> list[str]:
        text = page.evaluate(
            f"(numbers) => {{ {source}\n return JSON.stringify(numbers.map({expression})); }}", numbers
        )
        return json.loads(text)

    shares = sorted({won / total for total in range(1, 161) for won in range(total + 1)})
    assert shown("(share) => percent(share)", shares) == [f"{100 * share:.1f}" for share in shares]
    assert shown("(share) => percent(share, 0)", shares) == [f"{100 * share:.0f}" for share in shares]
    assert shown("(steps) => fixed(steps, 1)", [7.25, 7.35, 0.05, 99.95]) == ["7.2", "7.3", "0.1", "100.0"]
    assert shown("(number) => percent(number)", [5 / 16]) == ["31.2"]
    assert shown("(number) => (100 * number).toFixed(1)", [5 / 16]) == ["31.3"]


def test_the_policy_stops_what_would_reach_the_network(played: dict[str, Path], open_page: OpenPage) -> None:
    page, complaints, _ = open_page(played["random"])
    asked: list[str] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        urllib.request.urlopen(f"{address}/from-the-test", timeout=10).close()
        outcome = page.evaluate("(url) => fetch(url).then(() => 'sent', (error) => error.name)", f"{address}/fetch")
        page.evaluate(
            """(url) => new Promise((stopped) => {
                const image = new Image();
                image.onerror = stopped;
                image.src = url;
                document.body.append(image);
            }).then(() => null)""",
            f"{address}/image",
        )
        server.shutdown()
    assert outcome == "TypeError"
    assert asked == ["/from-the-test"]
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.text = "window.hacked = 1";
            document.body.append(script);
        }"""
    )
    assert page.evaluate("window.hacked") is None
    assert sum("Content Security Policy" in text for text in complaints) >= 3


def test_a_reply_with_markup_shows_as_text(write_run: WriteRun, open_page: OpenPage) -> None:
    turns = [
        Turn(GOAL if number == 0 else text, text, False, 0.0, reply=text, finish="stop", snapped_from=text)
        for number, text in enumerate(HOSTILE)
    ]
    run = write_run("hostile", [turns], agent=HOSTILE[1], final=HOSTILE[0])
    page, complaints, requests = open_page(run)
    page.keyboard.press("j")
    replies = page.eval_on_selector_all(".reply", "(all) => all.map((one) => one.textContent)")
    actions = page.eval_on_selector_all(".action code", "(all) => all.map((one) => one.textContent)")
    assert replies == actions == HOSTILE
    assert page.inner_text(".agent") == HOSTILE[1]
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('img, svg, #reader a, #reader script, body style').length") == 0
    assert page.is_visible(".reply >> nth=0")
    assert complaints == []
    assert len(requests) == 1


def test_admissible_commands_are_folded_away_with_the_chosen_one_marked(
    played: dict[str, Path], open_page: OpenPage
) -> None:
    lines = [json.loads(line) for line in (played["random"] / "episodes.jsonl").read_text().splitlines()]
    first = min(lines, key=lambda line: line["task_id"])
    turns = episode_from_line(json.dumps(first).encode()).trajectory.turns
    offered = [list(turn.admissible_commands) for turn in turns]
    page, complaints, _ = open_page(played["random"])
    page.keyboard.press("j")
    summaries = page.locator(".offers summary")
    assert summaries.all_text_contents() == [f"{len(commands)} commands were admissible" for commands in offered]
    assert page.locator(".offers ul").count() == 0
    for summary in summaries.all():
        summary.click()
    wait_for_lists(page, len(offered))
    shown = page.eval_on_selector_all(
        ".offers", "(all) => all.map((one) => [...one.querySelectorAll('li code')].map((code) => code.textContent))"
    )
    assert shown == offered
    chosen = page.eval_on_selector_all(".offers .chosen code", "(all) => all.map((one) => one.textContent)")
    assert chosen == [turn["action"] for turn in first["turns"]]
    assert complaints == []


def test_a_command_that_was_not_admissible_is_said_not_to_be_among_them(
    write_run: WriteRun, open_page: OpenPage
) -> None:
    hostile = (*HOSTILE, "look")  # in no order, so that they are not written as what comes and goes
    turns = [
        Turn(GOAL, "fly", False, 0.0, admissible_commands=hostile),
        Turn("Nothing happens.", " look ", True, 0.0, admissible_commands=hostile),
        Turn("Again.", "look", False, 0.0, reply="hm", finish="stop", unparsable=True, admissible_commands=("look",)),
        Turn("And again.", "42", True, 0.0),
    ]
    page, complaints, _ = open_page(write_run("offers", [turns]))
    page.keyboard.press("j")
    assert page.locator(".offers").count() == 3
    for summary in page.locator(".offers summary").all():
        summary.click()
    wait_for_lists(page, 3)
    first, second, third = (page.locator(".offers").nth(number) for number in range(3))
    assert "fly is not among them." in first.inner_text()
    assert first.locator(".chosen").count() == 0
    assert first.locator("li code").all_text_contents() == list(hostile)
    assert second.locator(".chosen code").all_text_contents() == ["look"]
    assert "not among them" not in second.inner_text()
    assert third.locator("summary").inner_text() == "1 command was admissible"
    assert "No command was found in the reply." in third.inner_text()
    assert third.locator(".chosen").count() == 0
    assert page.evaluate("window.hacked") is None
    assert complaints == []


def test_characters_that_cannot_be_seen_are_spelled_out(write_run: WriteRun, open_page: OpenPage) -> None:
    reply = "go\u202eksed ot\u202c \x00\x1b[31m \u200b\u2066 \ufeff \ud83d end\nline two\ttab 👩\u200d🚀 مرحبا"
    run = write_run("unseen", [[Turn(GOAL, "look", True, 0.0, reply=reply, finish="stop")]])
    page, complaints, _ = open_page(run)
    page.keyboard.press("j")
    codes = page.eval_on_selector_all(".reply .unseen", "(all) => all.map((one) => one.textContent)")
    assert codes == ["U+202E", "U+202C", "U+0000", "U+001B", "U+200B", "U+2066", "U+FEFF", "U+D83D"]
    shown = page.text_content(".reply")
    assert shown.endswith(" end\nline two\ttab 👩\u200d🚀 مرحبا")
    assert complaints == []


def test_chips_fields_and_search_narrow_the_list(write_run: WriteRun, open_page: OpenPage) -> None:
    def turns(steps: int, invalid: int, word: str) -> list[Turn]:
        first = Turn(GOAL.replace("mug", word), "look", invalid < 1, 0.0)
        return [first, *(Turn(f"Step {n} of {word}.", f"go to {word} {n}", n >= invalid, 0.0) for n in range(1, steps))]

    run = write_run(
        "mixed",
        [turns(3, 0, "cup"), turns(9, 2, "pan"), turns(5, 5, "pot"), turns(7, 0, "fork")],
        outcomes=[Outcome.WON, Outcome.LIMIT, Outcome.LIMIT, Outcome.ERROR],
    )
    page, complaints, _ = open_page(run)
    assert page.inner_text("#count") == "4 episodes"
    page.click(".chip.limit")
    assert rows_of(page) == ["put a pan in desk", "put a pot in desk"]
    assert page.inner_text("#count") == "2 of 4 episodes"
    page.click(".chip.won")
    assert len(rows_of(page)) == 3
    page.click("#clear")
    assert len(rows_of(page)) == 4
    page.click("#more summary")
    page.select_option("#invalid", "some")
    assert rows_of(page) == ["put a pan in desk", "put a pot in desk"]
    page.select_option("#invalid", "half")
    assert rows_of(page) == ["put a pot in desk"]
    page.select_option("#invalid", "any")
    page.fill("#least", "5")
    page.fill("#most", "7")
    wait_for_rows(page, 2)
    assert rows_of(page) == ["put a pot in desk", "put a fork in desk"]
    page.fill("#least", "")
    page.fill("#most", "")
    wait_for_rows(page, 4)
    page.select_option("#sort", "most")
    assert [row.split()[2] for row in rows_of(page)] == ["pan", "fork", "pot", "cup"]
    page.fill("#query", '"step 6" FORK')
    wait_for_rows(page, 1)
    assert rows_of(page) == ["put a fork in desk"]
    page.keyboard.press("Enter")
    assert page.text_content("h1") == "put a fork in desk"
    assert page.evaluate("CSS.highlights.get('found').size") >= 2
    page.fill("#query", "no such thing")
    wait_for_rows(page, 0)
    assert page.inner_text("#count") == "0 of 4 episodes"
    assert complaints == []


def test_the_keyboard_goes_everywhere(played: dict[str, Path], open_page: OpenPage) -> None:
    page, complaints, _ = open_page(played["random"])
    goals = rows_of(page)

    def heading() -> str:
        return page.text_content("h1")

    assert heading() == "About this run"
    page.keyboard.press("j")
    assert heading() == goals[0]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    assert heading() == goals[2]
    assert page.get_attribute("#rows .row[aria-selected=true]", "aria-posinset") == "3"
    page.keyboard.press("k")
    assert heading() == goals[1]
    page.keyboard.press("G")
    assert heading() == goals[11]
    page.keyboard.press("j")
    assert heading() == goals[11]
    page.keyboard.press("g")
    assert heading() == goals[0]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "reader"
    page.keyboard.press("n")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Turn 2"
    page.keyboard.press("p")
    assert page.evaluate("document.querySelector('.turn.current').dataset.turn") == "0"
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("j")
    assert heading() == goals[0]
    page.keyboard.press("Escape")
    assert not page.is_visible("#help")
    assert heading() == goals[0]
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("d")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.keyboard.press("/")
    page.keyboard.type("jjj")
    assert page.input_value("#query") == "jjj"
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    assert page.input_value("#query") == ""
    page.keyboard.press("Escape")
    assert heading() == "About this run"
    assert complaints == []


def test_the_head_says_how_unequal_numbers_of_samples_are_paired(tmp_path: Path, open_page: OpenPage) -> None:
    for samples in (1, 2):
        evaluate(EvalConfig(panel="builtin_valid", limit=2, max_steps=2, samples=samples, out=tmp_path / str(samples)))
    page, complaints, _ = open_page(tmp_path / "1", tmp_path / "2")
    assert "A has 1 sample of each task and B 2: sample 0 stands beside sample 0" in page.inner_text("#head")
    assert len(rows_of(page)) == 4
    assert sum(page.eval_on_selector_all(".cross button", "(all) => all.map((one) => Number(one.textContent))")) == 2
    assert complaints == []


def test_two_runs_stand_side_by_side(played: dict[str, Path], open_page: OpenPage) -> None:
    page, complaints, _ = open_page(played["random"], played["expert"])
    lines = {
        name: {line["task_id"]: line for line in map(json.loads, (run / "episodes.jsonl").read_text().splitlines())}
        for name, run in played.items()
    }
    differ = [task for task in lines["random"] if lines["random"][task]["outcome"] != lines["expert"][task]["outcome"]]
    cross = page.eval_on_selector_all(".cross button", "(all) => all.map((one) => Number(one.textContent))")
    assert sum(cross) == 12
    assert cross[2] == len(differ) > 0
    page.click(".cross button >> nth=2")
    assert len(rows_of(page)) == len(differ)
    page.click(".row >> nth=0")
    task = page.inner_text(".identity")
    assert task in differ
    for run, name in enumerate(("random", "expert")):
        actions = page.eval_on_selector_all(
            f".turn[data-run='{run}'] .action code", "(all) => all.map((one) => one.textContent)"
        )
        assert actions == [turn["action"] for turn in lines[name][task]["turns"]]
    both = [page.locator(f".turn[data-turn='0'][data-run='{run}']").bounding_box() for run in (0, 1)]
    assert both[0]["y"] == both[1]["y"]
    assert both[0]["x"] + both[0]["width"] < both[1]["x"]
    assert complaints == []


def test_the_place_is_marked_where_two_runs_part(write_run: WriteRun, open_page: OpenPage) -> None:
    def turns(*commands: str) -> list[Turn]:
        return [Turn(GOAL if number == 0 else "Next.", text, True, 0.0) for number, text in enumerate(commands)]

    first = write_run("first", [turns("look", "go to desk 1", "help"), turns("look")])
    second = write_run("second", [turns("look", "go to desk 1", "inventory"), turns("look")])
    page, _, _ = open_page(first, second)
    page.keyboard.press("j")
    assert page.eval_on_selector(".parting", "(mark) => mark.nextElementSibling.dataset.turn") == "2"
    page.keyboard.press("j")
    assert page.locator(".parting").count() == 0


def test_runs_under_other_conditions_are_named_as_such(
    played: dict[str, Path], tmp_path: Path, open_page: OpenPage
) -> None:
    evaluate(EvalConfig(panel="builtin_valid", limit=12, max_steps=30, seed=1, out=tmp_path / "longer"))
    page, _, _ = open_page(played["random"], tmp_path / "longer")
    assert "max_steps: 20 and 30" in page.inner_text(".notice")
    page, _, _ = open_page(played["random"], played["expert"])
    assert page.locator(".notice").count() == 0


def test_samples_are_told_apart_and_give_pass_at_k(tmp_path: Path, open_page: OpenPage) -> None:
    evaluate(EvalConfig(panel="builtin_valid", limit=3, samples=2, max_steps=5, out=tmp_path / "twice"))
    page, complaints, _ = open_page(tmp_path / "twice")
    summary = json.loads((tmp_path / "twice" / "summary.json").read_text())["overall"]
    shown = page.inner_text(".narrow")
    assert "pass@k" in shown
    assert "pass^k" in shown
    assert len(rows_of(page)) == 6
    assert f"{summary['won']} of 6 won" in page.inner_text("#head")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.inner_text(".kicker").endswith("sample 1")
    address = page.evaluate("location.hash")
    assert address.endswith("sample=1")
    assert complaints == []


def test_a_link_opens_its_episode_and_turn(played: dict[str, Path], open_page: OpenPage) -> None:
    line = json.loads((played["random"] / "episodes.jsonl").read_text().splitlines()[-1])
    from playwright.sync_api import expect

    fragment = f"#task={line['task_id']}&sample=0&turn=3"
    page, complaints, _ = open_page(played["random"], fragment=fragment)
    assert page.inner_text(".identity") == line["task_id"]
    assert page.evaluate("document.querySelector('.turn.current').dataset.turn") == "2"
    page.keyboard.press("k")
    moved = page.inner_text(".identity")
    assert moved != line["task_id"]
    page.goto(page.url)
    page.reload()
    assert page.inner_text(".identity") == moved
    page.evaluate("location.hash = '#task=nowhere&sample=0'")
    expect(page.locator("[role=alert]")).to_contain_text("no episode of nowhere")
    assert complaints == []


def test_tokens_are_shaded_and_told_of(spoken: Path, open_page: OpenPage) -> None:
    page, complaints, _ = open_page(spoken)
    page.keyboard.press("j")
    assert page.text_content(".reply >> nth=0") == "I need a mug. <action>go to desk 1</action><|end|>"
    assert page.text_content(".reply >> nth=1") == "Žluťoučký kůň 🐎, said 漢字<|end|>"
    assert page.locator(".token.shaded").count() == 2
    shaded = "getComputedStyle(document.querySelector('.token.shaded')).backgroundColor"
    assert page.evaluate(shaded) != "rgba(0, 0, 0, 0)"
    page.hover(".token.shaded >> nth=0")
    assert "probability 8.21 % · log-prob -2.50" in page.inner_text(".readout >> nth=0")
    page.keyboard.press("t")
    assert page.evaluate(shaded) == "rgba(0, 0, 0, 0)"
    page.click(".prompt summary >> nth=1")
    assert page.inner_text(".prompt[open] pre") == "You arrive at desk 1."
    page.click(".prompt[open] button")
    earlier = page.text_content(".prompt[open] pre.earlier")
    assert earlier == GOAL + "I need a mug. <action>go to desk 1</action><|end|>"
    badges = page.eval_on_selector_all(".badge", "(all) => all.map((one) => one.textContent)")
    assert badges == ["no command found", "cut", "no command marked"]
    assert complaints == []


def test_tokens_without_texts_are_blocks(write_run: WriteRun, open_page: OpenPage) -> None:
    turn = Turn(
        GOAL, "look", True, 0.0, reply="look", prompt_ids=(1, 2), response_ids=(30, 40), logprobs=(-0.01, float("-inf"))
    )
    page, complaints, _ = open_page(write_run("numbers", [[turn]], model="/nowhere/at/all"))
    assert "without their texts" in page.inner_text(".notice")
    page.keyboard.press("j")
    assert page.eval_on_selector_all(".blocks .token", "(all) => all.map((one) => one.textContent)") == ["30", "40"]
    assert page.locator(".blocks .shaded").count() == 1
    assert "Prompt, 2 tokens" in page.inner_text(".turn")
    assert complaints == []


def test_only_lines_in_sight_are_drawn(write_run: WriteRun, open_page: OpenPage) -> None:
    episodes = [[Turn(GOAL.replace("mug", f"mug {number}"), "look", True, 0.0)] for number in range(1000)]
    page, complaints, _ = open_page(write_run("many", episodes))
    assert page.inner_text("#count") == "1,000 episodes"
    assert page.locator("#rows .row").count() < 40
    page.keyboard.press("G")
    assert page.text_content("h1") == "put a mug 999 in desk"
    assert "put a mug 999 in desk" in rows_of(page)
    assert page.locator("#rows .row").count() < 40
    page.fill("#query", "mug 500")
    wait_for_rows(page, 1)
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(
    scheme: str, played: dict[str, Path], spoken: Path, open_page: OpenPage
) -> None:
    for runs, keys in (((spoken,), ""), ((spoken,), "j"), ((played["random"], played["expert"]), "jj")):
        page, _, _ = open_page(*runs, scheme=scheme)
        page.click("#more summary")
        for key in keys:
            page.keyboard.press(key)
        if page.locator(".prompt").count():
            page.click(".prompt summary >> nth=1")
        found = json.loads(page.evaluate(CONTRAST))
        assert len(found) > 50
        assert [entry for entry in found if entry[0] < 4.5] == []


def test_it_fits_a_phone(played: dict[str, Path], spoken: Path, open_page: OpenPage) -> None:
    wide = "document.documentElement.scrollWidth > innerWidth"
    for runs in ((spoken,), (played["random"], played["expert"])):
        page, _, _ = open_page(*runs, width=360, height=740)
        assert not page.evaluate(wide)
        assert not page.is_visible("#reader")
        page.click(".row >> nth=0")
        assert page.is_visible("#reader")
        assert not page.is_visible("#side")
        assert not page.evaluate(wide)
        assert page.eval_on_selector("#reader", "(reader) => reader.scrollWidth <= reader.clientWidth")
        page.click(".back")
        assert page.is_visible("#rows")
        page.click(".agent >> nth=0")
        assert page.is_visible(".overview")
        assert not page.evaluate(wide)


def test_readers_of_the_screen_find_names_and_roles(played: dict[str, Path], open_page: OpenPage) -> None:
    page, _, _ = open_page(played["random"], played["expert"])
    page.keyboard.press("j")
    nameless = """() => [...document.querySelectorAll("button, input, select, summary, [role=option]")]
        .filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.length)).length"""
    assert page.evaluate(nameless) == 0
    doubled = """() => { const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
        return ids.filter((id, at) => ids.indexOf(id) !== at); }"""
    assert page.evaluate(doubled) == []
    active = page.get_attribute("#rows", "aria-activedescendant")
    assert page.get_attribute(f"#{active}", "aria-selected") == "true"
    assert "run A step limit" in page.text_content("#rows .row >> nth=0") or page.locator("#rows .won").count() >= 12
    assert page.locator("h1").count() == 1
    assert page.locator("main, header, section[aria-label]").count() >= 3
