"""Times the viewer's page in a real headless Chromium: opening it from disk, searching it, opening an episode.

    python benchmarks/viewer.py [--samples 17] [--opens 5]

A random agent plays each of the 60 built-in games as often as --samples says, 17 times giving 1,020 episodes of up to
50 turns. "Open" is the time from the start of the navigation until the list stands and answers to keys; the first
search reads every episode.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from holdergym.agents.registry import RandomSettings
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate
from holdergym.eval.viewer.page import viewer_page
from playwright.sync_api import Browser, sync_playwright

READY = "performance.getEntriesByName('ready')[0].startTime"
SEARCH = """() => {
  const began = performance.now();
  document.querySelector("#query").value = "desklamp you pick up";
  document.querySelector("#sort").dispatchEvent(new Event("input", { bubbles: true }));
  return new Promise((resolve) => setTimeout(() => resolve(performance.now() - began), 0));
}"""
NEXT = """() => {
  const began = performance.now();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
  document.querySelector("#reader").getBoundingClientRect();
  return performance.now() - began;
}"""


def measure(browser: Browser, name: str, page_file: Path, opens: int) -> None:
    times: dict[str, list[float]] = {"open": [], "next episode": [], "first search": []}
    heap = 0.0
    for _ in range(opens):
        context = browser.new_context(viewport={"width": 1300, "height": 850})
        page = context.new_page()
        page.goto(page_file.as_uri())
        times["open"].append(page.evaluate(READY))
        times["next episode"].append(page.evaluate(NEXT))
        times["first search"].append(page.evaluate(SEARCH))
        heap = page.evaluate("performance.memory.usedJSHeapSize / 1e6")
        context.close()
    print(f"{name}: {page_file.stat().st_size / 1e6:.1f} MB, {heap:.0f} MB of script memory after a search")
    for what, found in times.items():
        print(f"  {what:14} median {statistics.median(found):7.0f} ms, slowest {max(found):7.0f} ms of {opens}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=17, help="times that each of the 60 games is played")
    parser.add_argument("--opens", type=int, default=5, help="times that each page is opened")
    parser.add_argument("--browser", default=shutil.which("chromium"), help="path of Chromium")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        runs = [Path(folder) / f"run-{seed}" for seed in (0, 1)]
        for seed, run in enumerate(runs):
            evaluate(
                EvalConfig(panel="builtin_valid", samples=args.samples, seed=seed, agent=RandomSettings(), out=run)
            )
        browser = playwright.chromium.launch(executable_path=args.browser, args=["--no-sandbox"])
        print(f"Chromium {browser.version}")
        for name, shown in ((f"{60 * args.samples:,} episodes", runs[:1]), ("two runs of that size", runs)):
            began = time.perf_counter()
            (Path(folder) / "view.html").write_text(viewer_page(shown), encoding="utf-8")
            print(f"written in {time.perf_counter() - began:.1f} s")
            measure(browser, name, Path(folder) / "view.html", args.opens)
        browser.close()


if __name__ == "__main__":
    main()
