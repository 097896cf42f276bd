"""Tool calls of one turn that run at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.faulty_run import Observed, observe, program
from wire import events

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


BARRIER = """
send(type="hello", name="barrier")
for name in ("left", "right", "alone"):
    send(type="register_tool", name=name, schema={"type": "object"}, read_only=name != "alone")
send(type="ready")
waiting = []
for frame in frames():
    waiting.append(frame)
    if len(waiting) == frame["args"]["together"]:
        for frame in reversed(waiting):
            send(type="tool_progress", id=frame["id"], text="nearly")
            result(frame, frame["name"])
        waiting = []
"""


def results(seen: Observed) -> list[tuple[str, str]]:
    return [
        (record.id, "".join(part.text for part in record.content if isinstance(part, events.TextContent)))
        for record in seen.records
        if isinstance(record, events.ToolResult)
    ]


def barrier(tmp_path: Path, *calls: tuple[str, int]) -> Observed:
    batch: Sequence[tuple[str, dict[str, Any]]] = [(name, {"together": together}) for name, together in calls]
    extension = program(tmp_path, "barrier", BARRIER, timeouts={"tool_call": 60})
    return observe(tmp_path, extension, batches=[batch])


def test_read_only_calls_side_by_side_run_at_the_same_time_and_keep_their_order(tmp_path: Path):
    """The first three calls are answered once all are asked, the last call first."""
    seen = barrier(tmp_path, ("left", 3), ("right", 3), ("left", 3), ("alone", 1), ("alone", 1), ("right", 1))
    assert results(seen) == [
        ("t1.0", "left"), ("t1.1", "right"), ("t1.2", "left"), ("t1.3", "alone"), ("t1.4", "alone"), ("t1.5", "right"),
    ]  # fmt: skip
    progress = [record.id for record in seen.records if isinstance(record, events.ToolProgress)]
    assert progress == ["t1.2", "t1.1", "t1.0", "t1.3", "t1.4", "t1.5"]


def test_a_refused_call_among_read_only_ones_leaves_the_others_alone(tmp_path: Path):
    guard = program(
        tmp_path,
        "guard",
        """
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    send(type="event_intercept_response", id=frame["id"], block=frame["tool_name"] == "right", reason="no")
""",
    )
    extension = program(tmp_path, "barrier", BARRIER, timeouts={"tool_call": 60})
    batch = [(name, {"together": 2}) for name in ("left", "right", "left")]
    seen = observe(tmp_path, extension, guard, batches=[batch])
    assert results(seen) == [("t1.0", "left"), ("t1.1", "no"), ("t1.2", "left")]
