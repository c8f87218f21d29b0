"""The pages as text: what is in them, without a browser."""

import csv
import importlib.util
import io
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from holdergym.agents.usage import Prices
from holdergym.envs.errors import MissingExtraError, UnknownNameError
from holdergym.eval.run import read_run
from holdergym.eval.summary import break_down
from holdergym.leaderboards.site.building import build_site
from holdergym.leaderboards.site.gathering import gather
from holdergym.leaderboards.site.shell import PLOTLY
from holdergym.leaderboards.site.standings import RULE

from .conftest import Built
from .hostile import EVIL, write_hostile_run, write_hostile_training

TAGS = frozenset(
    re.findall(
        r"\w+",
        """html head meta title style body a header div nav main footer script h1 h2 h3 h4 p section ul li b table thead
        tbody tr th td small span svg rect circle line details summary pre dl dt dd figure button label select option
        output code strong ol u sup""",
    )
)


class Reader(HTMLParser):
    """Collects tags, attributes, and the text that a reader sees."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if not self.tags or self.tags[-1][0] not in ("script", "style"):
            self.text += data


def pages(files: dict[str, bytes] | object) -> dict[str, Reader]:
    assert isinstance(files, dict)
    return {
        path: Reader(content.decode())
        for path, content in files.items()
        if path.endswith(".html") and not path.startswith("episodes/")
    }


ROOMS = ("agents", "envs", "eval", "leaderboards", "training")


def _frozen_package(folder: Path) -> Path:
    """A copy of the package, so that both builds run the same code though somebody edits a file meanwhile."""
    places = {room: f"holdergym.{room}" for room in ROOMS}
    for inside, module in {"": "holdergym", **places}.items():
        spec = importlib.util.find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        shutil.copytree(
            Path(spec.origin).parent,
            folder / "holdergym" / inside,
            ignore=shutil.ignore_patterns("__pycache__", ".*"),
            dirs_exist_ok=True,
        )
    return folder


def test_equal_runs_give_equal_bytes_in_another_process(built: Built, tmp_path: Path) -> None:
    """Where the runs are given in another order, and with another seed of Python's hashes."""
    package = _frozen_package(tmp_path / "package")
    places = sorted(map(str, built.runs.iterdir()))
    sites = []
    for number, order in enumerate((places, places[::-1])):
        site = tmp_path / str(number) / "site"
        done = subprocess.run(
            [sys.executable, "-m", "holdergym", "leaderboard", "build", *order, "--out", str(site)],
            cwd=package, capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": str(number), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert "5 runs" in done.stdout
        sites.append({str(p.relative_to(site)): p.read_bytes() for p in site.rglob("*") if p.is_file()})
    assert len(sites[0]) > len(places)
    assert sites[0] == sites[1]
    # Nothing was read from the working tree: the package that both ran is the copy.
    where = subprocess.run(
        [sys.executable, "-c", "import holdergym.leaderboards.site as it; print(it.__file__)"],
        cwd=package, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(where.stdout.strip()).is_relative_to(package)


def test_every_link_leads_somewhere(built: Built) -> None:
    files = built.site.files
    for path, reader in pages(files).items():
        ids = {attrs["id"] for _, attrs in reader.tags if "id" in attrs}
        for tag, attrs in reader.tags:
            target = attrs.get("href")
            if tag != "a" or target is None:
                continue
            if target.startswith("#"):
                assert target[1:] in ids
                continue
            parts = path.split("/")[:-1]
            for part in target.split("/"):
                parts = parts[:-1] if part == ".." else [*parts, part]
            assert "/".join(parts) in files, (path, target)


def test_the_numbers_of_a_ranking_are_those_of_the_runs(built: Built) -> None:
    """Read from the HTML, as somebody without a script reads them."""
    page = next(reader for path, reader in pages(built.site.files).items() if path.startswith("rankings/expert"))
    for name in ("expert", "random", "walkthrough", "random-again"):
        overall = break_down(read_run(built.runs / name)).overall
        low, high = overall.interval.low, overall.interval.high
        assert f"{100 * overall.success_rate.value:.1f}" in page.text
        assert f"{overall.won}/{overall.finished}" in page.text
        assert f"[{100 * low:.1f}, {100 * high:.1f}]" in page.text
    assert RULE in page.text
    assert "4 of 6 tested pairs can be told apart." in page.text
    for text in ("Pick", "Look", "pass@k", "Success against steps", "cannot be told apart", "builtin_valid[12 of 60]"):
        assert text in page.text


def test_a_run_page_has_the_command_that_makes_it_again(built: Built, tmp_path: Path) -> None:
    """The command on the page, with the settings beside it, gives the very same summary."""
    path, reader = next(
        (path, reader) for path, reader in pages(built.site.files).items() if path.startswith("runs/random-again")
    )
    found = re.search(r"holdergym (eval --config (\S+\.toml)) --out runs/again", reader.text)
    assert found is not None
    settings = tmp_path / found[2]
    settings.write_bytes(built.site.files[f"runs/{found[2]}"])
    subprocess.run(
        [sys.executable, "-m", "holdergym", *found[1].split(), "--out", "again", "--quiet"], cwd=tmp_path, check=True
    )
    assert (tmp_path / "again" / "summary.json").read_bytes() == (
        built.runs / "random-again" / "summary.json"
    ).read_bytes()
    assert f"episodes/{path.removeprefix('runs/')}" in built.site.files


def test_copies_of_tables_are_tables(built: Built) -> None:
    files = built.site.files
    slug = next(path for path in files if path.startswith("tables/expert"))[len("tables/") :].rpartition(".")[0]
    rows = list(csv.DictReader(io.StringIO(files[f"tables/{slug}.csv"].decode())))
    assert {row["run"] for row in rows} == {"expert", "random", "walkthrough", "random-again"}
    latex = files[f"tables/{slug}.tex"].decode()
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 2
    body = re.findall(r"\\midrule\n(.*?)\\bottomrule", latex, re.DOTALL)[0].strip().splitlines()
    assert len({line.count(" & ") for line in body}) == 1
    markdown = files[f"tables/{slug}.md"].decode()
    tables = [block for block in markdown.split("\n\n") if block.startswith("| ")]
    assert len(tables) == 4
    for table in tables:
        assert len({line.count(" | ") for line in table.splitlines()}) == 1


def test_a_training_run_is_shown(built: Built) -> None:
    found = pages(built.site.files)
    page = next(reader for path, reader in found.items() if path.startswith("training/trained"))
    assert "p, ACR, entropy and KL" in page.text
    assert "holdergym train --config" in page.text
    assert "holderpo" in found["training.html"].text


def test_each_page_has_a_policy_that_allows_its_own_script_alone(built: Built) -> None:
    for path, content in built.site.files.items():
        if not path.endswith(".html"):
            continue
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', content.decode())
        assert policy is not None, path
        assert "default-src 'none'" in policy[1]
        script = re.search(r"script-src ([^;]+);", policy[1])
        assert script is not None
        assert "unsafe" not in script[1]
        assert "connect-src" not in policy[1]


def test_nothing_hostile_becomes_markup(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    for number in range(3):
        write_hostile_run(runs / EVIL[1].replace("/", "") / f"run {number} <b>&amp;", number)
    write_hostile_training(runs / '<img src=x onerror="alert(1)">')
    gathered = gather([runs])
    site = build_site(gathered)
    assert len(gathered.runs) == 3
    for path, reader in pages(dict(site.files)).items():
        for tag, attrs in reader.tags:
            assert tag in TAGS, (path, tag)
            assert not any(name.startswith("on") for name in attrs), (path, tag, attrs)
            assert not (attrs.get("href") or "").startswith(("javascript:", "http", "//", "data:"))
            assert "src" not in attrs
        scripts = [attrs for tag, attrs in reader.tags if tag == "script"]
        assert all(attrs in ({}, {"type": "application/json", "id": "charts"}) for attrs in scripts)
        assert "\x1b" not in site.files[path].decode()
        assert "\u202e" not in site.files[path].decode()
    assert all(re.fullmatch(r"[a-z]+(/[a-z0-9-]+)?(\.min)?\.(html|md|tex|csv|toml|js)", path) for path in site.files)
    for path, content in site.files.items():
        if path.endswith(".tex"):
            assert "\\input{" not in content.decode()
        if path.endswith(".md"):
            assert not re.search(r"(?<!\\)<(script|img|svg)", content.decode())


def test_episodes_are_cut_to_a_size_and_it_is_said(played: Path) -> None:
    gathered = gather([played / "random"])
    site = build_site(gathered, viewer_bytes=60_000)
    (path,) = [path for path in site.files if path.startswith("episodes/")]
    assert len(site.files[path]) < 60_000 + 80_000  # the viewer itself
    shown = site.files[path].decode().count('id="episode-0-')
    assert 0 < shown < 36
    assert f"Cut to 0.06 MB: {shown} of 36 episodes are here" in site.files[path].decode()
    run = site.files[path.replace("episodes/", "runs/")].decode()
    assert f"{36 - shown} episodes of 36 left out" in run
    assert any(f"{36 - shown} episodes of 36 left out" in note for note in site.notes)
    assert not any(path.startswith("episodes/") for path in build_site(gathered, viewer_bytes=0).files)


def test_prices_are_of_models_that_played(played: Path) -> None:
    with pytest.raises(UnknownNameError, match="model among the prices"):
        build_site(gather([played]), {"nobody": Prices(prompt=1, generated=1)})


def test_without_the_library_there_is_a_line(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'holdergym\[site\]'"):
        build_site(gather([played / "expert"]))


def test_the_library_is_there_once_and_not_in_the_pages(built: Built) -> None:
    assert len(built.site.files[PLOTLY]) > 1_000_000
    assert all(
        len(content) < 300_000
        for path, content in built.site.files.items()
        if path.startswith(("rankings", "runs", "i"))
    )


def test_an_unfinished_run_and_one_that_failed_say_so(played: Path, tmp_path: Path) -> None:
    shutil.copytree(played / "random", tmp_path / "half")
    path = tmp_path / "half" / "episodes.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:20]))
    reader = next(
        reader for path, reader in pages(dict(build_site(gather([tmp_path])).files)).items() if "runs/" in path
    )
    assert "incomplete: 20 of 36 episodes played" in reader.text


def test_tables_of_papers_are_pages(built: Built) -> None:
    found = pages(built.site.files)
    assert "Papers" in found["index.html"].text
    page = found["papers/holderpo.html"]
    assert "holderpo/2: Five mathematics benchmarks" in page.text
    assert "\\begin{tabular}" in page.text
    assert "Papers" not in Reader(build_site(gather([built.runs / "expert"])).files["index.html"].decode()).text
