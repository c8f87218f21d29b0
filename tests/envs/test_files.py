"""Reading and replacing files, with real pipes, devices and limits."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from holdergym.envs.files import open_file, read_file, replace_file


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"first")
    replace_file(path, b"second")
    assert read_file(path) == b"second"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_new_file_has_the_rights_that_the_user_gives_to_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    imports = "import signal; from pathlib import Path; from holdergym.envs.files import replace_file"
    call = f"signal.signal(signal.SIGXFSZ, signal.SIG_IGN); replace_file(Path({str(path)!r}), bytes(9999))"
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}; {call}"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "File too large" in done.stderr
    assert read_file(path) == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_what_may_never_end_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(OSError, match="it is not a regular file"):
            read_file(path)
    with pytest.raises(IsADirectoryError):
        open_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "absent")
