"""The structured content of a result reaches readers as the JSON that it is, or is left out with a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import UNSET

from supervisor.calls.tool_call import STRUCTURED_LIMIT, structured_fault
from supervisor.extension.connection.channel import JUNK

if TYPE_CHECKING:
    from tests.support.host import Host

TOO_LARGE = f"has {STRUCTURED_LIMIT + 2} bytes, more than {STRUCTURED_LIMIT}"
SAYS = """
hello("get")
send(type="ready")
for frame in frames():
    said = eval(frame["args"]["said"])
    head = '{"type":"tool_result","id":"%s","content":[{"type":"text","text":"20 degrees"}]' % frame["id"]
    sys.stdout.buffer.write(head.encode() + (b',"structured_content":' + said if said else b"") + b"}\\n")
    sys.stdout.buffer.flush()
"""


@pytest.mark.parametrize(
    "text", ['{"degrees":20}', "[1,[2]]", '"a \\" [ text"', "0", "false", '{"a":1,"a":2}', "[" + "[]," * 200 + "0]"]
)
def test_any_json_reaches_the_caller_as_it_was_written(host: Host, text: str):
    host.write("x", SAYS)
    host.start()
    frame = host.call("get", said=repr(text.encode())).frame
    assert frame is not None
    assert bytes(frame.structured_content) == text.encode()
    assert [block.text for block in frame.content or ()] == ["20 degrees"]
    assert host.said_of("x") == []


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("b''", None),
        ("b'null'", None),
        (f"b'\"' + b'x' * {STRUCTURED_LIMIT} + b'\"'", TOO_LARGE),
        ("b'[' * 500 + b']' * 500", "is nested deeper than 100 levels"),
        ("b'\"\\xff\\xfe\"'", "is not UTF-8"),
    ],
)  # fmt: skip
def test_other_content_is_left_out_with_a_line_and_the_model_gets_its_text(host: Host, said: str, line: str | None):
    host.write("x", SAYS)
    host.start()
    for _ in range(2):
        frame = host.call("get", said=said).frame
        assert frame is not None
        assert frame.structured_content is UNSET
        assert [block.text for block in frame.content or ()] == ["20 degrees"]
    expected = [] if line is None else [("warning", f"the structured_content of its tool 'get' {line}; left out")]
    assert host.said_of("x") == expected


@pytest.mark.parametrize("said", ["b'NaN'", "b'{'", "b'[' * 10000 + b']' * 10000", "b'{\"a\":01}'"])
def test_what_is_no_json_is_no_frame(host: Host, said: str):
    host.write("x", SAYS)
    host.start()
    answers: list[Any] = []
    host.begin_call("get", json.dumps({"said": said}).encode(), answers.append)
    host.until(lambda: host.said_of("x"))
    assert host.said_of("x") == [("warning", JUNK)]
    assert host.call("get", said="b'7'").frame is not None
    assert answers == []


def test_six_mib_are_over_the_limit_of_a_result_or_left_out(host: Host):
    host.write("x", SAYS)
    host.start()
    answer = host.call("get", said="b'\"' + b'x' * (6 << 20) + b'\"'")
    assert answer.frame is None or answer.frame.structured_content is UNSET
    assert len(host.said_of("x")) == 1


@pytest.mark.parametrize("value", [{"a": ["["] * 300}, ["{" * 500], [[i] for i in range(500)]])
def test_brackets_are_not_depth(value: Any):
    assert structured_fault(json.dumps(value).encode()) == ""
