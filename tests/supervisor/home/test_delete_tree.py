"""`delete` copes with whatever a program has made, and tells what it has to leave."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from supervisor.home import delete_tree
from supervisor.home.delete_tree import delete, deletion_steps
from tests.support.hostile_tree import deep, hostile


@pytest.fixture
def folder(tmp_path):
    """Gone after the test: pytest could not delete it."""
    made = tmp_path / "tree"
    made.mkdir()
    yield made
    assert delete(made) == ""


def test_everything_is_deleted_and_nothing_beside_it(folder, tmp_path):
    (tmp_path / "beside").write_text("stays")
    (folder / "away").symlink_to(tmp_path)
    hostile(folder)
    assert delete(folder) == ""
    assert os.listdir(tmp_path) == ["beside"]


def test_a_user_who_is_not_root_deletes_what_its_modes_close():
    """Modes do not stop root, so root becomes another user for this."""
    parent = Path(tempfile.mkdtemp())
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.chown(parent, 65534, 65534)
                os.setgid(65534)
                os.setuid(65534)
            (parent / "tree").mkdir()
            hostile(parent / "tree")
            (parent / "tree").chmod(0o000)
            os._exit(0 if delete(parent / "tree") == "" and not os.listdir(parent) else 1)
        except BaseException:
            os._exit(2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = delete(parent)
    assert (status, left) == (0, "")


@pytest.mark.slow
def test_depth_costs_no_descriptors(folder):
    deep(folder, 1200)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, highest + 6), hard))
    try:
        assert delete(folder) == ""
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_file_a_link_and_nothing_are_deleted_too(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    assert [delete(tmp_path / name) for name in ("file", "link", "nothing")] == ["", "", ""]
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_deleted_is_told_and_the_rest_goes(folder, monkeypatch):
    for name in ("first", "second"):
        (folder / "a" / "b" / "c" / "d" / name).mkdir(parents=True)
        (folder / "a" / "b" / "c" / "d" / name / "file").write_text("")
    unlink = os.unlink

    def refuse(name, **at):
        if os.readlink(f"/proc/self/fd/{at['dir_fd']}").endswith("first"):
            raise PermissionError(1, "Operation not permitted", name)
        unlink(name, **at)

    if not os.path.isdir("/proc/self/fd"):
        refuse = unlink
    with monkeypatch.context() as patched:
        patched.setattr(delete_tree.os, "unlink", refuse)
        left = delete(folder)
    if refuse is not unlink:
        assert left == f"{folder}/a/b/…/file: Operation not permitted"
        assert [path.name for path in folder.rglob("*")] == ["a", "b", "c", "d", "first", "file"]


def test_a_folder_that_is_written_to_meanwhile_is_listed_again(folder, monkeypatch):
    (folder / "inner").mkdir()
    rmdir, late = os.rmdir, ["one", "two"]

    def write_first(name, **at):
        if name == "inner" and late:
            (folder / "inner" / late.pop()).mkdir()
        rmdir(name, **at)

    monkeypatch.setattr(delete_tree.os, "rmdir", write_first)
    assert (delete(folder), late) == ("", [])
    folder.mkdir()
    (folder / "inner").mkdir()
    late += [str(number) for number in range(100)]
    assert delete(folder) == f"{folder}/inner: Directory not empty"
    monkeypatch.undo()


def test_the_walk_does_not_leave_the_tree_when_a_folder_is_moved_out(folder, tmp_path, monkeypatch):
    (folder / "a" / "b").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine").write_text("stays")
    opened = os.open

    def move(name, flags, **at):
        if name == "..":
            (folder / "a" / "b").rename(tmp_path / "other" / "b")
            monkeypatch.setattr(delete_tree.os, "open", opened)
        return opened(name, flags, **at)

    monkeypatch.setattr(delete_tree.os, "open", move)
    assert delete(folder).endswith(": something moved a folder in it meanwhile")
    assert (tmp_path / "other" / "mine").exists()


def test_a_huge_folder_is_deleted_in_steps(folder):
    for number in range(1_000):
        (folder / str(number)).touch()
    assert sum(1 for _ in deletion_steps(folder)) >= 10
    assert not folder.exists()


MOUNTED = """
import os, sys
from pathlib import Path
from supervisor.home.delete_tree import delete
folder = Path(sys.argv[1])
(folder / "mounted here" / "mine").write_text("")
print(delete(folder))
print(sorted(path.name for path in folder.rglob("*")))
"""


@pytest.mark.parametrize("mount", ["-t tmpfs none", '--bind "$OTHER"'], ids=["tmpfs", "bind"])
def test_a_mounted_file_system_is_left_alone(folder, tmp_path, mount):
    (folder / "mounted here").mkdir()
    (folder / "file").write_text("")
    (tmp_path / "other place").mkdir()  # on the same file system
    command = [sys.executable, "-c", MOUNTED, str(folder)]
    mount = f'mount {mount} "{folder}/mounted here" && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount, "sh", *command],
        env={**os.environ, "OTHER": str(tmp_path / "other place")},
        capture_output=True, text=True, cwd=Path(__file__).parents[3], check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip("no mount may be made here")
    assert done.stdout == f"{folder}/mounted here: something is mounted there\n['mine', 'mounted here']\n"
