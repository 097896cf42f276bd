"""Session files, as a run goes on with them: read, repaired, sent to the model, written to, and copied."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from agent.model.request import build_params
from agent.sessions.file import SessionFile
from agent.sessions.fork import fork_to_go_on
from agent.sessions.load import SessionError, load
from agent.sessions.repair import repair_messages
from agent.transcript import Message, Text
from tests.fuzz.prompt import without_fsync
from tests.fuzz.target import Target
from wire.events import Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TIME = "2026-01-02T03:04:05.123456789+01:00"
META = {"id": "4b1f3c5a", "cwd": "/x", "model": "claude-x", "provider": "anthropic", "started": TIME, "version": "1"}
TOTALS = {
    "input_tokens": 9,
    "output_tokens": 8,
    "cache_read_tokens": 7,
    "cache_write_tokens": 6,
    "cost_usd": 0.25,
    "reasoning_tokens": 5,
    "reasoning_tokens_known": True,
}
NEXT = Message("user", (Text("next"),), TIME)


def _said(role: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": list(content), "time": TIME, **more}}


QUESTION = _said("user", {"text": "look at \U0001f600 \u2028 this"}, {"mime_type": "image/png", "data": "iVBORw0KGgo="})
CALLS = _said(
    "assistant",
    {"reasoning_id": "", "summary": "hm", "encrypted_content": "c2ln", "redacted": False},
    {"text": "I look."},
    {"id": "t1", "name": "read", "arguments": {"path": "a", "n": 1.0}},
    {"id": "t2", "name": "bash", "arguments": '{"command": "l'},
)
RESULTS = _said(
    "tool",
    {"call_id": "t1", "content": [{"text": "a"}, {"mime_type": "image/png", "data": "AAAA"}], "is_error": False},
    {"call_id": "t2", "content": [], "is_error": True},
)
ANSWER = _said("assistant", {"text": "Done."}, meta={"k": "v"})
USAGE = {"type": "usage", "usage": TOTALS, "cumulative": TOTALS}
COMPACTION = {"type": "compaction", "messages": [row["message"] for row in (QUESTION, CALLS, RESULTS)]}
FILES = (
    ({"type": "meta", "meta": META}, QUESTION, USAGE, CALLS, RESULTS, USAGE, ANSWER),
    ({"type": "meta", "meta": {**META, "parent": "x", "fork_point": 2}}, QUESTION, CALLS, RESULTS, COMPACTION, ANSWER),
    ({"type": "meta", "meta": META}, QUESTION, {"type": "rename", "title": "A name"}, CALLS),
    ({"type": "meta", "meta": META}, RESULTS, ANSWER, {"type": "new"}, {"type": "meta", "meta": {"model": "y"}}),
)


def _seeds() -> list[bytes]:
    found = [b"".join(json.dumps(row).encode() + b"\n" for row in rows) for rows in FILES]
    crlf = b"\xef\xbb\xbf" + found[0].replace(b"\n", b"\r\n")
    return [*found, found[0][:-30], crlf, found[0].replace(b'"' + TIME.encode() + b'"', b"null")]


def _check(messages: tuple[Message, ...]) -> None:
    """The API takes the messages that are sent, and JSON can hold them."""
    assert repair_messages(messages) == (list(messages), 0)
    assert not messages or messages[0].role == "user"
    params = build_params(model="m", system="", messages=messages, tools=(), max_tokens=9, reasoning=None)
    orjson.dumps(params)


@contextmanager
def _open(folder: Path) -> Iterator[Callable[[bytes], None]]:
    path, home = folder / "session.jsonl", folder / "home"

    def take(data: bytes) -> None:
        path.write_bytes(data)
        try:
            loaded = load(path, with_said=True)
        except SessionError:
            return
        _check(loaded.messages)
        assert len(loaded.said) == loaded.message_rows
        copy = copied = None
        try:
            copy, copied = fork_to_go_on(path, home, cwd="/y")
        except SessionError:
            assert not loaded.message_rows
            assert not loaded.messages
        else:
            copy.message(NEXT)
            copy.close()
        file, again = SessionFile.reopen(path)
        assert again.messages == loaded.messages
        assert copied is None or copied.messages == loaded.messages
        file.model("anthropic", "other")
        file.message(NEXT)
        file.usage(Totals(1, 2, 3, 4))
        file.close()
        assert file.error is None
        assert copy is None or copy.error is None
        assert path.read_bytes().startswith(data)
        for written in (path, *(() if copy is None else (copy.path,))):
            after = load(written)
            assert after.messages == tuple(repair_messages([*loaded.messages, NEXT])[0])
            assert after.message_rows == loaded.message_rows + 1
        assert load(path).fault_count == loaded.fault_count
        if copy is not None:
            copy.path.unlink()

    with without_fsync():
        yield take


TARGETS = (Target("session-files", _seeds, _open, in_suite=80, share=0.1),)
