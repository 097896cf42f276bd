"""Which lines of the model worker are accepted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cassette.reply_lines import problem_of_worker_line
from agent.run.turn.reply_builder import ReplyBuilder, retry_record
from tests.support.any_json import with_another_value


@pytest.mark.parametrize(
    "line",
    [
        {"type": "text_delta"},
        {"type": "text_delta", "delta": 5},
        {"type": "mystery"},
        {"type": "final", "content": [], "usage": {}},
        {"type": "final", "content": [{"type": "text"}], "stop_reason": "end_turn", "usage": {}},
        {"type": "final", "content": [], "stop_reason": "end_turn", "usage": {"input": "5"}},
        {"type": "error", "kind": "x"},
        {},
    ],
)
def test_a_malformed_line_has_a_problem(line):
    assert problem_of_worker_line(line)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"type": "text_delta", "delta": 5}, "delta: expected str, got int: 5"),
        ({"type": "text_delta", "delta": None}, "delta: expected str, got null"),
        ({"type": "message_start", "usage": {"input": -1}}, "usage.input: expected int >= 0: -1"),
        (
            {"type": "final", "content": [{"type": "tool_call", "id": 7 * "x", "name": 1, "args": ""}]},
            "content[0].name: expected str, got int: 1",
        ),
        ([], "expected object, got array"),
    ],
)
def test_a_problem_names_the_field_and_its_value(line, problem):
    assert problem_of_worker_line(line) == problem


LINES = [
    {"type": "ready", "whole_sdk": ""},
    {"type": "message_start", "usage": {"input": 1}},
    {"type": "text_delta", "delta": "x"},
    {"type": "thinking_delta", "delta": "x"},
    {"type": "tool_use_start", "call_id": "t", "name": "read"},
    {"type": "tool_use_args", "call_id": "t", "delta": "{}"},
    {"type": "tool_use_end", "call_id": "t"},
    {"type": "retry", "id": "1", "attempt": 2, "of": 3, "wait_s": 0.5, "reason": "overloaded", "status": 529},
    {
        "type": "final",
        "content": [{"type": "text", "text": "x"}, {"type": "tool_call", "id": "t", "name": "read", "args": "{}"}],
        "stop_reason": "tool_use",
        "usage": {"input": 1},
    },
    {"type": "error", "kind": "x", "message": "y", "status": None, "retry_after_s": 1.5, "content": [], "usage": {}},
]


@given(st.sampled_from(LINES), st.data())
def test_any_value_in_any_field_gives_a_reply_or_one_problem(line, data):
    """The builder of replies takes every line that has no problem."""
    changed = with_another_value(line, data)
    if problem := problem_of_worker_line(changed):
        assert len(problem) < 300
        return
    if changed["type"] == "retry":
        retry_record(changed)
    elif changed["type"] != "ready":
        builder = ReplyBuilder(withhold=False)
        builder.take(changed)
        if builder.reply is not None:
            assert isinstance(builder.reply.kept, tuple)


def test_a_complete_line_has_no_problem():
    final = {
        "type": "final",
        "content": [{"type": "text", "text": "x"}],
        "stop_reason": "end_turn",
        "usage": {"input": 1},
    }
    for line in (
        final,
        {"type": "error", "kind": "x", "message": "y", "status": None},
        {"type": "message_start", "usage": {}},
    ):
        assert problem_of_worker_line(line) is None
