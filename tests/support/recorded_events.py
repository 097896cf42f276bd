"""The event stream of a run with one extension that ends once, and one that says nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.recorded_stats import MIB

if TYPE_CHECKING:
    from pathlib import Path

RUN = [
    {
        "type": "session",
        "schema_version": 1,
        "zot_version": "0.1.0",
        "id": "abc",
        "provider": "replay",
        "model": "some-model",
        "cwd": "/home/ada",
        "extensions": ["guard", "silent"],
        "time": "2026-11-21T10:00:00+00:00",
    },
    {"type": "extension", "extension": "guard", "event": "started", "message": "ready"},
    {"type": "user_message", "content": [], "time": "2026-11-21T10:00:00+00:00"},
    {"type": "turn_start", "step": 1},
    {"type": "tool_call", "id": "t1", "name": "bash", "args": {"command": "rm -rf build"}},
    {"type": "turn_end", "stop": "tool_use"},
    {"type": "tool_result", "id": "t1", "is_error": True, "content": [{"type": "text", "text": "refused by guard"}]},
    {"type": "from_a_later_version", "whatever": 1},
    {"type": "turn_start", "step": 2},
    {"type": "extension", "extension": "guard", "event": "exited", "message": "exit 1; started again in 0.5 s"},
    {"type": "assistant_message", "content": [], "time": "2026-11-21T10:00:04+00:00"},
    {"type": "turn_end", "stop": "end_turn"},
]
COST = {
    "state": "exited",
    "cpu_ms": 250,
    "rss_peak_bytes": 9 * MIB,
    "processes_peak": 1,
    **dict.fromkeys(("frames_in", "frames_out", "bytes_in", "bytes_out", "calls", "errors", "timeouts", "blocks"), 3),
    **dict.fromkeys(("events_dropped", "notes_dropped", "junk_lines", "exits", "restarts"), 1),
    "p50_ms": 1.5,
    "p99_ms": 2.5,
    "exit_status": "exit 0",
}
RESULT = {
    "type": "result",
    "status": "ok",
    "exit_code": 0,
    "reason": "",
    "text": "",
    "steps": 2,
    "usage": {"input": 1, "output": 2, "cache_read": 0, "cache_write": 0},
    "cost_usd": None,
    "duration_ms": 4200,
    "session": "abc",
    "extensions": {"guard": COST},
}


def write_events(path: Path, records: list[dict]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)
