"""A fork begins as its original did, at any message, and costs the original nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.sessions.file import SessionFile
from agent.sessions.fork import fork
from agent.sessions.load import SessionError, load
from agent.sessions.places import session_files
from agent.sessions.rows import Meta, compaction_line, message_line, meta_line, usage_line
from agent.transcript import Message, Text
from tests.agent.sessions.test_repair import check, messages
from wire.events import Totals


def say(text, role="user"):
    return Message(role, (Text(text),), "2026-01-02T03:04:05+00:00")


META = Meta(id="a" * 36, cwd="/project", provider="anthropic", model="m", started="2026-01-02T03:04:05Z", version="1")
ONE, TWO, THREE = say("one"), say("two", "assistant"), say("three")


@pytest.fixture
def write(tmp_path):
    def written(*lines):
        path = tmp_path / "original.jsonl"
        path.write_bytes(b"".join(lines))
        return path

    return written


def conversation(path):
    return [message.content[0].text for message in load(path).messages]


def test_a_fork_has_all_and_says_where_it_is_from(write, tmp_path):
    rename = b'{"type":"rename","title":"mine"}\n'
    path = write(meta_line(META), *map(message_line, (ONE, TWO, THREE)), usage_line(Totals(1, 2, 0, 0, 0.5)), rename)
    before = path.read_bytes()
    forked = load(fork(path, tmp_path / "home", at=None, version="2"))
    assert forked.messages == (ONE, TWO, THREE)
    assert forked.usage == Totals(1, 2, 0, 0, 0.5)
    assert forked.title == "mine"
    meta = forked.meta
    assert (meta.parent, meta.fork_point, meta.version) == (META.id, 3, "2")
    assert (meta.cwd, meta.provider, meta.model) == ("/project", "anthropic", "m")
    assert meta.id != META.id
    assert meta.started > META.started
    assert forked.path.stat().st_mode & 0o777 == 0o600
    assert session_files(tmp_path / "home", "/project") == [forked.path]
    assert path.read_bytes() == before
    assert os.listdir(forked.path.parent) == [forked.path.name]


def test_the_cut_is_behind_a_message_and_its_totals(write, tmp_path):
    first, second = Totals(1, 1, 0, 0, 0.1), Totals(2, 2, 0, 0, 0.2)
    path = write(
        meta_line(META),
        message_line(ONE),
        usage_line(first),
        message_line(TWO),
        usage_line(second),
        message_line(THREE),
    )
    found = [load(fork(path, tmp_path, at=at, version="2")) for at in (1, 2, 3)]
    assert [forked.usage for forked in found] == [first, second, second]
    assert [forked.messages for forked in found] == [(ONE,), (ONE, TWO), (ONE, TWO, THREE)]


def test_messages_before_a_compaction_count(write, tmp_path):
    summary = say("summary")
    path = write(meta_line(META), message_line(ONE), message_line(TWO), compaction_line([summary]), message_line(THREE))
    said = [conversation(fork(path, tmp_path, at=at, version="2")) for at in (1, 2, 3, None)]
    assert said == [["one"], ["one", "two"], ["summary", "three"], ["summary", "three"]]


@pytest.mark.parametrize("at", [-1, 0, 3])
def test_a_cut_that_is_not_there_says_how_many_messages_there_are(write, tmp_path, at):
    path = write(meta_line(META), message_line(ONE), message_line(TWO))
    with pytest.raises(
        SessionError, match=rf"original.jsonl: no fork at {at}: there are 2 messages; at may be 1 to 2$"
    ):
        fork(path, tmp_path / "home", at=at, version="2")
    assert not (tmp_path / "home").exists()


def test_a_session_that_is_being_written_is_forked_by_its_whole_rows(tmp_path):
    session = SessionFile.new(tmp_path, META)
    session.message(ONE)
    session.message(TWO)
    with session.path.open("ab") as file:
        file.write(message_line(THREE)[:-5])
    forked = load(fork(session.path, tmp_path, at=None, version="2"))
    assert forked.messages == (ONE, TWO)
    assert (forked.fault_count, forked.ends_in_line) == (0, True)
    session.close()


def test_a_whole_last_row_without_its_end_of_line_is_copied(write, tmp_path):
    path = write(meta_line(META), message_line(ONE)[:-1])
    forked = load(fork(path, tmp_path, at=None, version="2"))
    assert (forked.messages, forked.ends_in_line) == ((ONE,), True)


def test_lines_that_are_no_rows_are_left_out(write, tmp_path):
    path = write(
        meta_line(META), b"oops\n\n", message_line(ONE), b'{"type":"message","message":{"role":"x"}}\n', b"{}\n"
    )
    forked = load(fork(path, tmp_path, at=1, version="2"))
    assert (forked.messages, forked.fault_count) == ((ONE,), 0)


def test_what_is_no_session_is_refused(write, tmp_path):
    with pytest.raises(SessionError, match="no session"):
        fork(write(b"hello\n"), tmp_path, at=None, version="2")
    with pytest.raises(SessionError, match="has no messages"):
        fork(write(meta_line(META)), tmp_path, at=None, version="2")
    with pytest.raises(SessionError, match="No such file"):
        fork(tmp_path / "none", tmp_path, at=None, version="2")
    with pytest.raises(SessionError, match="not a file"):
        fork(tmp_path, tmp_path, at=None, version="2")


def test_a_full_disk_leaves_no_file(write, tmp_path, monkeypatch):
    path = write(meta_line(META), message_line(ONE))

    def full(fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agent.sessions.file.os.fsync", full)
    with pytest.raises(SessionError, match="No space left"):
        fork(path, tmp_path / "home", at=None, version="2")
    assert session_files(tmp_path / "home") == []
    assert not [file for file in (tmp_path / "home").rglob("*") if file.is_file()]


@settings(max_examples=30)
@given(messages, st.data())
def test_a_fork_at_any_message_is_valid(given_messages, data):
    rows = [Message(message.role, message.content, ONE.time) for message in given_messages if message.content]
    lines = [meta_line(META)]
    for message in rows:
        lines.append(message_line(message))
        if data.draw(st.booleans()):
            lines.append(usage_line(Totals(len(lines), 0, 0, 0, 0.1)))
        if data.draw(st.booleans()):
            lines.append(compaction_line([say("summary")]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "original.jsonl"
        path.write_bytes(b"".join(lines))
        for at in range(1, len(rows) + 1):
            loaded = load(fork(path, Path(folder), at=at, version="2"), with_said=True)
            assert list(loaded.said) == rows[:at]
            assert loaded.fault_count == 0
            check(loaded.messages)
