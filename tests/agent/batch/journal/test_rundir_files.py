"""Nothing prepared in a RUNDIR leads out of it, and nothing that is made in it is for others."""

from __future__ import annotations

import os
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from agent.batch.journal import rundir_files
from agent.batch.journal.errors import FolderError
from agent.batch.journal.folder import OWN_FOLDERS, OWN_NAMES, RunFolder
from agent.batch.journal.rundir_files import SMALL, make_rundir_folder, open_rundir_file, read_rundir_file, rundir_lines
from supervisor.home.safe_files import replacement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        here = os.open(path.parent, os.O_RDONLY)
        sock.bind(f"/proc/self/fd/{here}/{path.name}" if os.path.exists("/proc/self/fd") else str(path))
        os.close(here)


MAKE: dict[str, Callable[[Path], object]] = {
    "a link": lambda path: path.symlink_to("/dev/zero"),
    "a named pipe": os.mkfifo,
    "a socket": a_socket,
    "a folder": os.mkdir,
    "a file": lambda path: path.write_text("secret"),
}


@pytest.fixture
def rundir(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "latest").symlink_to("real")
    return tmp_path / "latest"


@pytest.mark.parametrize("kind", [kind for kind in MAKE if kind != "a file"])
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_CREAT | os.O_APPEND, WRITE])
def test_only_a_regular_file_is_opened(rundir, kind, flags):
    MAKE[kind](rundir / "f")
    with pytest.raises(FolderError, match=rf"latest/f: is {kind}, and the batch has a file of its own there: "):
        open_rundir_file(rundir / "f", flags)


@pytest.mark.parametrize("kind", [kind for kind in MAKE if kind != "a folder"])
@pytest.mark.parametrize("depth", [2, 3])
def test_no_folder_on_the_way_is_a_link(rundir, tmp_path, kind, depth):
    names = ["runs", "a"][: depth - 1]
    at = rundir.joinpath(*names)
    at.parent.mkdir(exist_ok=True)
    if kind == "a link":
        (tmp_path / "elsewhere").mkdir()
        at.symlink_to(tmp_path / "elsewhere")
    else:
        MAKE[kind](at)
    for open_ in (
        lambda: open_rundir_file(at / "f", WRITE, depth=depth),
        lambda: make_rundir_folder(at, depth=depth - 1),
    ):
        with pytest.raises(FolderError, match=rf"{'/'.join(names)}: is {kind}, and the batch has a folder of its own"):
            open_()
    assert kind != "a link" or not os.listdir(tmp_path / "elsewhere")


def test_the_path_to_rundir_may_have_links_and_what_is_missing_is_made_for_the_user_alone(rundir):
    before = os.umask(0)
    try:
        os.close(open_rundir_file(rundir / "runs" / "a" / "f", WRITE, depth=3))
        with replacement(rundir / "batch.json") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    for name, mode in (("runs", 0o700), ("runs/a", 0o700), ("runs/a/f", 0o600), ("batch.json", 0o600)):
        assert stat.S_IMODE((rundir / name).stat().st_mode) == mode, name
    with pytest.raises(FileNotFoundError, match="latest/diffs"):
        open_rundir_file(rundir / "diffs" / "f", depth=2)


def test_a_file_of_a_stranger_is_neither_read_nor_emptied(rundir, monkeypatch):
    (rundir / "f").write_text("secret")
    monkeypatch.setattr(rundir_files, "_owners", lambda _rundir: frozenset({-1}))
    with pytest.raises(FolderError, match=rf"latest/f: belongs to user {os.geteuid()}, and you are user "):
        open_rundir_file(rundir / "f", WRITE)
    assert (rundir / "f").read_text() == "secret"


def test_what_is_read_is_bounded(rundir, monkeypatch):
    os.truncate(open_rundir_file(rundir / "f", WRITE), SMALL + 1)
    with pytest.raises(FolderError, match="larger than 16 MiB: zot batch has not written it"):
        read_rundir_file(rundir / "f")
    monkeypatch.setattr(rundir_files, "LINE_LIMIT", 4)
    (rundir / "f").write_bytes(b"12345678\n1\n2")
    assert list(rundir_lines(rundir / "f")) == [b"1234", b"5678", b"\n", b"1\n", b"2"]


@pytest.mark.parametrize("kind", ["a link", "a named pipe"])
def test_a_name_beside_a_file_that_is_replaced_is_not_written_to(rundir, tmp_path, kind):
    (tmp_path / "elsewhere").write_text("secret")
    new = rundir / ".f.new"
    new.symlink_to(tmp_path / "elsewhere") if kind == "a link" else os.mkfifo(new)
    with replacement(rundir / "f") as file:
        file.write(b"x")
    assert ((rundir / "f").read_text(), (tmp_path / "elsewhere").read_text()) == ("x", "secret")


@pytest.mark.parametrize("name", sorted(OWN_NAMES))
def test_a_batch_begins_in_no_folder_with_a_link_for_one_of_its_names(rundir, tmp_path, name):
    (rundir / "batch.json").write_text("{}")
    (rundir / name).unlink(missing_ok=True)
    (rundir / name).symlink_to(tmp_path)
    wanted = "folder" if name in OWN_FOLDERS else "file"
    with pytest.raises(FolderError, match=rf"latest/{name}: is a link, and the batch has a {wanted} of its own there"):
        RunFolder.for_batch(rundir)


def test_a_batch_begins_in_a_folder_of_the_user_only(rundir, monkeypatch):
    if os.geteuid() == 0:
        os.chown(rundir, 4242, -1)
    owner = rundir.stat().st_uid
    for user in (owner, 0):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        RunFolder.for_batch(rundir)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(FolderError, match=rf"belongs to user {owner}, and you are user {owner + 1}; name a folder"):
        RunFolder.for_batch(rundir)
