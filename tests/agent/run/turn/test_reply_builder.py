"""A reply built line by line: its records, what is kept, and how the run goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.run.turn.reply_builder import ReplyBuilder
from agent.transcript import Text, Thinking, ToolCall
from wire import events
from wire.exit_codes import Status

USAGE = {"input": 3, "output": 4, "cache_read": 0, "cache_write": 0}
CALL = {"type": "tool_call", "id": "t1", "name": "read", "args": "{}"}
TEXT = {"type": "text", "text": "Hello"}
THOUGHT = {"type": "thinking", "text": "hm", "signature": "s"}


def delta(text):
    return {"type": "text_delta", "delta": text}


def final(*content, stop="end_turn"):
    return {"type": "final", "content": list(content), "stop_reason": stop, "usage": USAGE}


def failure(kind, **more):
    return {"type": "error", "kind": kind, "message": "it failed", **more}


def reply_of(*lines, withhold=False):
    assembly = ReplyBuilder(withhold=withhold)
    records = [record for line in lines for record in assembly.take(line)]
    return assembly, records


def test_lines_become_records_at_once():
    lines = [
        {"type": "message_start", "usage": USAGE},
        delta("Hel"),
        {"type": "thinking_delta", "delta": "secret thought"},
        {"type": "tool_use_start", "call_id": "t1", "name": "read"},
        {"type": "tool_use_args", "call_id": "t1", "delta": "{}"},
        {"type": "tool_use_end", "call_id": "t1"},
        final(TEXT, CALL, stop="tool_use"),
    ]
    assembly, records = reply_of(*lines)
    assert records == [
        events.TextDelta("Hel"),
        events.ToolUseStart("t1", "read"),
        events.ToolUseArgs("t1", "{}"),
        events.ToolUseEnd("t1"),
    ]
    assert assembly.release("ignored, as nothing was withheld") == []
    assert assembly.reply is not None
    assert assembly.reply.tool_calls == (ToolCall("t1", "read", b"{}"),)


def test_with_guards_nothing_comes_before_the_verdict():
    start = {"type": "tool_use_start", "call_id": "t1", "name": "read"}
    assembly, records = reply_of(delta("Hel"), start, delta("lo"), final(TEXT), withhold=True)
    assert records == []
    assert assembly.release("H***o") == [events.TextDelta("H***o"), events.ToolUseStart("t1", "read")]


def test_a_suppressed_text_leaves_the_calls():
    start = {"type": "tool_use_start", "call_id": "t1", "name": "read"}
    assembly, _records = reply_of(delta("x"), start, final(TEXT), withhold=True)
    assert assembly.release("") == [events.ToolUseStart("t1", "read")]


@pytest.mark.parametrize(
    ("reason", "content", "stop", "status"),
    [
        ("end_turn", [TEXT], "end_turn", Status.OK),
        ("stop_sequence", [TEXT], "end_turn", Status.OK),
        ("tool_use", [CALL], "tool_use", Status.OK),
        ("tool_use", [TEXT], "end_turn", Status.OK),
        ("max_tokens", [TEXT, CALL], "length", Status.ERROR),
        ("model_context_window_exceeded", [TEXT], "length", Status.ERROR),
        ("refusal", [TEXT], "error", Status.ERROR),
        ("something new", [TEXT], "error", Status.ERROR),
    ],
)
def test_why_the_model_stopped(reason, content, stop, status):
    assembly, _records = reply_of(final(*content, stop=reason))
    assert (assembly.reply.stop, assembly.reply.status) == (stop, status)
    assert bool(assembly.reply.error) == (status is not Status.OK)
    assert assembly.reply.is_complete


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("authentication", Status.AUTHENTICATION),
        ("rate_limit", Status.RATE_LIMIT),
        ("overloaded", Status.RATE_LIMIT),
        ("server", Status.ERROR),
        ("dropped", Status.ERROR),
        ("unheard of", Status.ERROR),
    ],
)
def test_errors_by_kind(kind, status):
    assembly, _records = reply_of(failure(kind))
    assert (assembly.reply.stop, assembly.reply.status, assembly.reply.error) == ("error", status, "it failed")


def test_calls_of_a_reply_that_broke_off_are_neither_run_nor_kept():
    for line in (failure("dropped", content=[THOUGHT, TEXT, CALL]), final(THOUGHT, TEXT, CALL, stop="max_tokens")):
        assembly, _records = reply_of(line)
        assert assembly.reply.tool_calls == ()
        assert assembly.reply.kept == (Text("Hello"),)


def test_thoughts_are_kept_with_a_whole_reply():
    assembly, _records = reply_of(final(THOUGHT, TEXT))
    assert assembly.reply.kept == (Thinking("hm", "s"), Text("Hello"))


@given(st.lists(st.text(min_size=1)), st.booleans())
def test_an_aborted_reply_is_the_text_so_far(pieces, withhold):
    assembly, records = reply_of(*map(delta, pieces), withhold=withhold)
    reply = assembly.abort("enough")
    assert "".join(block.text for block in reply.kept) == "".join(pieces)
    assert (reply.stop, reply.error, reply.tool_calls) == ("aborted", "enough", ())
    assert (records == []) == (withhold or not pieces)


@pytest.mark.parametrize(("told", "output"), [(4, 250), (400, 400)])
def test_a_reply_that_broke_off_counts_at_least_what_has_arrived(told, output):
    arrived = [
        {"type": "message_start", "usage": {**USAGE, "output": told}},
        {"type": "thinking_delta", "delta": "t" * 300},
        delta("x" * 500),
        {"type": "tool_use_args", "call_id": "t1", "delta": "a" * 200},
    ]
    broken, _records = reply_of(*arrived, failure("dropped", content=[TEXT], usage={**USAGE, "output": told}))
    assert (broken.reply.usage, broken.reply.is_complete) == ({**USAGE, "output": output}, False)
    aborted, _records = reply_of(*arrived)
    assert aborted.abort("enough").usage == {**USAGE, "output": output}


@pytest.mark.parametrize(
    ("line", "passing"),
    [
        (failure("server", status=500), True),
        (failure("overloaded", status=529), True),
        (failure("rate_limit"), True),
        (failure("rate_limit", status=429), False),
        (failure("connection"), True),
        (failure("dropped"), True),
        (failure("timeout"), True),
        (failure("timeout", status=408), True),
        (failure("worker"), True),
        (failure("invalid_request", status=400), False),
        (failure("invalid_request", status=404), False),
        (failure("invalid_request", status=409), True),
        (failure("authentication", status=401), False),
        (failure("too_long", status=413), False),
        (failure("protocol"), False),
        (failure("cassette"), False),
        (failure("server", status=500, limits={"should_retry": False}), False),
        (failure("invalid_request", status=400, limits={"should_retry": True}), True),
        (failure("server", status=500, limits={"requests": None}), True),
        (final(TEXT, stop="max_tokens"), False),
        (final(TEXT, stop="refusal"), False),
    ],
)
def test_a_failure_tells_whether_it_may_pass(line, passing):
    assembly, _ = reply_of(line)
    assert assembly.reply is not None
    assert assembly.reply.may_pass is passing
