"""Which frame a typed line sends, and why a line is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('tool ecko {"text": 1}', "no such tool: 'ecko'; did you mean 'echo'?"),
        ("tool echo {", "not JSON"),
        ("tool echo []", "must be a JSON object"),
        ("/x", "no such command: 'x'; there is none"),
        ("event", "event NAME {json}"),
        ('event turn_end {"step": "one"}', "bad event frame"),
        ("key", "key PANEL KEY"),
        ("resize a b c", "resize PANEL WIDTH HEIGHT"),
        ('{"id": "1"}', 'a frame needs a "type"'),
        ("answer it is", "answer TEXT: it has called no tool, or has its answer"),
        ("tol echo", "no such command: 'tol'; did you mean 'tool'?"),
    ],
)
def test_a_line_that_is_no_command_is_refused(line, said):
    from cli.ext.drive.typed_commands import CommandError, RegisteredNames, frame_for

    with pytest.raises(CommandError) as caught:
        frame_for(line, RegisteredNames(tools={"echo"}), "d1")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("/note buy milk ", {"type": "command_invoked", "id": "d1", "name": "note", "args": "buy milk"}),
        ("/note", {"type": "command_invoked", "id": "d1", "name": "note"}),
        ("/GO", {"type": "command_invoked", "id": "d1", "name": "Go"}),
        ("tool echo", {"type": "tool_call", "id": "d1", "name": "echo", "args": {}}),
        ("key list down", {"type": "panel_key", "panel_id": "list", "key": "down"}),
        ("key list x", {"type": "panel_key", "panel_id": "list", "key": "rune", "text": "x"}),
        ("resize list 80 24", {"type": "panel_resize", "panel_id": "list", "width": 80, "height": 24}),
        ("ping", {"type": "ping", "id": "d1"}),
        ("event session_start", {"type": "event", "event": "session_start"}),
        ('frame {"type": "odd"}', {"type": "odd"}),
    ],
)
def test_a_typed_line_becomes_a_frame(line, frame):
    from cli.ext.drive.typed_commands import RegisteredNames, frame_for

    known = RegisteredNames(tools={"echo"})
    for name in ("note", "Go", "gO"):
        known.take_in({"type": "register_command", "name": name})
    assert frame_for(line, known, "d1") == frame


def test_a_tool_that_it_has_called_is_answered_the_oldest_call_first():
    from cli.ext.drive.typed_commands import CommandError, RegisteredNames, frame_for

    known = RegisteredNames()
    for call_id in ("1", "2", "3"):
        known.take_in({"type": "call_tool", "id": call_id, "name": "read"})
    known.take_in({"type": "call_tool_cancel", "id": "2"})
    known.answered({"type": "event", "id": "1"})
    answer = frame_for("answer one line", known, "d1")
    assert answer == {
        "type": "tool_result", "id": "1", "name": "read", "content": [{"type": "text", "text": "one line"}],
    }  # fmt: skip
    for call_id in ("1", "3"):
        assert frame_for("answer", known, "d1")["id"] == call_id
        known.answered({"type": "tool_result", "id": call_id})
    with pytest.raises(CommandError, match="it has called no tool"):
        frame_for("answer x", known, "d1")


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("", [""]),
        ("ping\n/note a", ["ping", "/note a"]),
        ('tool a {\n "b": {"c": "}"\n}}\nping', ['tool a {\n "b": {"c": "}"\n}}', "ping"]),
        ('tool a {"b": "{"}\nping', ['tool a {"b": "{"}', "ping"]),
        ("tool a {\nping", ["tool a {\nping"]),
    ],
)
def test_a_text_has_one_command_in_a_line_but_an_object_may_have_several(text, commands):
    from cli.ext.drive.typed_commands import commands_in

    assert commands_in(text) == commands


@given(st.text(alphabet='a{}"\\\n'))
def test_no_part_of_a_text_is_lost(text):
    from cli.ext.drive.typed_commands import commands_in

    assert "\n".join(commands_in(text)) == text


def test_completions_are_what_it_has_registered():
    from cli.ext.drive.typed_commands import WORDS, RegisteredNames

    known = RegisteredNames()
    known.take_in({"type": "register_tool", "name": "a", "description": "one\ntwo \x1b[31m"})
    known.take_in({"type": "register_tool", "name": "b", "description": 7})
    known.take_in({"type": "register_command", "name": "c"})
    known.take_in({"type": "unregister_tool", "name": "b"})
    assert known.completions == {**WORDS, "tool a": "one two", "/c": ""}
    assert RegisteredNames().completions == WORDS
