"""A rehearsal of a request: proves that the SDK in memory sends one, and reads replies and errors, as it should.

Nothing is sent: the transport below the SDK's client is a stand-in that answers from this file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent.model.failure import ErrorKind, ModelError
from agent.model.worker.connection import Connection
from agent.model.worker.stream_reply import StreamedReply

if TYPE_CHECKING:
    import httpx2

    from agent.model.worker.stream_reply import Line

REQUEST: Line = {
    "model": "rehearsal",
    "max_tokens": 16,
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "t"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            ],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c0", "name": "n", "input": {"a": [1, None]}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c0", "content": [], "is_error": True}]},
    ],
    "tools": [{"name": "n", "description": "d", "input_schema": {"type": "object", "properties": {}}}],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "low"},
}
"""A request with every kind of block that `agent.model.request` makes."""
_EVENTS: list[Line] = [
    {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "rehearsal",
     "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 1}}},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "xx"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "é\u2028"}},
    {"type": "content_block_stop", "index": 2},
    {"type": "content_block_start", "index": 3,
     "content_block": {"type": "tool_use", "id": "c1", "name": "n", "input": {}}},
    {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
    {"type": "content_block_stop", "index": 3},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
     "usage": {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 4}}},
    {"type": "message_stop"},
]  # fmt: skip
"""A recorded stream with every kind of event."""
_CONTENT: list[Line] = [
    {"type": "thinking", "text": "hm", "signature": "sig"},
    {"type": "thinking", "redacted": "xx"},
    {"type": "text", "text": "é\u2028"},
    {"type": "tool_call", "id": "c1", "name": "n", "args": '{"a":1}'},
]
_REFUSAL = {"type": "error", "error": {"type": "rate_limit_error", "message": "r", "details": {"error_code": "e"}}}


class RehearsalFailedError(Exception):
    """The text says what went otherwise than expected."""


def rehearse() -> None:
    """Makes one request that is answered and one that is refused. Raises whatever goes wrong."""
    import httpx2

    sent: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        if len(sent) > 1:
            return httpx2.Response(429, json=_REFUSAL, headers={"retry-after": "7"})
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _EVENTS)
        return httpx2.Response(200, content=body.encode(), headers={"content-type": "text/event-stream"})

    settings = {"api_key": "rehearsal", "base_url": "http://127.0.0.1:9", "idle_timeout_s": 1}
    connection = Connection(settings, transport=httpx2.MockTransport(answer))
    stream = connection.open(REQUEST)
    reply = StreamedReply()
    for event in connection.decoded(stream.raw_events(stream.response)):
        for _line in reply.feed(event):
            pass
    _expect("content", reply.content(), _CONTENT)
    _expect("usage", reply.usage, {"input": 3, "output": 7, "cache_read": 0, "cache_write": 0, "reasoning": 4})
    _expect("stop reason", reply.stop_reason, "tool_use")
    _expect("request", json.loads(sent[0].content), {**REQUEST, "stream": True})
    _expect("path", sent[0].url.path, "/v1/messages")
    carriers = (sent[0].headers.get("authorization"), sent[0].headers.get("x-api-key"))
    _expect("credential", carriers in (("Bearer rehearsal", None), (None, "rehearsal")), True)
    try:
        connection.open(REQUEST)
    except ModelError as failure:
        _expect("refusal", (failure.kind, failure.status, failure.retry_after), (ErrorKind.RATE_LIMIT, 429, 7.0))
        _expect("refusal", str(failure), "HTTP 429: r")
    else:
        raise RehearsalFailedError("a refusal was taken for a reply")


def _expect(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise RehearsalFailedError(f"{what}: {found!r} in place of {expected!r}")
