import fcntl
import os
from pathlib import Path

import pytest
from holdergym.leaderboards.site.writing import MARK, SiteError, check_target, write_site

FILES = {"index.html": b"new", "runs/a.html": b"a"}


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_site_is_replaced_whole(tmp_path: Path) -> None:
    write_site({"index.html": b"old", "runs/gone.html": b"x"}, tmp_path / "in" / "site")
    write_site(FILES, tmp_path / "in" / "site")
    found = everything(tmp_path / "in" / "site")
    assert found.pop(MARK)
    assert found == FILES
    assert os.listdir(tmp_path / "in") == ["site"]


@pytest.mark.parametrize("what", ["folder", "file", "link", "marked"])
def test_what_is_no_site_is_not_touched(tmp_path: Path, what: str) -> None:
    target = tmp_path / "site"
    thesis = tmp_path / "site" / "thesis.tex"
    if what == "folder":
        target.mkdir()
        thesis.write_text("years of work")
    elif what == "file":
        target.write_text("years of work")
    elif what == "link":
        (tmp_path / "real").mkdir()
        target.symlink_to(tmp_path / "real")
    else:
        write_site(FILES, target)
        thesis.write_text("years of work")
    before = everything(tmp_path)
    with pytest.raises(SiteError, match="choose another --out"):
        check_target(target)
    with pytest.raises(SiteError, match="choose another --out"):
        write_site(FILES, target)
    assert everything(tmp_path) == before


def test_an_empty_folder_becomes_a_site(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    write_site(FILES, tmp_path / "site")
    assert (tmp_path / "site" / "index.html").read_bytes() == b"new"


@pytest.mark.parametrize("path", ["../out.html", "/etc/x", "a//b", "a/../../b", "runs/./x", ""])
def test_nothing_is_written_outside(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="is no path inside a site"):
        write_site({"index.html": b"", path: b"x"}, tmp_path / "site")
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_the_old_site(tmp_path: Path) -> None:
    write_site({"index.html": b"old"}, tmp_path / "site")
    before = everything(tmp_path)
    with pytest.raises(SiteError, match="cannot write the site"):
        write_site({"index.html": b"new", f"{'x' * 300}.html": b"a name that no disk takes"}, tmp_path / "site")
    assert everything(tmp_path) == before
    assert os.listdir(tmp_path) == ["site"]


def test_what_a_killed_build_left_is_dealt_with(tmp_path: Path) -> None:
    """A kill while the files are written leaves a new folder; one between the two renames leaves no site at all."""
    write_site({"index.html": b"old"}, tmp_path / "site")
    (tmp_path / ".site.0123abcd.new").mkdir()
    (tmp_path / ".site.0123abcd.new" / "index.html").write_bytes(b"half")
    os.rename(tmp_path / "site", tmp_path / ".site.89abcdef.old")
    kept = (".site.notes.old", ".other.0123abcd.old")
    for name in kept:
        (tmp_path / name).mkdir()
    with pytest.raises(SiteError, match="cannot write the site"):
        write_site({f"{'x' * 300}.html": b"a name that no disk takes"}, tmp_path / "site")
    assert (tmp_path / "site" / "index.html").read_bytes() == b"old"
    write_site(FILES, tmp_path / "site")
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "site"])
    assert (tmp_path / "site" / "index.html").read_bytes() == b"new"


def test_a_build_leaves_the_folder_of_one_at_work_alone(tmp_path: Path) -> None:
    """The lock ends with the process, however it ends."""
    other = tmp_path / ".site.0123abcd.new"
    other.mkdir()
    held = os.open(other, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    write_site(FILES, tmp_path / "site")
    assert other.is_dir()
    os.close(held)
    write_site(FILES, tmp_path / "site")
    assert os.listdir(tmp_path) == ["site"]
