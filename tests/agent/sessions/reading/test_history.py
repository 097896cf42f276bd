"""A history has every message, and says where the conversation was compacted."""

from __future__ import annotations

import os

import pytest

from agent.sessions.export.html import export_html
from agent.sessions.export.json import export_record
from agent.sessions.export.markdown import export_markdown
from agent.sessions.file import SessionFile, append_summary
from agent.sessions.load import SessionError
from agent.sessions.reading.history import SessionSummary, read_history
from agent.sessions.rows import Meta, compaction_line, message_line, summary_line
from cli.sessions.conversation import lines_of
from tests.support.session_files import CONVERSATION, SUMMARY, say, write_session


def test_all_messages_and_the_compaction_in_order(tmp_path):
    history = read_history(write_session(tmp_path, "/project"))
    assert history.messages == CONVERSATION
    compacted = SessionSummary(4, (SUMMARY, CONVERSATION[3]))
    numbered = list(enumerate(CONVERSATION, 1))
    assert list(history.steps()) == [*numbered[:4], compacted, *numbered[4:]]
    assert ([fault.line for fault in history.faults], history.fault_count) == ([9], 1)
    assert history.version == "0.1"


def test_compactions_at_the_start_the_end_and_twice_in_one_place(tmp_path):
    one = compaction_line([SUMMARY])
    history = read_history(write_session(tmp_path, "/p", [one, message_line(say("a")), one, one]))
    assert [step.after if isinstance(step, SessionSummary) else "message" for step in history.steps()] == [
        0,
        "message",
        1,
        1,
    ]


def test_a_file_that_is_none_is_an_error(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path / "none", tmp_path):
        with pytest.raises(SessionError, match="cannot be read"):
            read_history(path)


def test_the_last_summary_is_shown_and_exported(tmp_path):
    path = write_session(tmp_path, "/p", [message_line(say("a")), summary_line("old"), summary_line("new\n<b>words")])
    history = read_history(path)
    assert history.summary == export_record(history).summary == "new\n<b>words"
    assert list(lines_of(history, full=False, style=False))[3:6] == ["summary", "new", "<b>words"]
    assert "## Summary\n\nnew\n&lt;b>words" in export_markdown(history)
    assert "<h2>Summary</h2>" in export_html(history)
    assert "&lt;b&gt;words" in export_html(history)
    assert history.fault_count == 0


def test_a_summary_can_come_when_the_session_is_closed(tmp_path):
    file = SessionFile.new(tmp_path, Meta(cwd="/p"))
    file.summary("nothing to sum up")
    assert not file.is_on_disk
    file.message(say("a"))
    with pytest.raises(SessionError, match="another run uses"):
        append_summary(file.path, "too early")
    file.close()
    append_summary(file.path, "late")
    assert read_history(file.path).summary == "late"
    with pytest.raises(SessionError, match="cannot be opened"):
        append_summary(tmp_path / "none", "late")
