"""Content blocks as events show them."""

from __future__ import annotations

import base64

from agent.output import event_content
from agent.transcript import Image, Text, Thinking, ToolCall, ToolResult
from wire import events


def test_blocks_as_events():
    image = Image("image/png", base64.b64encode(b"12345").decode())
    blocks = [Text("a"), Thinking("hidden"), ToolCall("t1", "read", b'{"a": 1'), ToolResult("t0", (Text("x"), image))]
    text, call, result = event_content.content(blocks)
    assert text == events.TextContent("a")
    assert (call.id, bytes(call.args)) == ("t1", b"null")
    assert result.content == (events.TextContent("x"), events.ImageContent("image/png", 5))
    assert event_content.content([Image("image/png", "not base64!")]) == (events.ImageContent("image/png", 0),)
