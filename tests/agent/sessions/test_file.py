"""Session files: zot's format, whole lines, a lock, and errors that cost nothing else."""

from __future__ import annotations

import fcntl
import json
import os

import pytest

from agent.sessions.file import SessionFile
from agent.sessions.rows import Meta
from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult
from wire.events import Totals


def new(home, cwd="/project"):
    return SessionFile.new(home, Meta(cwd=cwd, provider="replay", model="m", version="1.2"))


@pytest.fixture
def session(tmp_path):
    file = new(tmp_path)
    yield file
    file.close()


def rows(session):
    return [json.loads(line) for line in session.path.read_text().splitlines()]


def say(text, role="user"):
    return Message(role, (Text(text),), "2026-01-02T03:04:05+00:00")


def test_the_file_appears_with_the_first_message_and_is_private(session):
    session.usage(Totals(1, 2, 0, 0))
    session.message(Message("assistant", (), "t"))
    assert not session.path.exists()
    session.message(say("hi"))
    assert session.path.stat().st_mode & 0o777 == 0o600
    assert session.path.parent.stat().st_mode & 0o777 == 0o700
    meta, message = rows(session)
    assert meta["type"] == "meta"
    assert {"id", "cwd", "model", "provider", "started", "version"} == meta["meta"].keys()
    assert message["message"] == {"role": "user", "content": [{"text": "hi"}], "time": "2026-01-02T03:04:05+00:00"}


def test_the_folder_is_that_of_the_project(tmp_path, session):
    same = new(tmp_path)
    other = new(tmp_path, "/project/")
    assert same.path.parent == session.path.parent != other.path.parent
    assert same.path != session.path


def test_every_kind_of_block(session):
    args = b'{\n "a": 1.0,\r\n "b": "\\u2028"}'
    session.message(
        Message(
            "assistant",
            (
                Thinking("hm", "sig"),
                Thinking("", redacted="enc"),
                ToolCall("t1", "read", args),
                ToolCall("t2", "x", b"{bad"),
            ),
            "t",
        )
    )
    session.message(Message("tool", (ToolResult("t1", (Text("a"), Image("image/png", "AAAA")), is_error=True),), "t"))
    _meta, called, answered = rows(session)
    thought, hidden, call, bad = called["message"]["content"]
    assert thought == {"reasoning_id": "", "summary": "hm", "encrypted_content": "sig", "redacted": False}
    assert hidden == {"reasoning_id": "", "summary": "", "encrypted_content": "enc", "redacted": True}
    assert call == {"id": "t1", "name": "read", "arguments": {"a": 1.0, "b": "\u2028"}}
    assert bad["arguments"] == "{bad"
    assert answered["message"]["content"] == [
        {"call_id": "t1", "content": [{"text": "a"}, {"mime_type": "image/png", "data": "AAAA"}], "is_error": True}
    ]


def test_arguments_that_readers_may_not_be_able_to_load_are_a_text(session):
    deep = b"[" * 1_000 + b"]" * 1_000
    calls = [ToolCall("a", "bash", b"{bad"), ToolCall("b", "bash", deep)]
    session.message(Message("assistant", tuple(calls), "t"))
    content = rows(session)[1]["message"]["content"]
    assert [block["arguments"] for block in content] == ["{bad", deep.decode()]


def test_usage_rows_say_the_running_totals_and_leave_an_unknown_cost_out(session):
    session.message(say("hi"))
    session.usage(Totals(1, 2, 3, 4, None))
    row = rows(session)[-1]
    assert row["usage"] == row["cumulative"]
    assert row["usage"]["input_tokens"] == 1
    assert "cost_usd" not in row["usage"]


def test_a_file_in_use_is_locked(session):
    session.message(say("hi"))
    with session.path.open("rb") as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        session.close()
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_home_that_cannot_be_written_costs_the_session_file_only(tmp_path):
    (tmp_path / "home").write_text("a file")
    session = new(tmp_path / "home")
    session.message(say("hi"))
    assert session.error is not None
    assert "Not a directory" in session.error
    session.message(say("again"))
    session.usage(Totals(1, 0, 0, 0))


@pytest.mark.parametrize("left", [0, 50])
def test_what_others_cut_off_ends_the_writing_and_what_they_add_does_not(session, left):
    session.message(say("one"))
    with session.path.open("ab") as other:
        other.write(b'{"type":"added"}\n')
    session.message(say("two"))
    assert session.error is None
    os.truncate(session.path, left)
    session.message(say("three"))
    assert "became shorter" in session.error
    assert session.path.stat().st_size == left


def test_half_a_line_is_taken_back(session, monkeypatch):
    session.message(say("one"))
    real = os.write

    def full_disk(fd, data):
        if len(data) <= 10:
            raise OSError(28, "No space left on device")
        return real(fd, data[: len(data) - 10])

    monkeypatch.setattr("agent.sessions.file.os.write", full_disk)
    session.message(say("two" * 100))
    monkeypatch.undo()
    assert "No space left" in session.error
    assert [row["type"] for row in rows(session)] == ["meta", "message"]
    assert session.path.read_bytes().endswith(b"\n")
    session.message(say("three"))
    assert len(rows(session)) == 2
