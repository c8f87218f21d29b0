"""What the command line's tests share."""

from typing import NamedTuple

import pytest

from holdergym.cli import main

from ..agents.conftest import tiny_checkpoint

__all__ = ["Cli", "Run", "cli", "tiny_checkpoint"]


class Run(NamedTuple):
    status: int
    out: str
    err: str


class Cli:
    """Runs ``holdergym`` in this process and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *args: object) -> Run:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main([str(arg) for arg in args])
        printed = self._capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return Run(caught.value.code, printed.out, printed.err)

    def fails(self, *args: object) -> str:
        """Runs a command that must end in exit code 2 and one line on standard error, which it returns."""
        run = self(*args)
        assert run.status == 2, run
        assert run.err.count("\n") == 1, run
        assert run.out == "", run
        return run.err


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    return Cli(capsys)
