"""These tests need torch; without it each module is skipped and says so."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HAS_TORCH = find_spec("torch") is not None


class SkippedModule(pytest.Module):
    def collect(self) -> Iterator[pytest.Item]:
        pytest.skip("needs torch: pip install 'holdergym[train]'", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return None if HAS_TORCH else SkippedModule.from_parent(parent, path=module_path)


if HAS_TORCH:
    import torch

    # Two threads on a busy machine wait for each other longer than they work.
    torch.set_num_threads(1)
