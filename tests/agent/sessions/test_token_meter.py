"""The figures of the last request of a session, for rows in every order that programs write them in."""

from __future__ import annotations

import pytest

from agent.sessions.load import load
from agent.sessions.rows import Meta, compaction_line, message_line, meta_line, usage_line
from agent.sessions.token_meter import RequestTokens
from agent.transcript import Message, Text, ToolCall, ToolResult
from tests.support.session_files import ID, say, write_session
from wire.events import Totals

ROWS = {
    "u": message_line(say("go")),
    "c": message_line(Message("assistant", (ToolCall("t", "read", b"{}"),), "")),
    "r": message_line(Message("tool", (ToolResult("t", (Text("a"),)),), "")),
    "a": message_line(say("So.", "assistant")),
    "x": b"{broken\n",
    "S": compaction_line([say("Summary.")]),
    "E": compaction_line([say("Summary."), say("So.", "assistant")]),
    "m": meta_line(Meta(id=ID, model="other")),
}


def measured(tmp_path, rows):
    """Letters are `ROWS`; a number is a row of totals with so many tokens more, or less, than the one before."""
    total, lines = 0, [ROWS["m"]]
    for row in rows.split():
        if row in ROWS:
            lines.append(ROWS[row])
            continue
        total += int(row)
        # Each count grows with the sum.
        lines.append(usage_line(Totals(total // 2, total // 10, total - total // 2 - total // 10, 0)))
    return load(write_session(tmp_path, "/one", lines)).measured


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        # totals before their reply
        ("u 900 a", (900, 2)),
        ("u 900 c r 1000 a", (1000, 4)),
        ("u 900 c r 1000 a u 1100 a", (1100, 6)),
        ("u 900 c r 1000 a m u", (1000, 4)),
        ("u 900 c r", (900, 2)),
        ("u 900 c r 1000", (900, 2)),
        ("u 900 c", (900, 2)),
        ("u 900 a u 400 1000 a", (1000, 4)),
        ("u 900 a u 400 u 1000 a", (1000, 5)),
        # totals after their reply
        ("u a 900", (900, 2)),
        ("u a 900 u a 1000 u", (1000, 4)),
        ("u c 900 r a 1000", (1000, 4)),
        ("u c r 900 a 1000", (1000, 4)),
        ("u c r 900 c r 1000", (1000, 4)),
        ("u 900 a u a 1000", (1000, 4)),
        ("u a 900 u 1000 a", (1000, 4)),
        ("u a 900 u c r a 3000", (900, 2)),
        # after a compaction or a gap the next request counts
        ("u 900 a u 400 S 1000 a", (1000, 2)),
        ("u 900 a 400 E u 1000 a", (1000, 4)),
        ("u a 900 E u a 1000", (1000, 4)),
        ("u x 900 a u 1000 a", (1000, 4)),
        ("u 900 a -100 u 1000 a", (1000, 4)),
    ],
    ids=str,
)
def test_what_the_last_request_had(tmp_path, rows, found):
    assert measured(tmp_path, rows) == RequestTokens(*found)


@pytest.mark.parametrize(
    "rows",
    [
        "u",
        "u a",
        "5000 u a",
        "5000 u a u 900",
        "u c r a 3000",
        "u c r a u 3000 a",
        "u a 0",
        "u 0 a",
        "u 900",
        "x u a 900",
        "u x 900 a x 100",
        "u 900 c r 1000 a u -500 a",
        "u a 900 u a -500",
        "u 900 a S",
        "u 900 a u 400 S",
        "u c r S a 900 u E",
        "u a S 900",
    ],
)
def test_what_is_not_one_request_for_certain_is_not_taken(tmp_path, rows):
    assert measured(tmp_path, rows) is None


def test_a_conversation_that_was_repaired_before_the_reply_is_not_measured(tmp_path):
    assert measured(tmp_path, "u c u 900 a") is None
    assert measured(tmp_path, "u 900 a c u") == RequestTokens(900, 2)
