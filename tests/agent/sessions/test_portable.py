"""A session goes to another machine and comes back with all its messages."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.sessions import portable
from agent.sessions.load import SessionError, load
from agent.sessions.places import session_files
from agent.sessions.portable import export_portable, import_session
from agent.sessions.rows import Meta, message_line, meta_line, usage_line
from agent.transcript import Message, Text
from tests.agent.sessions.test_repair import messages
from wire.events import Totals

META = Meta(
    id="0a1b2c3d-aaaa",
    cwd="/home/me/project",
    provider="anthropic",
    model="m",
    started="2026-01-02T04:04:05.123+01:00",
    version="1",
    parent="p",
    fork_point=2,
)
HELLO = Message("user", (Text("Fix the *Bug* in  ünïcode/paths, please, and do it very carefully"),), "t")
OTHERS = (
    b'{"type": "usage",  "cumulative": {"input_tokens": 1}}\n',
    b'{"type":"rename","title":"mine"}\r\n',
    b'{"type":"weather","is":"fine"}\n',
    b'{"type":"message","message":{"role":"oracle","content":[{"text":"known to others"}]}}\n',
)


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "here.jsonl"
    path.write_bytes(meta_line(META) + message_line(HELLO) + b"".join(OTHERS) + b"torn off")
    return path


def rows(path):
    return path.read_bytes().splitlines(keepends=True)


def test_an_export_names_no_folder_and_keeps_the_rows_byte_for_byte(session, tmp_path):
    path = export_portable(session, tmp_path / "out")
    assert path == tmp_path / "out.zotsession"
    assert path.stat().st_mode & 0o777 == 0o600
    first, *others = rows(path)
    meta = json.loads(first)["meta"]
    assert meta["cwd"] == ""
    assert (meta["id"], meta["model"], meta["parent"]) == (META.id, "m", "p")
    assert others == [message_line(HELLO), *OTHERS]


def test_in_a_folder_the_file_is_named_after_the_session(session, tmp_path):
    (tmp_path / "out").mkdir()
    path = export_portable(session, tmp_path / "out")
    assert path.name == "20260102-030405-0a1b2c3d-fix-the-bug-in-n-code-paths-please-and-d.zotsession"
    assert path.parent == tmp_path / "out"


def test_a_file_that_is_there_is_replaced_and_a_pipe_is_not(session, tmp_path):
    import os

    target = tmp_path / "OUT.ZotSession"
    target.write_text("old")
    assert export_portable(session, target) == target
    assert load(target).messages == (HELLO,)
    os.mkfifo(pipe := tmp_path / "pipe.zotsession")
    with pytest.raises(SessionError, match=r"pipe\.zotsession: cannot be written: not a file"):
        export_portable(session, pipe)


def test_an_imported_session_belongs_to_its_new_place(session, tmp_path):
    path = import_session(session, tmp_path / "home", cwd="/there", version="2")
    assert session_files(tmp_path / "home", "/there") == [path]
    loaded = load(path)
    assert loaded.messages == (HELLO,)
    assert loaded.title == "mine"
    meta = loaded.meta
    assert (meta.cwd, meta.version, meta.model, meta.provider) == ("/there", "2", "m", "anthropic")
    assert (meta.parent, meta.fork_point) == ("", 0)
    assert meta.id != META.id
    assert meta.started > META.started
    assert rows(path)[1:] == [message_line(HELLO), *OTHERS]


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"type":"usage"}\n', b"\x00" * 100, b'{"type":"meta"'])
def test_what_is_no_session_is_refused(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(SessionError, match="a: no session"):
        import_session(tmp_path / "a", tmp_path / "home", cwd="/", version="2")
    with pytest.raises(SessionError, match="a: no session"):
        export_portable(tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "home").exists()
    assert not (tmp_path / "b.zotsession").exists()


def test_a_file_over_the_limit_is_refused(session, tmp_path, monkeypatch):
    monkeypatch.setattr(portable, "IMPORT_LIMIT", 100)
    with pytest.raises(SessionError, match=r"here.jsonl: cannot be read: larger than 100 bytes"):
        import_session(session, tmp_path / "home", cwd="/", version="2")


@settings(max_examples=30)
@given(messages, st.integers(0, 2**40), st.integers(0, 60))
def test_messages_and_totals_come_back(given_messages, tokens, torn):
    lines = [meta_line(META), *map(message_line, given_messages), usage_line(Totals(tokens, 1, 2, 3, 0.25))]
    last = message_line(HELLO)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "here.jsonl"
        here.write_bytes(b"".join(lines) + last[:torn])
        before = load(here, with_said=True)
        exported = export_portable(here, Path(folder) / "out")
        after = load(import_session(exported, Path(folder), cwd="/there", version="2"), with_said=True)
        assert (after.said, after.usage) == (before.said, before.usage)
        assert after.fault_count == 0
