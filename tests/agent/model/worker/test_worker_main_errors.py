"""Each failure of a reply, as the model worker reports it."""

from __future__ import annotations

import json

import pytest

from tests.support.messages_server import (
    MessagesServer,
    drop_before_headers,
    drop_midway,
    error_event,
    events_reply,
    http_error,
    message_events,
    raw_reply,
    stall_midway,
    text_block,
    tool_reply,
)
from tests.support.model_worker_process import KEY, WorkerProcess


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request"),
        (401, "authentication"),
        (402, "invalid_request"),
        (403, "authentication"),
        (404, "invalid_request"),
        (408, "timeout"),
        (413, "too_long"),
        (422, "invalid_request"),
        (429, "rate_limit"),
        (500, "server"),
        (503, "server"),
        (529, "overloaded"),
    ],
)
def test_http_errors(worker: WorkerProcess, server: MessagesServer, status: int, kind: str) -> None:
    server.add(http_error(status, "because\nof this"))
    assert worker.ask() == [
        {
            "type": "error",
            "kind": kind,
            "status": status,
            "message": f"anthropic: HTTP {status}: because of this",
            "retry_after_s": None,
            "fault": None,
            "content": [],
            "usage": {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0},
        }
    ]


def test_an_overloaded_error_is_overloaded_with_any_status(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(http_error(503, error_type="overloaded_error"))
    assert worker.ask()[-1]["kind"] == "overloaded"


@pytest.mark.parametrize("code", ["plugin_name_taken", "scan_pending", "no_such_code"])
def test_an_error_of_a_kind_that_is_left_out_of_the_sdk_reads_like_any_other(
    worker: WorkerProcess, server: MessagesServer, code: str
) -> None:
    body = {"type": "error", "error": {"type": "conflict_error", "message": "why", "details": {"error_code": code}}}
    server.add(raw_reply(json.dumps(body).encode(), status=409, content_type="application/json"))
    error = worker.ask()[-1]
    assert (error["kind"], error["status"]) == ("invalid_request", 409)
    assert error["message"] == "anthropic: HTTP 409: why"


def test_an_error_body_that_is_not_json_is_shown_on_one_bounded_line(
    worker: WorkerProcess, server: MessagesServer
) -> None:
    server.add(raw_reply(b"<html>\n<h1>Bad gateway</h1>\n" + b"x" * 9000, status=502, content_type="text/html"))
    message = worker.ask()[-1]["message"]
    assert message.startswith("anthropic: HTTP 502: <html> <h1>Bad gateway</h1> xxx")
    assert "\n" not in message
    assert len(message) < 600


def test_the_key_is_never_part_of_a_message(worker: WorkerProcess, server: MessagesServer) -> None:
    server.add(http_error(401, f"invalid key {KEY}!"))
    assert worker.ask()[-1]["message"] == "anthropic: HTTP 401: invalid key [API key]!"


@pytest.mark.parametrize(
    ("error_type", "kind"),
    [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate_limit"),
        ("authentication_error", "authentication"),
        ("permission_error", "authentication"),
        ("invalid_request_error", "invalid_request"),
        ("api_error", "server"),
        ("brand_new_error", "server"),
    ],
)
def test_an_error_inside_the_stream(worker: WorkerProcess, server: MessagesServer, error_type: str, kind: str) -> None:
    events = message_events([text_block("partial answer", chunks=1)], input_tokens=12)
    server.add(events_reply([*events[:4], error_event(error_type, "sorry")]))
    error = worker.ask()[-1]
    assert (error["kind"], error["status"]) == (kind, None)
    assert error["message"] == f"anthropic: {error_type}: sorry"
    assert error["content"] == [{"type": "text", "text": "partial answer"}]
    assert error["usage"]["input"] == 12


@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_that_ends_before_the_reply(worker: WorkerProcess, server: MessagesServer, reset: bool) -> None:
    server.add(drop_before_headers(reset=reset))
    error = worker.ask()[-1]
    assert (error["kind"], error["unanswered"]) == ("connection", True), "the provider may have worked for it"
    assert server.base_url in error["message"]


@pytest.mark.parametrize("reset", [False, True])
def test_a_stream_that_breaks_off_gives_what_came(worker: WorkerProcess, server: MessagesServer, reset: bool) -> None:
    whole = tool_reply([("read", {"path": "abcdef"})], text="Let me look")
    # message_start, ping, the text block (4 events), the start of the call, the empty delta, half of the arguments
    server.add(drop_midway(stall_midway(whole, after=9), after=10, reset=reset))
    request = worker.start()
    lines = []
    while not any(line["type"] == "tool_use_args" for line in lines):
        lines.append(worker.read())
    server.release()
    error = worker.finish(request)[-1]
    assert error["kind"] == "dropped"
    text, call = error["content"]
    assert text == {"type": "text", "text": "Let me look"}
    assert (call["type"], call["args"]) == ("tool_call", '{"path": ')
    assert not any(line["type"] == "tool_use_end" for line in lines)


def test_a_stream_that_just_ends_is_dropped(worker: WorkerProcess, server: MessagesServer) -> None:
    events = message_events([text_block("looks complete")])
    server.add(events_reply(events[:-1]))  # no message_stop
    server.add(events_reply(events[:-2]))
    for _ in range(2):
        error = worker.ask()[-1]
        assert error["kind"] == "dropped"
        assert error["message"] == "anthropic: the stream ended before the reply was complete"


@pytest.mark.parametrize(
    "body",
    [
        b"event: message_start\ndata: {nonsense\n\n",
        b"event: message_start\ndata: [1]\n\n",
        b'event: message_start\ndata: {"type":"message_start"}\n\n',
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":null}\n\n',
        b'event: message_start\ndata: {"type":"message_start","message":"\xff"}\n\n',
        b"event: error\ndata: not json\n\n",
        b'data: {"no type": 1}\n\n',
    ],
)
def test_a_malformed_stream_is_a_protocol_error(worker: WorkerProcess, server: MessagesServer, body: bytes) -> None:
    server.add(raw_reply(body))
    assert worker.ask()[-1]["kind"] == "protocol"


def test_a_redirect_is_reported_not_followed(worker: WorkerProcess, server: MessagesServer) -> None:
    reply = raw_reply(b"", status=307)
    server.add(type(reply)(reply.steps, 307, {"location": "https://example.invalid/v1/messages"}))
    error = worker.ask()[-1]
    assert (error["kind"], error["status"]) == ("invalid_request", 307)
    assert "https://example.invalid/v1/messages" in error["message"]


def test_arguments_that_the_sdk_refuses_are_an_error(worker: WorkerProcess) -> None:
    error = worker.ask(temperature=1)[-1]
    assert error["kind"] == "invalid_request"
    assert "temperature" in error["message"]
