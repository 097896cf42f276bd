"""A frame is recognized in each protocol, and nothing of its contents is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.framing.content_length import add_header
from wire.traces.frame_heads import NO_MESSAGE, FrameHead, bodies, read_head

HOSTS = {
    b'{"type":"tool_call","id":"7","name":"shout","args":{"text":"secret"}}': ("tool_call", "7", "shout", "request"),
    b'{"type":"command_invoked","id":"8","name":"note","args":"secret"}': ("command_invoked", "8", "note", "request"),
    b'{"type":"event_intercept","id":"9","event":"tool_call"}': ("event_intercept", "9", "tool_call", "request"),
    b'{"type":"event","event":"turn_start","step":1}': ("event", "", "turn_start", ""),
    b'{"type":"tool_result","id":"c1","content":[]}': ("tool_result", "c1", "", "answer"),
    b'{"type":"cancel","id":"7"}': ("cancel", "7", "", ""),
    b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read","arguments":{"path":"secret"}}}': (
        "tools/call", "3", "read", "request",
    ),
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}': ("notifications/initialized", "", "", ""),
    b'{"jsonrpc":"2.0","id":"a","result":{"type":"secret"}}': ("answer", "a", "", "answer"),
    b'{"jsonrpc":"2.0","id":4,"method":"hooks.invoke","params":{"hookType":"preToolUse","input":{"a":"secret"}}}': (
        "hooks.invoke", "4", "preToolUse", "request",
    ),
    b'{"jsonrpc":"2.0","method":"session.event","params":{"sessionId":"s","event":{"type":"external_tool.requested",'
    b'"data":{"requestId":"5","toolName":"lint","arguments":{"a":"secret"}}}}}': (
        "external_tool.requested", "5", "lint", "request",
    ),
    b'{"jsonrpc":"2.0","method":"session.event","params":{"event":{"type":"user.message","data":{"content":"secret"}}}}':
    ("user.message", "", "", ""),
}  # fmt: skip
EXTENSIONS = {
    b'{"type":"tool_result","id":"7","content":[{"type":"text","text":"secret"}]}': ("tool_result", "7", "", "answer"),
    b'{"type":"pong","id":"p"}': ("pong", "p", "", "answer"),
    b'{"type":"call_tool","id":"c1","name":"read","args":{}}': ("call_tool", "c1", "read", "request"),
    b'{"type":"notify","level":"info","message":"secret"}': ("notify", "", "", ""),
    b'{"type":"a secret text","id":"another secret"}': ("", "…", "", "request"),
    b'{"jsonrpc":"2.0","id":6,"error":{"code":1,"message":"secret"}}': ("answer", "6", "", "answer"),
    b'{"jsonrpc":"2.0","id":12,"method":"session.tools.handlePendingToolCall","params":{"requestId":"5","result":1}}': (
        "session.tools.handlePendingToolCall", "5", "", "answer",
    ),
    b"plain secret text": NO_MESSAGE,
    b"[1]": NO_MESSAGE,
    b'{"id": 1}': NO_MESSAGE,
    b'{"type":"tool_result","id":"7","content":[{"type":"text","text":"cut o': ("tool_result", "7", "", ""),
    b'{"jsonrpc":"2.0","method":"log","params":{"text":"cut o': ("log", "", "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("frames", "is_sent"), [(HOSTS, True), (EXTENSIONS, False)])
def test_heads(frames: dict[bytes, tuple[str, ...]], is_sent: bool):
    assert {frame: read_head(frame, is_sent=is_sent) for frame in frames} == {
        frame: FrameHead(*head) for frame, head in frames.items()
    }
    assert "secret" not in str([read_head(frame, is_sent=is_sent) for frame in frames])


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode), st.booleans())
def test_no_bytes_raise(frame: bytes, is_sent: bool):
    read_head(frame, is_sent=is_sent)
    bodies(frame)


@given(st.lists(st.binary(min_size=1, max_size=30).filter(lambda body: b"\n" not in body)))
def test_messages_that_were_written_at_once_are_separated(written: list[bytes]):
    lines = [body for body in written if not body.startswith(b"Content-Length:")]
    assert bodies(b"".join(body + b"\n" for body in lines)) == lines
    assert bodies(b"".join(map(add_header, written))) == written
