"""Answers of the scripted server: replies as data, and the Messages API events that they consist of."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Event = dict[str, Any]

_ids = itertools.count(1)

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Send:
    """Writes bytes: the head first, if it was not written yet, then these as one chunk."""

    data: bytes


@dataclass(frozen=True)
class Hold:
    """Waits until the test calls `server.release()`, or the server closes."""


@dataclass(frozen=True)
class Drop:
    """Ends the connection here, without the end of the body; `reset` ends it with a RST."""

    reset: bool = False


Step = Send | Hold | Drop


@dataclass(frozen=True)
class Reply:
    steps: tuple[Step, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream; charset=utf-8"
    on_begin: Callable[[], None] | None = None
    """Called just before its status is sent, on the thread of its connection."""


def sse(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def error_event(error_type: str, message: str = "as the script says") -> Event:
    return {"type": "error", "error": {"type": error_type, "message": message}}


# Blocks: the events of one content block, without their index.


def _pieces(text: str, chunks: int) -> list[str]:
    size = max(1, -(-len(text) // chunks))
    return [text[at : at + size] for at in range(0, len(text), size)]


def text_block(text: str, *, chunks: int = 2) -> list[Event]:
    deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(text, chunks)]
    return _block({"type": "text", "text": ""}, deltas)


def thinking_block(text: str, signature: str = "sig", *, chunks: int = 2) -> list[Event]:
    deltas: list[Event] = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(text, chunks)]
    deltas.append({"type": "signature_delta", "signature": signature})
    return _block({"type": "thinking", "thinking": "", "signature": ""}, deltas)


def redacted_block(data: str) -> list[Event]:
    return _block({"type": "redacted_thinking", "data": data}, [])


def tool_block(name: str, args_text: str, *, call_id: str | None = None, chunks: int = 2) -> list[Event]:
    start = {"type": "tool_use", "id": call_id or f"toolu_{next(_ids):04}", "name": name, "input": {}}
    pieces = ["", *_pieces(args_text, chunks)]  # the API begins with an empty delta
    return _block(start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])


def _block(start: Event, deltas: Iterable[Event]) -> list[Event]:
    return [
        {"type": "content_block_start", "content_block": start},
        *({"type": "content_block_delta", "delta": delta} for delta in deltas),
        {"type": "content_block_stop"},
    ]


# Whole replies.


def message_events(
    blocks: Sequence[list[Event]],
    *,
    stop_reason: str | None = "end_turn",
    input_tokens: int = 10,
    output_tokens: int = 5,
    cache_read: int = 0,
    cache_write: int = 0,
    cache_write_1h: int | None = None,
    details: object = None,
) -> list[Event]:
    """All events of a reply, in the order of the API. `details`: the `output_tokens_details`; None: missing.
    `cache_write_1h`: the part of `cache_write` that is kept for an hour; None: the reply does not tell the parts."""
    usage = {
        "input_tokens": input_tokens,
        "cache_read_input_tokens": cache_read,
        "cache_creation_input_tokens": cache_write,
        "output_tokens": 1,
        **({} if cache_write_1h is None else {"cache_creation": _creation(cache_write, cache_write_1h)}),
    }
    message = {
        "id": f"msg_{next(_ids):04}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    body = [{**event, "index": index} for index, block in enumerate(blocks) for event in block]
    return [
        {"type": "message_start", "message": message},
        {"type": "ping"},
        *body,
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": None},
            "usage": {
                "output_tokens": output_tokens,
                **({} if details is None else {"output_tokens_details": details}),
            },
        },
        {"type": "message_stop"},
    ]


def _creation(written: int, hour: int) -> dict[str, int]:
    return {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour}


def events_reply(events: Iterable[Event]) -> Reply:
    return Reply(tuple(Send(sse(event)) for event in events))


def text_reply(text: str, **message: Any) -> Reply:
    """A reply of one text; the keyword arguments are those of `message_events`."""
    return events_reply(message_events([text_block(text)], **message))


def tool_reply(
    calls: Sequence[tuple[str, Mapping[str, Any]]], *, text: str = "", thinking: str = "", **message: Any
) -> Reply:
    """A reply that calls tools, after a thought and a text if they are given."""
    blocks = [thinking_block(thinking)] if thinking else []
    blocks += [text_block(text)] if text else []
    blocks += [tool_block(name, json.dumps(args)) for name, args in calls]
    return events_reply(message_events(blocks, **{"stop_reason": "tool_use", **message}))


def raw_tool_reply(args_text: str, *, name: str = "read", call_id: str | None = None, **message: Any) -> Reply:
    """A reply with one tool call whose arguments are this text, JSON or not."""
    block = tool_block(name, args_text, call_id=call_id)
    return events_reply(message_events([block], **{"stop_reason": "tool_use", **message}))


def raw_reply(body: bytes, *, status: int = 200, content_type: str = "text/event-stream") -> Reply:
    return Reply((Send(body),), status=status, content_type=content_type)


def http_error(
    status: int,
    message: str = "as the script says",
    *,
    error_type: str | None = None,
    retry_after: float | str | None = None,
    retry_after_ms: float | None = None,
) -> Reply:
    """An error with the API's JSON body. The SDK ignores `retry-after: 0` and waits half a second."""
    body = error_event(error_type or ERROR_TYPES.get(status, "api_error"), message)
    headers = {"request-id": f"req_{next(_ids):04}"}
    if retry_after is not None:
        headers["retry-after"] = str(retry_after)
    if retry_after_ms is not None:
        headers["retry-after-ms"] = str(retry_after_ms)
    return Reply((Send(json.dumps(body).encode()),), status, headers, "application/json")


def drop_before_headers(*, reset: bool = False) -> Reply:
    return Reply((Drop(reset),))


def drop_midway(reply: Reply, *, after: int, reset: bool = False) -> Reply:
    """Sends the first `after` steps of a reply (its events), then loses the connection."""
    return replace(reply, steps=(*reply.steps[:after], Drop(reset)))


def stall_midway(reply: Reply, *, after: int) -> Reply:
    """Sends the first `after` steps of a reply, waits until released, then sends the rest."""
    return replace(reply, steps=(*reply.steps[:after], Hold(), *reply.steps[after:]))


def hold_first_byte(reply: Reply) -> Reply:
    """Sends nothing at all, not even the status, until released."""
    return stall_midway(reply, after=0)
