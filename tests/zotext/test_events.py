"""Handlers of events."""

from __future__ import annotations

from typing import Any

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
