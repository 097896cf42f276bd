"""A list of sessions says what loading each of them would say."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.sessions.find import NoSuchSessionError, find
from agent.sessions.load import SessionError, load
from agent.sessions.remove import remove_empty
from agent.sessions.rows import Meta, compaction_line, message_line, meta_line, usage_line
from agent.sessions.store import (
    describe,
    is_locked,
    list_sessions,
    locked_inodes,
)
from agent.transcript import Message, Text
from tests.support.session_files import ID, SUMMARY, TIME, say, session_rows, short_session, write_session
from wire.events import Totals

OTHER = "3a3effff-0000-4000-8000-000000000000"
ROWS = st.sampled_from(
    [
        meta_line(Meta(id=ID, cwd="/a", model="m")),
        meta_line(Meta(id=ID, cwd="/a", model="n", provider="p", title="named")),
        message_line(say("first\n prompt")),
        message_line(say("answer", "assistant")),
        message_line(Message("user", (Text(""), Text("late")), TIME)),
        b'{"type":"message","message":{"role":"user","content":[],"time":""}}\n',
        b'{"message":{"content":[{"text":"other order"}],"role":"user"},"type":"message"}\n',
        b' {"type": "usage", "cumulative": {"input_tokens": 7}}\n',
        usage_line(Totals(1, 2, 3, 4, 0.5)),
        b'{"type":"usage","usage":{},"cumulative":[]}\n',
        compaction_line([SUMMARY]),
        b'{"type":"rename","title":"renamed"}\n',
        b'{"type":"message","message":{"role":"user","content":[{"te\n',
        b'{"type":"future","x":1}\n',
        b"\n",
        b"hello\n",
    ]
)


MESSAGE = message_line(say("x", "assistant"))


@settings(deadline=None)
@given(st.lists(ROWS, max_size=8), st.integers(0, 40))
def test_it_says_what_loading_the_file_would_say(rows, torn):
    text = b"".join([MESSAGE, *rows])
    with tempfile.TemporaryDirectory() as made:
        path = Path(made, "s.jsonl")
        path.write_bytes(text[: max(len(MESSAGE), len(text) - torn)])
        loaded, info = load(path), describe(path)
    assert (info.messages, info.title, info.usage) == (loaded.message_rows, loaded.title, loaded.usage)
    assert (info.id, info.cwd, info.model) == (loaded.meta.id or "s", loaded.meta.cwd, loaded.meta.model)


def test_the_list_is_of_one_folder_or_of_all_and_the_newest_comes_first(tmp_path):
    first = short_session(tmp_path, "/one", "a", ID)
    second = short_session(tmp_path, "/one", "b", OTHER)
    third = short_session(tmp_path, "/two", "c", "77777777-1")
    for age, path in enumerate((third, first, second)):
        os.utime(path, (1_700_000_000 - age,) * 2)
    assert [info.title for info in list_sessions(tmp_path, "/one")] == ["a", "b"]
    found = list_sessions(tmp_path, None)
    assert [(info.title, info.cwd, info.messages) for info in found] == [
        ("c", "/two", 2),
        ("a", "/one", 2),
        ("b", "/one", 2),
    ]
    assert found[0].modified == "2023-11-14T22:13:20.000+00:00"
    assert list_sessions(tmp_path / "nowhere", None) == []


def test_what_is_no_session_is_said_and_costs_the_others_nothing(tmp_path):
    good = short_session(tmp_path, "/one", "a", ID)
    (good.parent / "no.jsonl").write_text("hello\n")
    (good.parent / "empty.jsonl").touch()
    os.mkfifo(good.parent / "fifo.jsonl")
    (good.parent / "folder.jsonl").mkdir()
    (good.parent / "loop.jsonl").symlink_to("loop.jsonl")
    (good.parent / "link.jsonl").symlink_to(good)
    said = []
    found = list_sessions(tmp_path, "/one", said.append)
    assert {info.path.name for info in found} == {good.name, "link.jsonl"}
    assert sorted(line.split("/")[-1] for line in said) == [
        "empty.jsonl: no session: it has neither a `meta` row nor messages",
        "no.jsonl: no session: it has neither a `meta` row nor messages",
    ]
    with pytest.raises(SessionError, match="not a file"):
        describe(good.parent / "fifo.jsonl")
    with pytest.raises(SessionError, match="cannot be read"):
        describe(good.parent / "folder.jsonl")


def test_a_session_that_is_written_to_is_in_use(tmp_path):
    path = short_session(tmp_path, "/one", "a", ID)
    assert not describe(path).in_use
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert describe(path).in_use
        assert list_sessions(tmp_path, None)[0].in_use
    assert not describe(path).in_use


def test_folders_that_cannot_be_read_are_said(tmp_path, monkeypatch):
    """To say that there are no sessions would be wrong."""
    said = []
    for home in (tmp_path / "file", tmp_path / "sessions is a file"):
        (home.parent / "file").touch()
        if home.name != "file":
            home.mkdir()
            (home / "sessions").touch()
        for cwd in (None, "/one"):
            assert list_sessions(home, cwd, said.append) == []
            assert "Not a directory" in said.pop()
        with pytest.raises(
            NoSuchSessionError, match=rf"no session '{ID}'; {home}/sessions.*: cannot be read: Not a dir"
        ):
            find(home, "/one", ID)
        assert remove_empty(home, None) == ([], [f"{home}/sessions: cannot be read: Not a directory"])
    good = short_session(tmp_path, "/one", "a", ID)
    short_session(tmp_path, "/two", "b", OTHER)
    (tmp_path / "sessions" / "loop").symlink_to("loop")
    scandir = os.scandir

    def refuse(folder):
        if Path(folder).name == good.parent.name:
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)  # root may read everything
    assert [info.id for info in list_sessions(tmp_path, None, said.append)] == [OTHER]
    assert said == [f"{good.parent}: cannot be read: Permission denied"]


def test_a_byte_order_mark_is_left_out(tmp_path):
    path = write_session(tmp_path, "/one", [b"\xef\xbb\xbf", *session_rows()])
    assert describe(path).id == ID


def test_a_session_with_everything(tmp_path):
    info = describe(write_session(tmp_path, "/one", session_rows(title="mine", parent=OTHER)))
    assert (info.messages, info.title, info.parent) == (6, "mine", OTHER)
    assert info.usage == Totals(1200, 340, 9000, 100, 0.0123)


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
