"""Fixtures that several rooms share: where the official games are, and a folder tree of them.

The official games belong to their owners and are not part of this repository. Tests that need them ask
for ``shared`` or ``official_data``; where the games are absent such a test skips and says so.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from holdergym.envs.alfworld.stock import missing_parts

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
