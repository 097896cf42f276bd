"""Requests and replies for cassettes, and a cassette that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cassette import CassetteRecorder

if TYPE_CHECKING:
    from pathlib import Path

CWD = "/work/project"


def params(*texts: str, cwd: str = CWD, **more) -> dict:
    """A request with one user message per text."""
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": [
            {"type": "text", "text": f"Be brief.\n\nCurrent date: 2026-11-21\nCurrent working directory: {cwd}\n"}
        ],
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]} for text in texts],
        **more,
    }


def reply(*pieces: str, **final) -> list[dict]:
    usage = {"input": 1, "output": 2, "cache_read": 0, "cache_write": 0}
    content = [{"type": "text", "text": "".join(pieces)}]
    return [
        {"type": "message_start", "usage": usage},
        *({"type": "text_delta", "delta": piece} for piece in pieces),
        {"type": "final", "content": content, "stop_reason": "end_turn", "usage": usage, **final},
    ]


def tool_reply(*pieces: str) -> list[dict]:
    call = {"type": "tool_call", "id": "t1", "name": "read", "args": "".join(pieces)}
    return [
        {"type": "tool_use_start", "call_id": "t1", "name": "read"},
        *({"type": "tool_use_args", "call_id": "t1", "delta": piece} for piece in pieces),
        {"type": "tool_use_end", "call_id": "t1"},
        {"type": "final", "content": [call], "stop_reason": "tool_use", "usage": {}},
    ]


def record(tape: Path, *exchanges, cwd: str = CWD, home: str | None = None) -> None:
    with CassetteRecorder(tape, cwd=cwd, home=home) as recorder:
        for request, lines in exchanges:
            recorder.add(request, [{**line, "id": "r1"} for line in lines])
