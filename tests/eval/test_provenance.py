import shutil
import subprocess
from pathlib import Path

import pytest
from holdergym.eval import provenance
from holdergym.eval.provenance import git_commit


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_is_that_of_our_source_and_of_nobody_else_s(tmp_path: Path) -> None:
    source = tmp_path / "site-packages"
    source.mkdir()
    (source / "provenance.py").write_text("# ours")
    assert git_commit(source) is None
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "--message", "somebody else's project")
    assert git_commit(source) is None
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message", "now it is tracked")
    assert git_commit(source) == git(tmp_path, "rev-parse", "HEAD")
    (source / "provenance.py").write_text("# changed")
    assert git_commit(source) == git(tmp_path, "rev-parse", "HEAD") + "-dirty"


def test_versions_name_the_package_and_leave_out_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "_PACKAGES", ("gymnasium", "no-such-package"))
    assert set(provenance.package_versions()) == {"holdergym", "python", "gymnasium"}
