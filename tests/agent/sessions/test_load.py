"""A session file is read as it was written; a line that cannot be read costs only itself."""

from __future__ import annotations

import pytest

from agent.sessions.file import SessionBusyError, SessionFile
from agent.sessions.fork import fork_to_go_on
from agent.sessions.load import SessionError, load
from agent.sessions.rows import Meta
from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult
from wire.events import Totals

TIME = "2026-01-02T03:04:05+00:00"
CALL = ToolCall("t1", "read", b'{"a": 1}')
CONVERSATION = (
    Message("user", (Text("look"), Image("image/png", "AAAA")), TIME),
    Message("assistant", (Thinking("hm", "sig"), Thinking("", redacted="e"), Text("so"), CALL), TIME),
    Message("tool", (ToolResult("t1", (Text("a"), Image("image/png", "AAAA")), is_error=True),), TIME),
    Message("assistant", (ToolCall("t2", "bash", b"{bad"),), TIME),
    Message("tool", (ToolResult("t2", (Text("unfit"),)),), TIME),
    Message("assistant", (Text("done"),), TIME),
)  # fmt: skip


@pytest.fixture
def written(tmp_path):
    file = SessionFile.new(tmp_path, Meta(cwd="/project", provider="anthropic", model="m", version="1"))
    for message in CONVERSATION:
        file.message(message)
    file.usage(Totals(1, 2, 3, 4, 0.5))
    yield file
    file.close()


def test_what_was_written_is_read(written):
    loaded = load(written.path)
    assert loaded.messages == CONVERSATION
    assert loaded.usage == Totals(1, 2, 3, 4, 0.5)
    assert loaded.meta == written.meta
    assert loaded.title == "look"
    assert (loaded.repairs, loaded.fault_count, loaded.ends_in_line) == (0, 0, True)


def test_a_compaction_takes_the_place_of_all_before_it(written):
    summary = (Message("user", (Text("summary"),), TIME), CONVERSATION[-1])
    written.compaction(summary)
    written.message(Message("user", (Text("go on"),), TIME))
    loaded = load(written.path, with_said=True)
    assert loaded.messages == (*summary, Message("user", (Text("go on"),), TIME))
    assert loaded.said == (*CONVERSATION, Message("user", (Text("go on"),), TIME))


def test_a_torn_last_line_is_left_out_and_ended(written):
    written.close()
    with written.path.open("ab") as file:
        file.write(b'{"type":"message","message":{"role":"us')
    again, loaded = SessionFile.reopen(written.path)
    assert loaded.messages == CONVERSATION
    assert (loaded.fault_count, loaded.ends_in_line) == (1, False)
    again.message(Message("user", (Text("more"),), TIME))
    again.close()
    assert load(written.path).messages[-1].content == (Text("more"),)


def test_a_second_writer_is_refused(written):
    with pytest.raises(SessionBusyError, match="another run"):
        SessionFile.reopen(written.path)


def test_a_file_that_is_no_session_is_refused(tmp_path):
    (tmp_path / "a").write_text("hello\n")
    with pytest.raises(SessionError, match="no session"):
        load(tmp_path / "a")
    with pytest.raises(SessionError, match="No such file"):
        load(tmp_path / "b")


def test_a_byte_order_mark_is_not_copied(written, tmp_path):
    lines = written.path.read_bytes().splitlines(keepends=True)
    path = tmp_path / "marked.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"".join(lines[1:]))
    copy, _ = fork_to_go_on(path, tmp_path, cwd="/y")
    copy.message(Message("user", (Text("more"),), TIME))
    copy.close()
    assert load(copy.path).messages[:-1] == CONVERSATION
    assert load(copy.path).fault_count == 0


def test_results_for_calls_at_the_end_are_told_apart_from_what_is_in_the_file(written):
    assert load(written.path).unwritten == ()
    written.message(CONVERSATION[1])
    loaded = load(written.path)
    (added,) = loaded.unwritten
    assert (loaded.messages[-1], loaded.messages[-2]) == (added, CONVERSATION[1])
    written.message(added)
    again = load(written.path)
    assert (again.messages, again.repairs, again.unwritten) == (loaded.messages, 0, ())


def test_what_is_repaired_before_the_end_is_not_to_be_written_behind_it(written):
    written.message(CONVERSATION[1])
    written.message(Message("user", (Text("and?"),), TIME))
    assert (load(written.path).repairs, load(written.path).unwritten) == (1, ())
    written.message(Message("assistant", (CALL, CALL), TIME))
    assert (load(written.path).repairs, load(written.path).unwritten) == (3, ())
