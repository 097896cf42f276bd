"""Conversations in files: what a line may be, and what is said of one that is wrong."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.harness.comparison import ScriptPaths
from supervisor.harness.script import ScriptError, ScriptStep, Side, parse_script, read_script, write_line

CALL = {"type": "tool_call", "id": "1", "name": "shout", "args": {"text": "hi"}}
RESULT = {"type": "tool_result", "id": "1"}
EVENT = {"type": "event", "event": "idle"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def script(*lines: object) -> bytes:
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()


def test_lines_are_steps_in_their_order():
    text = script(
        {"about": {"title": "shouts", "ignore": ["log"], "author": "me"}},
        "",
        {"host": CALL, "note": "in small letters"},
        {"note": "what comes now matters"},
        {"extension": RESULT},
    )
    found = parse_script(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"), "s")
    assert found.steps == (ScriptStep(Side.HOST, CALL, 3), ScriptStep(Side.EXTENSION, RESULT, 5))
    assert (found.about.title, found.about.ignore, found.about.exit) == ("shouts", ("log",), 0)
    assert not found.has_handshake
    assert not found.has_shutdown


def test_a_script_with_a_hello_has_its_own_handshake():
    found = parse_script(script({"extension": {"type": "hello"}}, {"host": {"type": "shutdown"}}), "s")
    assert found.has_handshake
    assert found.has_shutdown


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON: Input data was truncated"),
        ("[" * 2000, "not JSON: nested too deeply"),
        ("[]", "must be an object"),
        ({"hots": CALL}, "no such member: 'hots'; did you mean 'host'?"),
        ({"host": CALL, "extension": RESULT}, "has extension and host; a line can have only one of them"),
        ({"host": {"id": "1"}}, 'host: a frame is an object with a "type"'),
        ({"host": "ping"}, 'host: a frame is an object with a "type"'),
        ({"host": {"type": "tool_calls"}}, "host: no such frame: 'tool_calls'; did you mean 'tool_call'?"),
        ({"host": {"type": "command_response", "id": "1"}}, "host: command_response is a frame of the extension's"),
        ({"extension": CALL}, "extension: tool_call is a frame of the host's"),
        ({"extension": {"type": "tool_reslt"}}, "did you mean 'tool_result'?"),
        ({"host": {"type": "tool_call", "id": 5}}, "host: bad tool_call frame: Expected `str`, got `int`"),
        ({"host": RESULT}, "host: bad tool_result frame: Object missing required field `name`"),
        ({"host": {"type": "tool_cancel"}}, "host: bad tool_cancel frame: Object missing required field `id`"),
        (
            {"host": {**EVENT, "sequence": "1"}},
            "host: bad event frame: Expected `int | null`, got `str` - at `$.sequence`",
        ),
        ({"host": {**EVENT, "status": "done"}}, "host: bad event frame: Invalid enum value 'done' - at `$.status`"),
        ({"host": {"type": "call_tool", "id": "1"}}, "host: call_tool is a frame of the extension's"),
        ({"host": {"type": "submit", "text": "x"}}, "host: submit is a frame of the extension's"),
        ({"extension": {"type": "tool_cancel", "id": "1"}}, "extension: tool_cancel is a frame of the host's"),
        ({"extension": {"type": "open_panle"}}, "extension: no such frame: 'open_panle'; did you mean 'open_panel'?"),
        ({"about": {}}, '"about" must be the first line'),
    ],
)
def test_what_is_wrong_is_said_with_its_line(line, said):
    with pytest.raises(ScriptError) as caught:
        parse_script(script({"note": "first"}, "", line), "tests/a.jsonl")
    assert str(caught.value).startswith("tests/a.jsonl, line 3: ")
    assert said in str(caught.value)


def test_a_wrong_about_names_the_field():
    with pytest.raises(ScriptError, match=r"line 1: about: ignore: expected array"):
        parse_script(script({"about": {"ignore": "log"}}), "s")


def test_frames_that_only_newer_hosts_know_may_be_said():
    """Scripts can test that an extension ignores frames that it does not know."""
    found = parse_script(script({"host": {"type": "weather_changed"}}, {"host": {"type": "hello_ack"}}), "s")
    assert [step.frame["type"] for step in found.steps] == ["weather_changed", "hello_ack"]


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ScriptError, match=r"nix\.jsonl: cannot be read: No such file"):
        read_script(tmp_path / "nix.jsonl")


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_what_is_written_is_read_again(members):
    frame = {**members, "type": "event_of_tomorrow"}
    places = ScriptPaths("/a/project", "/a/ext", "/a/data")
    (step,) = parse_script(write_line(Side.EXTENSION, frame, places), "s").steps
    assert places.fill(step.frame) == places.fill(frame)
