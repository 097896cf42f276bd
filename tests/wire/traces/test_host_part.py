"""The host's part of a black box has its frames in order, each with the answers before it."""

from __future__ import annotations

import base64
import json

from wire.traces.black_box import BoxFrame
from wire.traces.host_part import body_of, host_part


def box(*frames: tuple[str, dict[str, object]], has_contents: bool = True) -> list[BoxFrame]:
    return [
        BoxFrame(
            time=0.0, side=side, kind=str(frame.get("type") or frame.get("method") or "answer"),  # type: ignore[arg-type]
            id=str(frame.get("id", "")), name=str(frame.get("name") or frame.get("event") or ""), size=1,
            text=json.dumps(frame) if has_contents else None,
        )
        for side, frame in frames
    ]  # fmt: skip


FRAMES = (
    ("extension", {"type": "hello", "name": "x"}),
    ("host", {"type": "hello_ack"}),
    ("host", {"type": "tool_call", "id": "1", "name": "a"}),
    ("host", {"type": "event_intercept", "id": "2", "event": "tool_call"}),
    ("extension", {"type": "tool_result", "id": "1"}),
    ("host", {"type": "event", "event": "idle"}),
    ("host", {"type": "cancel", "id": "2"}),
    ("extension", {"type": "tool_result", "id": "1"}),
    ("host", {"type": "shutdown"}),
)


def test_each_step_has_the_answers_before_it():
    for has_contents in (True, False):
        part = host_part(box(*FRAMES, has_contents=has_contents))  # type: ignore[arg-type]
        assert [(step.number, str(step), step.awaited) for step in part.steps] == [
            (3, "tool_call a", set()), (4, "event_intercept tool_call", set()), (6, "event idle", {"1"}),
            (7, "cancel", {"1"}),
        ]  # fmt: skip
        assert part.unneeded == {"2"}
        assert all((step.body is not None) is has_contents for step in part.steps)


def test_messages_of_json_rpc():
    part = host_part(
        box(
            ("host", {"jsonrpc": "2.0", "id": 1, "method": "initialize"}),
            ("extension", {"jsonrpc": "2.0", "id": 1, "result": {}}),
            ("host", {"jsonrpc": "2.0", "method": "notifications/initialized"}),
            ("host", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "a"}}),
            ("host", {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "b"}}),
            ("extension", {"jsonrpc": "2.0", "id": 3, "result": {}}),
            ("host", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}),
        )
    )
    assert [(str(step), step.awaited) for step in part.steps] == [
        ("tools/call a", set()), ("tools/call b", set()), ("notifications/cancelled", {"3"}),
    ]  # fmt: skip
    assert part.unneeded == {"2"}


def test_contents_of_a_frame():
    text = BoxFrame(time=0.0, side="host", kind="", size=1, text="é")
    assert body_of(text) == "é".encode()
    assert body_of(BoxFrame(time=0.0, side="host", kind="", size=1)) is None
    binary = BoxFrame(time=0.0, side="host", kind="", size=1, base64=base64.b64encode(b"\xff").decode())
    assert body_of(binary) == b"\xff"
    assert body_of(BoxFrame(time=0.0, side="host", kind="", size=1, base64="?")) is None
    cut = BoxFrame(time=0.0, side="host", kind="event", size=9, text="{", is_cut=True)
    assert [step.body for step in host_part([cut]).steps] == [None]
