"""Bodies that a server should not send, read with the real SDK: each ends in one line, in bounded memory."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.support.messages_server import (
    MessagesServer,
    Reply,
    Send,
    events_reply,
    http_error,
    message_events,
    raw_reply,
    text_block,
    text_reply,
)
from tests.support.messages_server.replies import sse
from tests.support.model_worker_process import WorkerProcess, text_of

EVENTS = message_events([text_block("Hello")])
HELLO = b"".join(map(sse, EVENTS))
BEGIN = b"".join(map(sse, EVENTS[:3]))
PIECE = sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 60_000}})
CALL = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
TOO_LARGE = "anthropic: the model's reply is too large: it has more than "
NOT_COMPLETE = "anthropic: the stream ended before the reply was complete"


def endless(data: bytes, before: bytes = b"", status: int = 200, encoding: str = "identity") -> Reply:
    """A reply that is longer than the worker may read."""
    return Reply((Send(before), *[Send(data)] * 10_000), status, {"content-encoding": encoding}, "text/event-stream")


def zipped(data: bytes) -> Reply:
    return Reply((Send(gzip.compress(data, 1)),), 200, {"content-encoding": "gzip"}, "text/event-stream")


@pytest.mark.parametrize(
    "reply",
    [
        raw_reply(HELLO.replace(b"\n", b"\r\n")),
        raw_reply(b"\xef\xbb\xbf" + HELLO),
        raw_reply(HELLO, content_type="text/plain"),
        raw_reply(HELLO + b": and much more\n" * 9_000),
        zipped(HELLO),
    ],
    ids=["crlf", "byte order mark", "another type", "more after the end", "gzip"],
)
def test_what_can_be_read_is_read(worker: WorkerProcess, server: MessagesServer, reply: Reply) -> None:
    server.add(reply)
    lines = worker.ask()
    assert (lines[-1]["type"], text_of(lines)) == ("final", "Hello")


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (endless(b": nothing\n" * 5_000), "too_large", f"{TOO_LARGE}1000 lines in one event"),
        (endless(b"x" * 65_000, BEGIN + b"data: "), "too_large", f"{TOO_LARGE}8388608 bytes in one event"),
        (endless(PIECE, BEGIN), "too_large", f"{TOO_LARGE}8388608 characters"),
        (zipped(b": nothing\n" * 5_000_000), "too_large", f"{TOO_LARGE}1000 lines in one event"),
        (raw_reply(HELLO[: len(BEGIN) + 20]), "dropped", NOT_COMPLETE),
        (raw_reply(b""), "dropped", NOT_COMPLETE),
        (Reply((Send(HELLO),), 200, {"content-encoding": "gzip"}), "protocol", "unreadable stream"),
        (raw_reply(json.dumps({"type": "message", "content": []}).encode(), content_type="application/json"),
         "protocol", "answered with application/json, not with an event stream"),
        (raw_reply(b"<html>log in first</html>", content_type="text/html"), "protocol", "answered with text/html"),
        (raw_reply(b"event: error\ndata: " + b"[" * 90_000 + b"\n\n"), "protocol", "a stream event is not JSON"),
        (raw_reply(b'data: {"type":"error","error":{"message":%b}}\n\n' % (b"[" * 900 + b"]" * 900)),
         "server", "anthropic: error: no reason given"),
        (raw_reply(HELLO.replace(b'"input_tokens": 10', b'"input_tokens": 1e400')),
         "protocol", "message.usage.input_tokens must be a whole number from 0 to 1000000000000, not Infinity"),
    ],
    ids=["comments", "one line", "deltas", "bomb", "cut", "empty", "no gzip", "json", "html", "deep",
         "deep error", "1e400"],
)  # fmt: skip
def test_what_cannot_be_read_is_one_error(worker: WorkerProcess, server: MessagesServer, reply, kind, message) -> None:
    server.add(reply, text_reply("still here"))
    error = worker.ask()[-1]
    assert (error["type"], error["kind"]) == ("error", kind)
    assert message in error["message"]
    assert text_of(worker.ask()) == "still here", "the worker serves the next request"


@pytest.mark.parametrize(
    "reply",
    [
        endless(b"y" * 65_000, status=502),
        Reply((Send(gzip.compress(b"y" * 9_000_000, 1)),), 502, {"content-encoding": "gzip"}, "text/html"),
        http_error(502, "y" * 9_000_000),
    ],
    ids=["endless", "gzip", "json"],
)
def test_of_the_body_of_an_error_only_the_start_is_read(
    worker: WorkerProcess, server: MessagesServer, reply: Reply
) -> None:
    server.add(reply, text_reply("still here"))
    error = worker.ask()[-1]
    assert (error["kind"], error["status"]) == ("server", 502)
    assert error["message"].startswith("anthropic: HTTP 502: ")
    assert len(error["message"]) < 600
    assert text_of(worker.ask()) == "still here"


@pytest.mark.parametrize("message", [None, 5, {"a": 1}, ["x"], "[" * 3_000])
def test_a_message_of_another_type_leaves_the_status(worker: WorkerProcess, server: MessagesServer, message) -> None:
    body = {"type": "error", "error": {"type": message, "message": message}}
    server.add(raw_reply(json.dumps(body).encode(), status=529, content_type="application/json"))
    error = worker.ask()[-1]
    assert (error["kind"], error["status"]) == ("overloaded", 529)


def test_arguments_at_the_start_of_a_call_that_cannot_be_written_again(
    worker: WorkerProcess, server: MessagesServer
) -> None:
    """Python reads JSON of this depth, and writes it, or says that it is too deep; either is one line."""
    start = {"type": "content_block_start", "index": 0, "content_block": CALL}
    end = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
    body = b"".join(map(sse, [EVENTS[0], start, *end]))
    for depth in (300, 900, 960, 990):
        server.add(raw_reply(body.replace(b'"input": {}', b'"input": {"a":%b}' % (b"[" * depth + b"]" * depth))))
        assert worker.ask()[-1]["type"] in ("final", "error")


def test_events_after_a_fault_are_not_told(worker: WorkerProcess, server: MessagesServer) -> None:
    bad = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": None}}
    server.add(events_reply([*EVENTS[:4], bad, *EVENTS[4:]]))
    lines = worker.ask()
    assert [line["type"] for line in lines] == ["message_start", "text_delta", "error"]
    assert lines[-1]["message"].endswith("content[0].delta.text must be text, not null")
    assert lines[-1]["content"] == [{"type": "text", "text": lines[1]["delta"]}]
