"""A script with new answers: what is still right stays byte for byte, what is not takes the new value."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from supervisor.harness.comparison import ScriptPaths, differences
from supervisor.harness.new_answers import rewrite, segments
from supervisor.harness.script import Side, parse_script

PATHS = ScriptPaths("/p/project", "/p/ext", "/p/data")
CALL = '{"host": {"type": "tool_call", "id": "1", "name": "t", "args": {}}}'
CALL2 = '{"host": {"type": "tool_call", "id": "2", "name": "t", "args": {}}}'


def answer(text: str, number: str = "1", **more) -> dict:
    return {"type": "tool_result", "id": number, "content": [{"type": "text", "text": text}], **more}


def line(frame: dict, **more) -> str:
    return json.dumps({"extension": frame, **more}, ensure_ascii=False)


def note(text: str) -> dict:
    return {"type": "notify", "level": "info", "message": text}


def rewritten(lines: list[str], *said: list[dict]) -> tuple[list[str], list]:
    text = "\n".join(lines).encode()
    new = rewrite(text, parse_script(text, "script"), said, PATHS)
    return new.text.decode().split("\n"), list(new.changes)


def test_answers_that_are_right_leave_every_byte():
    lines = [
        '{"about":{"title":"x"}}',
        "",
        '{"note": "first"}',
        CALL,
        '{"extension":{"type":"tool_result","id":"${any}"}}',
        "",
    ]
    assert rewritten(lines, [], [answer("7")]) == (lines, [])


def test_only_the_members_that_differ_change():
    expected = answer("${any} ms in ${cwd}", number="${any}")
    del expected["type"]
    old = line({"type": "tool_result", **expected, "is_error": False}, note="kept")
    now = answer("done in /p/project/x", is_error=True, extra=1)
    lines, (change,) = rewritten([CALL, old, '{"note": "the end"}'], [], [now])
    assert lines[2] == '{"note": "the end"}'
    assert json.loads(lines[1]) == {
        "extension": {
            "type": "tool_result",
            "id": "${any}",
            "content": [{"type": "text", "text": "done in ${cwd}/x"}],
            "is_error": True,
        },
        "note": "kept",
    }
    assert (change.line, [difference.path for difference in change.differences]) == (2, ["content[0].text", "is_error"])


def test_a_new_frame_gets_a_line_in_its_place_and_a_missing_one_loses_it():
    log = {"type": "log", "message": "new"}
    old = [CALL, '{"note": "why"}', line(note("gone")), line(answer("a")), CALL2, line(answer("b", "2"))]
    lines, changes = rewritten(old, [], [answer("a"), log], [answer("b", "2")])
    assert lines == [CALL, '{"note": "why"}', line(answer("a")), line(log), CALL2, line(answer("b", "2"))]
    assert [(change.line, change.was is None, change.now is None) for change in changes] == [
        (3, False, True),
        (4, True, False),
    ]


def test_lines_of_the_host_alone_get_their_answers():
    lines, changes = rewritten([CALL, CALL2, ""], [], [answer("a"), answer("b", "2")])
    assert lines == [CALL, CALL2, line(answer("a")), line(answer("b", "2")), ""]
    assert len(changes) == 2


def test_the_last_line_may_have_no_end():
    lines, _changes = rewritten([CALL], [], [answer("a")])
    assert lines == [CALL, line(answer("a")), ""]


def test_ignored_frames_and_an_acknowledged_shutdown_are_not_added():
    old = ['{"about": {"ignore": ["log"]}}', CALL, line(answer("a"))]
    said = [{"type": "log", "message": "x"}, answer("a"), {"type": "shutdown_ack"}]
    assert rewritten(old, [], said) == (old, [])


def test_what_is_said_unasked_stands_before_the_first_line_of_the_host():
    lines, _changes = rewritten(['{"about": {"title": "x"}}', CALL, line(answer("a"))], [note("hi")], [answer("a")])
    assert lines == ['{"about": {"title": "x"}}', line(note("hi")), CALL, line(answer("a"))]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5).filter(lambda text: "${" not in text)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts | st.just("${any}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.lists(st.tuples(values, values), max_size=3), min_size=1, max_size=3))
def test_the_new_script_expects_what_was_said(conversation):
    lines = []
    for turn, frames in enumerate(conversation):
        lines.append(json.dumps({"host": {"type": "command_invoked", "id": str(turn), "name": "x"}}))
        lines += [json.dumps({"extension": {"type": "x-frame", "value": expected}}) for expected, _now in frames]
    text = "\n".join(lines).encode()
    script = parse_script(text, "script")
    said = by_segment(segments(script), conversation)
    new = parse_script(rewrite(text, script, said, PATHS).text, "new")
    for steps, frames in zip(segments(new), said, strict=True):
        expected = [step.frame for step in steps if step.side is Side.EXTENSION]
        assert len(expected) == len(frames)
        assert not [fault for old, now in zip(expected, frames, strict=True) for fault in differences(old, now)]


def by_segment(parts, conversation):
    said = []
    for steps in parts:
        hosts = [int(step.frame["id"]) for step in steps if step.side is Side.HOST]
        said.append([{"type": "x-frame", "value": concrete(now)} for turn in hosts for _old, now in conversation[turn]])
    return said


def concrete(value):
    """Without placeholders: an extension says none."""
    if value == "${any}":
        return "anything"
    if isinstance(value, dict):
        return {key: concrete(inner) for key, inner in value.items()}
    return [concrete(inner) for inner in value] if isinstance(value, list) else value
