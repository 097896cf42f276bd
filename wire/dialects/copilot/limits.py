"""How many bytes a message of an extension may have. Pure.

What carries results, prompts, files and schemas may be long, anything else may not: which of them a message is shows in
its first bytes. To drop a body costs nothing but the time of receiving it; to decode one costs the host time in which
all other extensions wait.
"""

from __future__ import annotations

from wire.dialects.jsonrpc import peek
from wire.dialects.long_lines import LIMITS as FRAME_LIMITS
from wire.dialects.long_lines import SHORT

LIMITS = {
    "session.tools.handlePendingToolCall": FRAME_LIMITS["tool_result"],
    "session.resume": 2 * 1024 * 1024,
    "session.send": 1024 * 1024,
    "session.workspaces.createFile": 2 * 1024 * 1024,
    "session.plan.update": 2 * 1024 * 1024,
}
"""Bytes that requests with these methods may have. A file of the workspace may have 1 MiB, and JSON doubles a line
feed."""
ANSWER = FRAME_LIMITS["event_intercept_response"]
"""Bytes of an answer: what a hook says."""


def limit_of(start: bytes) -> int:
    """The most bytes of a body that is longer than `SHORT` and begins like this."""
    seen = peek(start, b"")
    if seen.method:
        return LIMITS.get(seen.method, SHORT)
    return ANSWER if seen.is_answer or b'"params"' not in start else SHORT
