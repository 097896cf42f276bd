"""A socket at a path of the user's: what is in its place, and whose the folder is."""

from __future__ import annotations

import os
import socket
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from supervisor.control.named_socket import InUseError, UnusablePathError, advice_on_length, listen_at
from supervisor.control.unix_socket import LONGEST_PATH, connect


@pytest.fixture
def folder(tmp_path):
    os.chmod(tmp_path, 0o700)
    return tmp_path


def test_it_listens_with_a_private_mode_and_no_other_name_is_left(folder):
    with listen_at(folder / "s"):
        found = os.lstat(folder / "s")
        assert (stat.S_ISSOCK(found.st_mode), stat.S_IMODE(found.st_mode)) == (True, 0o600)
        assert os.listdir(folder) == ["s"]
        connect(folder / "s", 1).close()


def test_a_socket_that_nobody_serves_is_replaced(folder):
    listen_at(folder / "s").close()
    with listen_at(folder / "s"):
        connect(folder / "s", 1).close()


def test_one_that_is_served_is_not(folder):
    with listen_at(folder / "s"):
        before = os.lstat(folder / "s").st_ino
        with pytest.raises(InUseError, match=r"another process listens on .*/s already"):
            listen_at(folder / "s")
        assert os.lstat(folder / "s").st_ino == before
        connect(folder / "s", 1).close()


def a_file(path):
    path.write_text("mine")


def a_folder(path):
    path.mkdir()


def a_link(path):
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("make", "kind"), [(a_file, "a file"), (a_folder, "a folder"), (a_link, "a link")], ids=["file", "folder", "link"]
)
def test_anything_else_stays(folder, make, kind):
    make(folder / "s")
    before = os.lstat(folder / "s")
    with pytest.raises(UnusablePathError, match=f"is {kind}, and no socket"):
        listen_at(folder / "s")
    assert os.lstat(folder / "s") == before
    assert os.listdir(folder) == ["s"]


def test_a_socket_of_another_kind_stays(folder):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(folder / "s"))
        with pytest.raises(UnusablePathError, match="may be in use"):
            listen_at(folder / "s")
    assert (folder / "s").is_socket()


def test_the_folder_must_exist_and_belong_to_this_user_alone(folder):
    with pytest.raises(UnusablePathError, match=r"there is no folder .*; make it: mkdir -m 700"):
        listen_at(folder / "x" / "s")
    (folder / "file").write_text("")
    with pytest.raises(UnusablePathError, match=r"file: Not a directory|file is no folder"):
        listen_at(folder / "file" / "s")
    (folder / "open").mkdir()
    for mode in (0o777, 0o1777, 0o770):
        os.chmod(folder / "open", mode)
        with pytest.raises(UnusablePathError, match=r"others may write to .*: chmod go-w it, or choose a folder"):
            listen_at(folder / "open" / "s")


def test_the_folder_or_the_socket_of_another_user(folder, monkeypatch):
    listen_at(folder / "s").close()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UnusablePathError, match=r"the folder .* belongs to another user"):
        listen_at(folder / "s")
    assert (folder / "s").is_socket()


def test_a_locked_folder_is_waited_for_and_given_up(folder):
    import fcntl

    fd = os.open(folder, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with pytest.raises(UnusablePathError, match="another program has locked the folder"):
        listen_at(folder / "s", wait_s=0)
    os.close(fd)


def test_of_many_that_start_at_the_same_time_one_listens(folder):
    listen_at(folder / "s").close()

    def begin(_):
        try:
            return listen_at(folder / "s")
        except InUseError:
            return None

    with ThreadPoolExecutor(8) as threads:
        listeners = [found for found in threads.map(begin, range(8)) if found is not None]
    assert len(listeners) == 1
    connect(folder / "s", 1).close()
    listeners[0].close()


def test_a_long_path_works_and_is_advised_against(folder):
    path = folder / ("d" * 100) / "s"
    path.parent.mkdir(mode=0o700)
    with listen_at(path):
        connect(path, 1).close()
    assert f"most programs connect to {LONGEST_PATH} at most" in advice_on_length(path)
    assert advice_on_length(folder.__class__("/tmp/s")) == ""
