"""A session is pure: it is tested by what it makes of lines, without a process and without a clock."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from examples.dialect.tab_dialect import DIALECT, LINE_LIMIT, RESULT_LIMIT
from wire import frames
from wire.dialects.base import GuardAnswer, HostInfo, Remarked, Setup, UnsendableError, Unusable
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind


@pytest.fixture
def session():
    return DIALECT.session(Setup("disk", "1.0", 1024 * 1024))


def heard(session, *lines: str | bytes):
    """All messages in these lines. This dialect never answers by itself."""
    messages = []
    for line in lines:
        found, reply = session.receive(line.encode() if isinstance(line, str) else line, 0.0)
        assert reply == b""
        messages += found
    return messages


def test_a_start(session):
    hello, tool, guard, ready = heard(session, "hello\t1.0", "tool\tfree\tHow full.\tfolder", "guard\r", "ready")
    assert hello == frames.Hello("disk", "1.0", ["cancel"])
    assert (tool.name, tool.description) == ("free", "How full.")
    assert json.loads(bytes(tool.schema))["required"] == ["folder"]
    assert guard == frames.Subscribe(intercept=["tool_call"])
    assert ready == frames.Ready()
    assert session.greet(HostInfo("1.0", "", "", "/work"), "/ext", "/data", 0.0) == b"start\t/work\n"
    assert session.stop() == b"", "the end of its input stops it"


def test_a_call_and_its_result(session):
    assert session.call("7", "free", b'{"folder": "/a b", "unit": "G"}') == b"call\t7\tfree\tfolder=/a b\tunit=G\n"
    (result,) = heard(session, "out\t7\tone", "out\t7\ttwo", "done\t7")
    assert (result.id, result.content[0].text, result.is_error) == ("7", "one\ntwo", False)
    session.call("8", "free", b"{}")
    (result,) = heard(session, "failed\t8")
    assert (result.id, result.is_error) == ("8", True)


@pytest.mark.parametrize("value", ["two\nlines", "a\ttab", "a\rreturn", 5, None])
def test_what_a_line_cannot_carry_is_not_sent(session, value):
    with pytest.raises(UnsendableError, match=r"a line break or a tab|text only"):
        session.call("7", "free", json.dumps({"folder": value}).encode())
    assert heard(session, "done\t7")[0].content[0].text == "", "and nothing is kept of the call"


def test_a_verdict(session):
    event = frames.Event("tool_call", tool_name="bash", tool_args=Raw(b'{\n\t"command": "a\\tb"}'))
    assert session.ask("3", event) == b'judge\t3\tbash\t{  "command": "a\\tb"}\n'
    assert heard(session, "allow\t3") == [GuardAnswer("3", ALLOW)]
    assert heard(session, "deny\t4\tno") == [GuardAnswer("4", GuardVerdict(VerdictKind.DENY, "no"))]


def test_a_call_that_is_taken_back_is_forgotten(session):
    session.call("7", "free", b"{}")
    assert session.cancel("7", "late") == b""
    (remark,) = heard(session, "out\t7\tone")
    assert isinstance(remark, Remarked)


def test_the_first_line_is_hello(session):
    (unusable,) = heard(session, "tool\tfree\tHow full.")
    assert unusable == Unusable("its first line must be hello, not tool", may_pass=False)


def test_what_is_too_long_fails_its_call_and_nothing_else(session):
    session.call("7", "free", b"{}")
    session.call("8", "free", b"{}")
    (dropped,) = session.splitter().feed(b"out\t7\t" + b"x" * LINE_LIMIT + b"\n")
    (lost,), _ = session.receive_oversize(dropped, 0.0)
    assert (lost.type, lost.id) == ("tool_result", "7")
    lost, *late = heard(session, *["out\t8\t" + "x" * 60_000] * (RESULT_LIMIT // 60_000 + 1))
    assert (lost.type, lost.id, late) == ("tool_result", "8", [])


@given(st.lists(st.binary(max_size=50) | st.text("adeglnortuw\t123", max_size=12).map(str.encode)))
def test_no_line_raises(lines):
    session = DIALECT.session(Setup("disk", "1.0", 1024 * 1024))
    session.call("1", "free", b"{}")
    for line in lines:
        session.receive(line.replace(b"\n", b""), 0.0)
