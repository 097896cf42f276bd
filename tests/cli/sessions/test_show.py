"""`zot session show`: readable, complete if asked for, and harmless."""

from __future__ import annotations

import os

import msgspec
import pytest

from agent.sessions.reading.history import read_history
from agent.sessions.rows import Meta, message_line, meta_line
from agent.transcript import Message, Text, ToolCall, ToolResult
from cli.sessions.conversation import lines_of
from tests.support.session_files import CONVERSATION, HOSTILE, ID, TIME, say, write_session
from tests.support.zot_fork import run
from wire.rpc.sessions import Export

SHOWN = """\
Fix the test. E assert 3 == 4
session 3a3ec9b6-0f8c-495a-a58b-2245c8f4c096, <cwd>, anthropic m-1
1 line of the session file cannot be read and is skipped: 9

[1] user  2026-01-02 03:04:05 +01:00
Fix the test.

E   assert 3 == 4
  (image, image/png, 70 B)

[2] assistant  2026-01-02 03:04:05 +01:00
  (thought, 14 characters)
I look at **it**.
  call read
    path: test_it.py
  call bash
    command:
      git log |
        head
    timeout: 20

[3] results  2026-01-02 03:04:05 +01:00
  result of read
    ```
    def test():
    ````
    (image, image/png, 70 B)
  error of bash
    fatal: no repository
"""


def test_the_conversation_in_order(zot, sessions):
    outcome = run(zot, "session", "show", "3a3e")
    assert (outcome.status, outcome.stderr) == (0, "")
    text = outcome.text.replace(str(zot.cwd), "<cwd>")
    assert text.startswith(SHOWN)
    assert "--- Compacted: from here on the model sees 2 messages in place of the 4 before ---\n    ## Context" in text
    assert text.endswith("\n6 messages, 10,300 tokens in (9,000 from the cache), 340 out, $0.0123\n")


def test_nothing_that_was_said_controls_the_terminal(zot, sessions):
    text = run(zot, "session", "show", ID).text
    assert HOSTILE.split("\x1b")[0] in text
    assert "<U+202E>gnp.exe" in text
    assert all(character.isprintable() or character == "\n" for character in text)


def test_long_texts_are_cut_unless_asked_for(tmp_path):
    call = Message("assistant", (ToolCall("t", "write", b'{"content": "' + b"line\\n" * 50 + b'"}'),), TIME)
    result = Message("tool", (ToolResult("t", (Text("y" * 5000),)),), TIME)
    history = read_history(write_session(tmp_path, "/p", map(message_line, (say("z" * 5000), call, result))))
    lines = list(lines_of(history, full=False, style=False))
    assert "z" * 5000 in lines  # what was said is never cut
    assert lines.count("      line") == 8
    assert "      … 210 more characters: --full shows them" in lines
    assert "    " + "y" * 1000 in lines
    assert "    … 4,000 more characters: --full shows them" in lines
    whole = list(lines_of(history, full=True, style=False))
    assert "    " + "y" * 5000 in whole
    assert whole.count("      line") == 50


def test_thoughts_are_shown_if_asked_for(zot, sessions):
    assert "Read it first." not in run(zot, "session", "show", ID).text
    text = run(zot, "session", "show", ID, "--full").text
    assert "  thought\n    Read it first.\n" in text
    assert "  thought, encrypted\n" in text


def test_json_is_as_documented_and_complete(zot, sessions):
    outcome = run(zot, "session", "show", ID, "--json")
    assert not set(outcome.text.rstrip("\n")) & {"\x1b", "\x9b", "\u202e", "\n"}
    found = msgspec.json.decode(outcome.stdout, type=Export)
    assert (found.id, found.cwd, found.export_version, found.fault_count) == (ID, str(zot.cwd), 1, 1)
    assert len(found.messages) == len(CONVERSATION)
    assert [each.after for each in found.compactions] == [4]
    assert found.messages[0].content[1].data.startswith("iVBOR")
    assert found.messages[3].content[-1].args_text == "{bad"


def test_colours_only_if_they_are_wanted(zot, sessions):
    zot.env.pop("NO_COLOR", None)
    assert "\x1b" not in run(zot, "session", "show", ID).text
    zot.env["FORCE_COLOR"] = "1"
    assert "\x1b[1;34m[1] user\x1b[0m" in run(zot, "session", "show", ID).text
    zot.env["NO_COLOR"] = "1"
    assert "\x1b" not in run(zot, "session", "show", ID).text


def test_a_session_of_another_folder_is_found_too(zot, sessions):
    assert "far away" in run(zot, "session", "show", "7777").text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nope", "there is no session 'nope'"),
        ("3a3", "too short"),
        ("", "the id is empty"),
        ("./fifo", "cannot be read: not a file"),
        ("./none", "cannot be read: No such file"),
        ("./text", "no session"),
        (".", "too short"),
        ("./", "cannot be read"),
    ],
)
def test_what_is_no_session_is_said(zot, sessions, name, said):
    os.mkfifo(zot.cwd / "fifo")
    (zot.cwd / "text").write_text("hello\n")
    outcome = run(zot, "session", "show", name)
    assert (outcome.status, outcome.stdout) == (1, b"")
    assert outcome.stderr.startswith("zot session show: ")
    assert said in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_a_session_without_messages_is_shown(zot):
    write_session(zot.home, str(zot.cwd), [meta_line(Meta(id=ID))])
    text = run(zot, "session", "show", ID).text
    assert text.startswith("Session 3a3ec9b6\n")
    assert text.endswith("0 messages, 0 tokens in, 0 out, $0.00\n")
