"""Good inputs: what the vectors, the examples, the recordings and the product's own writers hold."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"


@cache
def conversations() -> tuple[bytes, ...]:
    """The scripts of the vectors."""
    return tuple(path.read_bytes() for path in sorted(VECTORS.glob("*.jsonl")))


@cache
def frames_of(side: str) -> tuple[bytes, ...]:
    """The frames that one side says in the vectors, each different one once, as lines."""
    found = {}
    for line in b"".join(conversations()).splitlines():
        frame = json.loads(line).get(side)
        if frame is not None:
            found[as_line(frame)] = None
    return tuple(found)


@cache
def manifests() -> tuple[bytes, ...]:
    """The manifests of the examples, and one with every field."""
    written = sorted((ROOT / "examples" / "extensions").glob("*/extension.json"))
    every = {
        "$schema": "x", "name": "every", "exec": "./run", "args": ["a", "b"], "version": "1", "language": "sh",
        "description": "d", "enabled": True, "priority": 5, "on_failure": "deny", "independent": True,
        "timeouts": {"hello": 1, "ready": 2.5, "tool_call": 3, "intercept": 4, "command": 5},
        "restart": {"policy": "permanent", "max": 3, "window_s": 9, "backoff_s": [0.5, 2], "no_restart_exit": [3, 4]},
        "limits": {
            "rss_mb": 100, "cpu_percent": 50, "cpu_seconds": 10, "processes": 3, "open_files": 50, "frames_per_s": 9,
            "output_bytes": 5000, "log_mb": 1, "file_mb": 2, "breaches": 2, "action": "stop",
        },
        "required": True, "workers": 2, "watchdog_s": 5, "stall_after": 2, "dump_on_stall": True,
        "data": ["todos.json", "logs/*.log"],
        "env": ["GITHUB_TOKEN"], "env_policy": "minimal",
    }  # fmt: skip
    return (*(path.read_bytes() for path in written), json.dumps(every, indent=2).encode())


@cache
def cassettes() -> tuple[bytes, ...]:
    """The recording of the demo, whole and each exchange alone."""
    whole = (ROOT / "agent" / "demo" / "cassette.jsonl").read_bytes()
    header, *exchanges = whole.splitlines(keepends=True)
    return (whole, *(header + exchange for exchange in exchanges))


def as_line(value: Any) -> bytes:
    """A JSON value as one line, LF included."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
