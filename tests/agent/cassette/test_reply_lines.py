"""Which lines of the model worker are accepted."""

from __future__ import annotations

import pytest

from agent.cassette.reply_lines import problem_of_worker_line


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
