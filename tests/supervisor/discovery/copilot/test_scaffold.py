"""A new Copilot extension is written where it was asked for, whatever lies in the way, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from supervisor.discovery.copilot import scaffold as module
from supervisor.discovery.copilot.scaffold import ScaffoldError, scaffold, skeleton, write_into

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    inner = tmp_path / "repository" / "inner"
    inner.mkdir()
    return inner


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_one_of_the_project_lies_below_the_root_of_its_repository(tmp_path: Path, project: Path):
    made = scaffold("my-tool", "project", project, tmp_path / "home")
    assert made == tmp_path / "repository" / ".github" / "extensions" / "my-tool" / "extension.mjs"
    assert made.read_text() == skeleton("my-tool")
    assert 'name: "my_tool_greet"' in made.read_text()
    assert not (tmp_path / "home").exists()


def test_one_of_the_user_lies_in_zots_home_for_the_user_alone(tmp_path: Path, project: Path):
    home = tmp_path / "home"
    made = scaffold("mine", "user", project, home)
    assert made == home / "copilot-extensions" / "mine" / "extension.mjs"
    assert [oct(folder.stat().st_mode & 0o777) for folder in (home, made.parents[1], made.parent)] == ["0o700"] * 3
    assert tree(project.parent) == [".git", "inner"]


@pytest.mark.parametrize(
    "name",
    ["", "..", ".", "../x", "a/b", "/tmp/x", "a\\b", ".x", "-x", "a b", "a\n", "a\0", "ä", "x" * 65, "node_modules"],
)
def test_a_name_that_is_none_writes_nothing(tmp_path: Path, project: Path, name: str):
    before = tree(tmp_path)
    with pytest.raises(ScaffoldError, match="cannot be the name of an extension") as caught:
        scaffold(name, "project", project, tmp_path / "home")
    assert "\n" not in str(caught.value)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("there", ["folder", "full folder", "file", "link", "broken link"])
def test_what_is_there_is_left_as_it_is(tmp_path: Path, project: Path, there: str):
    parent = tmp_path / "repository" / ".github" / "extensions"
    parent.mkdir(parents=True)
    target = parent / "x"
    if there == "file":
        target.write_text("mine")
    elif "link" in there:
        outside = tmp_path / "outside"
        target.symlink_to(outside)
        if there == "link":
            outside.mkdir()
    else:
        target.mkdir()
        if there == "full folder":
            (target / "extension.mjs").write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(ScaffoldError, match="is there already, and was left as it is"):
        scaffold("x", "project", project, tmp_path / "home")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("part", [".github", ".github/extensions"])
@pytest.mark.parametrize("what", ["link", "file"])
def test_nothing_is_written_through_a_link(tmp_path: Path, project: Path, part: str, what: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    place = tmp_path / "repository" / part
    place.parent.mkdir(exist_ok=True)
    if what == "link":
        place.symlink_to(outside)
    else:
        place.write_text("")
    before = tree(tmp_path)
    why = "is a link: nothing is written through it" if what == "link" else "is no folder"
    with pytest.raises(ScaffoldError, match=f"{part} {why}"):
        scaffold("x", "project", project, tmp_path / "home")
    assert tree(tmp_path) == before


def test_a_link_that_takes_the_place_of_the_new_folder_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    real = os.lstat

    def racing(path: str, *, dir_fd: int) -> os.stat_result:
        found = real(path, dir_fd=dir_fd)
        os.rmdir(path, dir_fd=dir_fd)
        os.symlink(outside, path, dir_fd=dir_fd)
        return found

    monkeypatch.setattr(module.os, "lstat", racing)
    with pytest.raises(ScaffoldError, match="cannot write"):
        write_into(root, (), "x")
    assert tree(outside) == []


def test_after_an_error_nothing_new_is_left(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_fd: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = tree(tmp_path)
    monkeypatch.setattr(module.os, "write", full)
    with pytest.raises(ScaffoldError, match=r"cannot write .*/x: No space left on device"):
        scaffold("x", "project", project, tmp_path / "home")
    assert tree(tmp_path) == before


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node")
def test_the_skeleton_is_a_program(tmp_path: Path, project: Path):
    made = scaffold("my-tool", "project", project, tmp_path / "home")
    checked = subprocess.run(["node", "--check", str(made)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
