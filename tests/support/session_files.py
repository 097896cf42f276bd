"""Session files for tests: a conversation with all that a message can hold, and files made of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.sessions.places import folder_of
from agent.sessions.rows import Meta, compaction_line, message_line, meta_line, usage_line
from agent.transcript import Image, Message, Text, Thinking, ToolCall, ToolResult
from wire.events import Totals

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TIME = "2026-01-02T03:04:05.5+01:00"
ID = "3a3ec9b6-0f8c-495a-a58b-2245c8f4c096"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = (
    "</pre></script></style><script>alert(1)</script><img src=x onerror=alert(1)> ]]> --> <!-- "
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp.exe \x9b2J [a](javascript:alert(1)) ![b](http://127.0.0.1/b.png)"
)
TABLE = "| a | b |\n|---|:-:|\n| 1 | `2` |"


def say(text: str, role: str = "user") -> Message:
    return Message(role, (Text(text),), TIME)  # type: ignore[arg-type]


CONVERSATION = (
    Message("user", (Text("Fix the test.\n\nE   assert 3 == 4"), Image("image/png", PNG)), TIME),
    Message(
        "assistant",
        (
            Thinking("Read it first.", "signature"),
            Text("I look at **it**."),
            ToolCall("t1", "read", b'{"path": "test_it.py"}'),
            ToolCall("t2", "bash", b'{"command": "git log |\\n  head", "timeout": 20}'),
        ),
        TIME,
    ),
    Message(
        "tool",
        (
            ToolResult("t1", (Text("```\ndef test():\n````\n"), Image("image/png", PNG))),
            ToolResult("t2", (Text("fatal: no repository"),), is_error=True),
        ),
        TIME,
    ),
    Message(
        "assistant",
        (Thinking("", redacted="e"), Text(f"Seen.\n\n{TABLE}\n\n{HOSTILE}"), ToolCall("t3", "edit", b"{bad")),
        TIME,
    ),
    say(HOSTILE),
    say("Done:\n\n```python\nopen", "assistant"),
)
SUMMARY = say("## Context Summary (compacted)\n\nA test fails.")


def session_rows(**meta: str) -> list[bytes]:
    """The rows of a session with everything: a compaction after the fourth message, a faulty row, and totals."""
    known = {"id": ID, "cwd": "/project", "provider": "anthropic", "model": "m-1", "started": TIME, "version": "0.1"}
    return [
        meta_line(Meta(**{**known, **meta})),
        *map(message_line, CONVERSATION[:4]),
        compaction_line([SUMMARY, CONVERSATION[3]]),
        *map(message_line, CONVERSATION[4:]),
        b'{"type":"message","message":{"role":"us\n',
        usage_line(Totals(1200, 340, 9000, 100, 0.0123)),
    ]


def write_session(home: Path, cwd: str, rows: Iterable[bytes] | None = None, id_: str = ID) -> Path:
    """A file where sessions of the folder `cwd` are kept."""
    folder = folder_of(home, cwd)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"20260102-030405-{id_[:8]}.jsonl"
    path.write_bytes(b"".join(session_rows(cwd=cwd, id=id_) if rows is None else rows))
    return path


def short_session(home: Path, cwd: str, text: str, id_: str, **meta: str | int) -> Path:
    """One with a prompt and an answer."""
    head = meta_line(Meta(id=id_, cwd=cwd, provider="anthropic", model="m-1", started=TIME, **meta))  # type: ignore[arg-type]
    return write_session(home, cwd, [head, message_line(say(text)), message_line(say("yes", "assistant"))], id_)
