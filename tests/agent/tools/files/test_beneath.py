"""File tools with a root: nothing that a stranger makes beneath it leads out, not even in the middle of a call."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agent.tools import edit, read, write
from agent.tools.files import beneath
from agent.tools.outcome import ToolError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not beneath.is_supported(), reason="this system has no openat2")
EDITS = [{"oldText": "old", "newText": "new"}]
CALLS = {
    "read": lambda path, root, cwd: read.run({"path": path}, cwd, root),
    "write": lambda path, root, cwd: write.run({"path": path, "content": "written"}, cwd, root),
    "edit": lambda path, root, cwd: edit.run({"path": path, "edits": EDITS}, cwd, root),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/secret").write_text("old secret\n")
    folder = tmp_path / "root"
    (folder / "src/deep").mkdir(parents=True)
    (folder / "src/main.py").write_text("old\n")
    return folder


def call(tool: str, path: str | Path, root: Path, cwd: str = "") -> str:
    """The result, or the error after a mark."""
    try:
        return CALLS[tool](str(path), str(root), cwd or str(root)).content[0]["text"]
    except ToolError as error:
        return f"! {error}"


def facts(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


LINKS = {
    "link": "../home/secret",
    "absolute": "{home}/secret",
    "passwd": "/etc/passwd",
    "folder/secret": "folder -> ../home",
    "outside/secret": "outside -> {home}",
    "src/up/secret": "src/up -> ../../home",
    "src/two/secret": "src/two -> deep/three, src/deep/three -> ../../../home",
    "within/../../home/secret": "within -> src",
    "chain": "chain -> chain2, chain2 -> chain3, chain3 -> ../home/secret",
    "own": "{root}/src/main.py",
    "proc": "/proc/self/cwd/home/secret",
    "loop": "loop",
    "new": "../home/new",
    "new2/new": "new2 -> ../home",
}


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("path", LINKS)
def test_no_link_leads_out(root: Path, tool: str, path: str) -> None:
    home = root.parent / "home"
    for made in LINKS[path].split(", "):
        name, _, target = made.rpartition(" -> ")
        (root / (name or path)).symlink_to(target.format(home=home, root=root))
    before = facts(home)
    said = call(tool, path, root)
    assert said.startswith("! ")
    assert "secret\n" not in said
    assert facts(home) == before
    assert (root / "src/main.py").read_text() == "old\n"


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize(
    "path", ["../home/secret", "{home}/secret", "/etc/passwd", "src/../../home/secret", "{root}x/a"]
)
def test_no_path_leads_out(root: Path, tool: str, path: str) -> None:
    home = root.parent / "home"
    said = call(tool, path.format(home=home, root=root), root)
    assert said.endswith(f"is not in the workspace {root}: with --in, read, write and edit reach only what is in it")
    assert facts(home) == {str(home / "secret"): b"old secret\n"}


@pytest.mark.parametrize(
    "path",
    ["src/main.py", "{root}/src/main.py", "src/deep/../main.py", "way/main.py", "src/deep/up/main.py", "file",
     "src/deep/file"],
)  # fmt: skip
def test_all_beneath_is_as_without_a_root(root: Path, path: str) -> None:
    (root / "way").symlink_to("src")
    (root / "src/deep/up").symlink_to("..")
    (root / "file").symlink_to("way/main.py")
    (root / "src/deep/file").symlink_to("../../file")
    path = path.format(root=root)
    assert call("read", path, root) == "old\n"
    assert call("edit", path, root) == "-old\n+new\n"
    assert call("write", path, root) == "written"
    assert (root / "src/main.py").read_text() == "written"
    assert (root / "file").is_symlink()
    assert call("read", "main.py", root, cwd=f"{root}/src") == "written\n"


def test_new_files_and_folders_are_made_beneath(root: Path) -> None:
    (root / "way").symlink_to("src")
    (root / "dangling").symlink_to("src/made.txt")
    assert call("write", "way/a/b/c.txt", root) == "written"
    assert (root / "src/a/b/c.txt").read_text() == "written"
    assert call("write", "dangling", root) == "written"
    assert (root / "src/made.txt").read_text() == "written"
    (root / "to_folder").symlink_to("src/missing")
    assert call("write", "to_folder/x", root).startswith("! ")
    assert not [*root.rglob(".zot-*")]


def test_what_is_no_file_is_refused_as_without_a_root(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "here").symlink_to(".")
    for path, said in {"pipe": "is a named pipe, not a regular file", "src": "is a directory", "here": "is a directory",
                       ".": "is a directory", "missing": "no such file"}.items():  # fmt: skip
        for tool in ("read", "edit"):
            assert said in call(tool, path, root), path
    assert "pipe is a named pipe" in call("write", "pipe", root)
    assert "directory" in call("write", "src", root)
    assert "directory" in call("write", ".", root)


def test_mode_and_hard_links_stay(root: Path) -> None:
    file = root / "src/main.py"
    file.chmod(0o750)
    os.setxattr(file, "user.mark", b"x")
    assert "new" in call("edit", "src/main.py", root)
    assert (file.stat().st_mode & 0o777, os.getxattr(file, "user.mark")) == (0o750, b"x")
    (root / "twin").hardlink_to(file)
    assert call("write", "twin", root) == "written"
    assert file.read_text() == "written"


SWAP = """
import ctypes, os, sys
os.chdir(sys.argv[1])
exchange = ctypes.CDLL(None).renameat2
print(flush=True)
while True:
    exchange(-100, b"a", -100, b"b", 2)
    exchange(-100, b"file", -100, b"link", 2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("tool", CALLS)
def test_a_name_that_is_exchanged_in_the_middle_of_a_call_leads_nowhere(root: Path, tool: str) -> None:
    """A process exchanges a folder and a link all the time, and a file and a link."""
    home = root.parent / "home"
    (root / "a").mkdir()
    (root / "a/secret").write_text("old inside\n")
    (root / "b").symlink_to(home)
    (root / "file").write_text("old inside\n")
    (root / "link").symlink_to(home / "secret")
    kinds = set()
    with subprocess.Popen([sys.executable, "-c", SWAP, str(root)], stdout=subprocess.PIPE) as swapping:
        assert swapping.stdout is not None
        swapping.stdout.readline()
        try:
            for _ in range(300):
                for path in ("a/secret", "file", "a/../a/secret"):
                    said = call(tool, path, root)
                    assert "old secret" not in said
                    kinds.add(said[:2])
        finally:
            swapping.kill()
    assert facts(home) == {str(home / "secret"): b"old secret\n"}
    assert "! " in kinds


def test_a_folder_that_is_renamed_all_the_time_is_an_error_in_the_end(root: Path, monkeypatch) -> None:
    monkeypatch.setattr(beneath, "_syscall", lambda: lambda *_: -1)
    monkeypatch.setattr(beneath.ctypes, "get_errno", lambda: 11)
    assert (
        call("read", "src/main.py", root)
        == f"! {root}/src/main.py: folders on the way are renamed all the time; try again"
    )
    assert not beneath.is_supported()
