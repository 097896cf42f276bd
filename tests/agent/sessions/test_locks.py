"""Whose lock it is, is read from the system's list; only what stands there is tried."""

from __future__ import annotations

import fcntl

from agent.sessions.locks import is_locked, locked_inodes


def test_the_list_names_locked_files(tmp_path):
    listing = tmp_path / "locks"
    listing.write_text(
        "1: FLOCK  ADVISORY  WRITE 3991 fe:00:2148684 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 1 08:01:7 0 EOF\n"
        "2: POSIX  ADVISORY  READ 1 fe:00:11 0 EOF\nwhat is this\n"
    )
    assert locked_inodes(listing) == {2148684, 7}
    assert locked_inodes(tmp_path / "none") is None


def test_a_lock_is_seen_with_and_without_the_list(tmp_path):
    path = tmp_path / "file"
    path.touch()
    inode = path.stat().st_ino
    with path.open() as held, path.open() as other:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert is_locked(other.fileno(), inode, None)
        assert is_locked(other.fileno(), inode, frozenset({inode}))
        fcntl.flock(held, fcntl.LOCK_UN)
        assert not is_locked(other.fileno(), inode, None)
        assert not is_locked(other.fileno(), inode, frozenset({inode}))
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # what was tried is given back


def test_a_file_that_the_list_does_not_have_is_not_tried():
    assert not is_locked(-1, 5, frozenset({6}))
