"""The turn-meter example: its sums, when it reports them, and its command."""

from __future__ import annotations

import re

import pytest


@pytest.fixture
def meter(greet):
    return greet("turn-meter")


def tell(meter, event, **fields):
    meter.send("event", event=event, **fields)


def ask(meter):
    """Runs /meter and returns the totals without the time."""
    meter.send("command_invoked", id="5", name="meter")
    answer = meter.frame()
    return without_time(answer.pop("display")), answer


def without_time(summary):
    sums, seconds = summary.rsplit(", ", 1)
    assert re.fullmatch(r"\d+\.\d s", seconds)
    return sums


def test_one_note_at_the_end_of_each_answer(meter):
    tell(meter, "session_start")
    tell(meter, "turn_start", step=1)
    tell(meter, "assistant_message")
    tell(meter, "tool_call", tool_id="a", tool_name="read", tool_args={"path": "x"})
    tell(meter, "tool_call", tool_id="b", tool_name="bash", tool_args={"command": "ls"})
    tell(meter, "tool_call", tool_id="c", tool_name="read", tool_args={"path": "y"})
    tell(meter, "turn_end", stop="tool_use")
    tell(meter, "turn_start", step=2)
    tell(meter, "assistant_message", text="done")
    tell(meter, "turn_end", stop="end_turn")
    note = meter.frame()
    assert without_time(note.pop("message")) == "2 turns, 3 tool calls (read 2, bash 1), 1 message"
    assert note == {"type": "notify", "level": "info"}
    tell(meter, "turn_start", step=1)
    tell(meter, "turn_end", stop="error", error="overloaded")
    assert without_time(meter.frame()["message"]) == "3 turns, 3 tool calls (read 2, bash 1), 1 message"


def test_line_separators_inside_strings_do_not_break_a_frame(meter):
    meter.send_bytes('{"type":"event","event":"assistant_message","text":"a\u2028b\u2029c"}\n'.encode())
    assert ask(meter)[0] == "0 turns, 0 tool calls, 1 message"
    meter.send("shutdown")
    assert meter.exit_code() == 0
    assert meter.stderr() == ""


def test_a_frame_may_arrive_in_pieces(meter):
    frame = '{"type":"event","event":"tool_call","tool_id":"a","tool_name":"größe","tool_args":{}}\n'.encode()
    for position in range(len(frame)):
        meter.send_bytes(frame[position : position + 1])
    assert ask(meter)[0] == "0 turns, 1 tool call (größe 1), 0 messages"
