"""Frames that no session makes, for each protocol."""

from __future__ import annotations

import pytest

from supervisor.torture.forms import FORMS
from wire import frames
from wire.dialects.table import MODULES

COPILOT_DATA = {"requestId": "q1", "toolName": "t", "arguments": {}}
COPILOT_EVENT = {"type": "external_tool.requested", "timestamp": "2026", "data": COPILOT_DATA}
QUESTIONS = {
    "zot": {"type": "tool_call", "id": "q1", "name": "t", "args": {}},
    "mcp": {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "t", "arguments": {}}},
    "copilot": {"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": "s", "event": COPILOT_EVENT}},
}
ANSWERS = {
    "zot": {"type": "tool_result", "id": "q1", "content": []},
    "mcp": {"jsonrpc": "2.0", "id": 5, "result": {}},
    "copilot": {"id": 9, "method": "session.tools.handlePendingToolCall", "params": {"requestId": "q1", "result": "x"}},
}


def test_each_protocol_has_its_forms():
    assert FORMS.keys() == MODULES.keys()


@pytest.mark.parametrize("wire", FORMS)
def test_a_frame_is_packed_and_unpacked(wire):
    forms, question = FORMS[wire], {**QUESTIONS[wire], "text": "ä\u2028😀"}
    for escaped in (False, True):
        data = forms.pack(question, escaped=escaped)
        assert forms.unpack(data) == question
        assert data.isascii() == escaped
        assert data.endswith(forms.separator)


@pytest.mark.parametrize("wire", FORMS)
def test_an_answer_is_found_by_its_question(wire):
    forms = FORMS[wire]
    key = forms.key_of_question(QUESTIONS[wire])
    assert forms.key_of_answer(ANSWERS[wire]) == key
    others = [*forms.unknown(), *forms.unasked(), *forms.wrong(QUESTIONS[wire])]
    assert key not in [forms.key_of_answer(other) for other in others]


@pytest.mark.parametrize("wire", FORMS)
def test_changes_leave_the_question_as_it_was(wire):
    forms, question = FORMS[wire], QUESTIONS[wire]
    before = forms.pack(question)
    changed = [
        forms.with_args(question, [1]), forms.with_name(question, "other"), forms.with_time(question, "1970"),
        forms.with_unknown_fields(question), forms.cancel(question, ["cancel"]),
    ]  # fmt: skip
    assert any(each is not None and each != question for each in changed)
    assert forms.pack(question) == before


def test_zot_is_told_of_a_cancelled_call_only_as_its_hello_says():
    forms, call = FORMS["zot"], QUESTIONS["zot"]
    command = {"type": "command_invoked", "id": "q1", "name": "c"}
    assert forms.cancel(call, []) is None
    assert forms.cancel(command, ["tool_cancel"]) is None
    for capability, question in (("tool_cancel", call), ("cancel", call), ("cancel", command)):
        cancel = forms.cancel(question, [capability])
        assert cancel is not None
        assert type(frames.decode_from_host(forms.pack(cancel))).__name__ in ("Cancel", "ToolCancel")
