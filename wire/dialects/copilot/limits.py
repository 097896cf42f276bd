"""Limits of the size of an extension's messages. Pure.

Only messages with results, prompts, files and schemas may be long; the first bytes show the kind of a message. Dropping
a body costs only the time to receive it; decoding it costs the host time in which all other extensions wait.
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
"""Maximum size of these requests in bytes. A file of the workspace may have 1 MiB, and JSON doubles line feeds."""
ANSWER = FRAME_LIMITS["event_intercept_response"]
"""Maximum size of an answer in bytes: the output of a hook."""


def limit_of(start: bytes) -> int:
    """Returns the maximum size of a body that is longer than `SHORT` and begins with `start`."""
    seen = peek(start, b"")
    if seen.method:
        return LIMITS.get(seen.method, SHORT)
    return ANSWER if seen.is_answer or b'"params"' not in start else SHORT
