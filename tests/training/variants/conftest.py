"""Models of three sizes with one tokenizer: the policy, a smaller explorer, a larger partner."""

from pathlib import Path

import pytest

from ...agents.conftest import tiny_checkpoint
from ..word_game import sibling

__all__ = ["tiny_checkpoint"]


@pytest.fixture(scope="session")
def explorer(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sibling(tiny_checkpoint, tmp_path_factory.mktemp("explorer") / "small", width=64, layers=1, seed=1)


@pytest.fixture(scope="session")
def partner(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sibling(tiny_checkpoint, tmp_path_factory.mktemp("partner") / "large", width=160, layers=2, seed=2)
