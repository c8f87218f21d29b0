"""Times building a leaderboard's site, and opening its pages in a real headless Chromium.

    python benchmarks/leaderboard.py [--runs 50] [--tasks 134] [--opens 5]

A random agent and the expert play so many generated games, the random one with as many seeds as there are other runs.
"Open" is the time from the start of the navigation until the page's script has run, "drawn" until the first picture
stands, with the chart library loaded from disk. Nothing is cached between pages.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from holdergym.agents.registry import ExpertSettings, RandomSettings
from holdergym.envs.alfworld.games import open_games
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate
from holdergym.leaderboards.site.building import build_site
from holdergym.leaderboards.site.entries import make_rankings
from holdergym.leaderboards.site.gathering import gather
from holdergym.leaderboards.site.writing import write_site
from playwright.sync_api import Browser, sync_playwright

READY = "() => performance.getEntriesByType('navigation')[0].domComplete"
DRAWN = "() => document.querySelector('.plot.drawn') && performance.now()"


def play(folder: Path, runs: int, tasks: int) -> None:
    panel = "builtin_train" if tasks > len(open_games("builtin_valid", None).panel.tasks) else "builtin_valid"
    for number in range(runs):
        agent = ExpertSettings() if number == 0 else RandomSettings()
        evaluate(EvalConfig(panel=panel, limit=tasks, seed=number, agent=agent, out=folder / f"run-{number:02}"))


def opened(browser: Browser, address: str, opens: int, *, draws: bool) -> list[float]:
    times = []
    for _ in range(opens):
        context = browser.new_context(viewport={"width": 1300, "height": 850})
        page = context.new_page()
        page.goto(address)
        if draws:
            page.locator(".plot").first.scroll_into_view_if_needed()
            times.append(page.wait_for_function(DRAWN).json_value())
        else:
            times.append(page.evaluate(READY))
        context.close()
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--tasks", type=int, default=134)
    parser.add_argument("--opens", type=int, default=5)
    parser.add_argument("--browser", default=shutil.which("chromium"), help="path of Chromium")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        play(folder / "runs", args.runs, args.tasks)
        episodes = sum(path.stat().st_size for path in folder.rglob("episodes.jsonl"))
        print(f"{args.runs} runs of {args.tasks} tasks: {episodes / 1e6:.0f} MB of episodes")
        began = time.process_time()
        gathered = gather([folder / "runs"])
        read = time.process_time() - began
        began = time.process_time()
        make_rankings(gathered.runs, gathered.trainings)
        ranked = time.process_time() - began
        began = time.process_time()
        without = build_site(gathered, viewer_bytes=0)
        pages = time.process_time() - began
        began = time.process_time()
        site = build_site(gathered)
        whole = time.process_time() - began
        write_site(site.files, folder / "site")
        size, small = (sum(map(len, one.files.values())) for one in (site, without))
        print(f"read {read:.1f} s, ranked {ranked:.1f} s ({args.runs * (args.runs - 1) // 2} pairs), of processor time")
        print(f"all pages {whole:.1f} s, {len(site.files)} files, {size / 1e6:.0f} MB; without episodes {pages:.1f} s, "
              f"{small / 1e6:.0f} MB")  # fmt: skip
        browser = playwright.chromium.launch(executable_path=args.browser, args=["--no-sandbox"])
        ranking = next((folder / "site" / "rankings").iterdir())
        for what, path, draws in (
            ("open index", folder / "site" / "index.html", False),
            ("open ranking", ranking, False),
            ("drawn", ranking, True),
        ):
            times = opened(browser, path.as_uri(), args.opens, draws=draws)
            print(
                f"{what:13} {path.stat().st_size / 1e3:5.0f} kB, median {statistics.median(times):5.0f} ms of "
                f"{args.opens}"
            )
        browser.close()


if __name__ == "__main__":
    main()
