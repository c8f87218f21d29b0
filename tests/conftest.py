"""Fixtures that several rooms share: where the official games are, a folder tree of them, and a real browser.

The official games belong to their owners and are not part of this repository. Tests that need them ask
for ``shared`` or ``official_data``; where the games are absent such a test skips and says so.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from holdergym.envs.alfworld.stock import missing_parts

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def no_other_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps out games that tests did not ask for. Merely importing the stock engine sets ALFWORLD_DATA."""
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs the stock engine where that is not installed."""
    missing = missing_parts()
    if missing:
        reason = f"the stock engine is not installed ({', '.join(missing)}): pip install 'holdergym[alfworld]'"
        for item in items:
            if item.get_closest_marker("stock"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with ``alfworld/`` and ``math/``: HOLDERGYM_SHARED, or ``shared`` beside the repository."""
    named = os.environ.get("HOLDERGYM_SHARED")
    folder = Path(named) if named else REPOSITORY.parent / "shared"
    if not (folder / "alfworld" / "lay_out.py").is_file():
        pytest.skip(f"no official games in {folder}: set HOLDERGYM_SHARED to the folder that holds alfworld/")
    return folder


@pytest.fixture(scope="session")
def official_data(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root as ``alfworld-download`` makes it, with ``json_2.1.1/`` and ``logic/`` in it. Read only.

    The splits valid_seen (140 games) and valid_unseen (134) are whole; of train and valid_train there are
    the first 8 games each, so these two are partial.
    """
    root = tmp_path_factory.mktemp("official") / "alfworld"
    _lay_out(shared, root, "--split", "valid_seen", "valid_unseen")
    _lay_out(shared, root, "--split", "train", "valid_train", "--limit", "8")
    return root


def _lay_out(shared: Path, root: Path, *options: str) -> None:
    script = shared / "alfworld" / "lay_out.py"
    command = [sys.executable, "-B", str(script), str(root), *options]
    subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Headless Chromium: the one that is installed, or the one that Playwright brings. A process can have but one."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'holdergym[dev]'")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    installed = os.environ.get("HOLDERGYM_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    with sync_api.sync_playwright() as playwright:
        if installed is None and not Path(playwright.chromium.executable_path).is_file():
            pytest.skip("no Chromium found: install it, run `playwright install chromium`, or set HOLDERGYM_CHROMIUM")
        launched = playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        yield launched
        launched.close()
