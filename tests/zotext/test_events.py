"""Handlers of events."""

from __future__ import annotations

from typing import Any

import pytest

from zotext import EVENTS, Event, Extension, Text
from zotext.testing import Harness


def test_events_are_handled_in_order_by_handlers_with_and_without_argument(ext: Extension, capsys: Any):
    seen: list[Any] = []

    @ext.on("turn_start")
    def started(event: Event) -> None:
        seen.append(event.step)

    @ext.on("turn_start")
    def broken() -> None:
        raise ValueError("boom")

    @ext.on("turn_end")
    async def ended(event: Event) -> None:
        seen.append((event.name, event.stop, event.error))

    @ext.on("tool_result")
    def result(event: Event) -> None:
        seen.append((event.tool_name, event.is_error, event.content))

    with Harness(ext) as host:
        assert host.events == {"turn_start", "turn_end", "tool_result"}
        for step in range(20):
            host.send_event("turn_start", step=step)
        host.send_event("turn_end", stop="error", error="bad")
        host.send_event("tool_result", tool_name="x", is_error=True, content=[{"type": "text", "text": "a"}])
    assert seen == [*range(20), ("turn_end", "error", "bad"), ("x", True, [Text("a")])]
    assert capsys.readouterr().err.count("ValueError: boom") == 20


def test_every_event_can_be_handled(ext: Extension):
    seen = []
    for name in EVENTS:
        ext.on(name)(lambda event: seen.append(event.name))  # type: ignore[arg-type]
    with Harness(ext) as host:
        for name in EVENTS:
            host.send_event(name)
    assert seen == list(EVENTS)


RESULT = {"content": [{"type": "text", "text": "cut"}], "is_error": True, "truncated": True}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("session_end", {"reason": "session_switch"}),
        ("user_prompt_submit", {"text": "go", "queued": True, "image_count": 2}),
        ("tool_confirmation_requested", {"tool_id": "1", "tool_name": "bash", "tool_preview": "ls"}),
        (
            "permission_decision",
            {"tool_name": "bash", "decision": "denied", "source": "policy", "stage": "pre_execution"},
        ),
        ("tool_result", {"status": "timed_out", "executed": True, "tool_args_raw": "{", "origin_extension": "other"}),
        ("pre_compact", {"compaction_id": "c", "message_count": 3, "token_estimate": 400}),
        ("post_compact", {"compaction_id": "c", "status": "failed", "error": "overloaded"}),
        ("subagent_start", {"agent_id": "a", "agent_run_id": "r"}),
        ("subagent_stop", {"agent_id": "a", "status": "completed"}),
    ],
)
def test_an_event_of_today_has_its_fields_and_where_it_happened(ext: Extension, name: Any, fields: dict[str, Any]):
    seen: list[Event] = []

    @ext.on(name)
    def see(event: Event) -> None:
        seen.append(event)

    where = {"session_id": "s", "cwd": "/work", "sequence": 7}
    with Harness(ext) as host:
        host.send_event(name, **where, **fields)
        host.send_event(name, **{field: [None] for field in (*where, *fields)})
    assert {field: getattr(seen[0], field) for field in (*where, *fields)} == {**where, **fields}
    last = {"session_id": "s", "cwd": "/work"}  # an event without them is about the last one
    assert seen[1] == Event({"event": name, **last})


def test_the_result_of_a_tool_is_whole_where_the_host_tells_it(ext: Extension):
    seen: list[Event] = []

    @ext.on("tool_result")
    def see(event: Event) -> None:
        seen.append(event)

    with Harness(ext) as host:
        host.send_event("tool_result", result=RESULT)
        host.send_event("tool_result", result=RESULT, content=[{"type": "text", "text": "whole"}], is_error=True)
        host.send_event("tool_result", result=["odd"])
    assert [(event.content, event.is_error, event.truncated) for event in seen] == [
        ([Text("cut")], True, True),
        ([Text("whole")], True, False),
        ([], False, False),
    ]
