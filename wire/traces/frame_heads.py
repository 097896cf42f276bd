"""Reads what a frame is, in any protocol of an extension, without its contents: its kind, its id, the tool it names.

Frames of zot's protocol have a `type`; messages of JSON-RPC have a `method`, or are answers. Pure.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import msgspec

from wire.framing.lines import string_member
from wire.lenient_json import UNREADABLE

ANSWERS = frozenset({"tool_result", "command_response", "event_intercept_response", "pong"})
"""Frames of an extension that answer a request of the host."""
ASKED = frozenset({"external_tool.requested", "command.execute", "permission.requested"})
"""Copilot's events that ask the extension for an answer."""
ANSWER = "answer"
"""The kind of an answer of JSON-RPC, which has no method."""
_HEADER = b"Content-Length:"
_LENGTH = re.compile(rb"Content-Length: *([0-9]+)\r\n(?:[^\r\n]+\r\n)*\r\n", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9_.:/$@-]{1,100}")
"""Kinds, ids and names that are kept as they are."""
OTHER_WORD = "…"
"""Stands for an id or a name of other characters: it may be a text."""

Role = Literal["request", "answer", ""]


class FrameHead(NamedTuple):
    """The kind of a frame, its id, and the name in it."""

    kind: str
    """The type, the method, or `answer`; of a Copilot event that is told, its type; empty if it is no message."""
    id: str
    """The id of the request: that which the answer names, too. Empty without one."""
    name: str
    """The tool, command, event or hook of a request or an event; empty for other frames."""
    role: Role
    """Whether it asks the other side for an answer, is one, or neither."""


NO_MESSAGE = FrameHead("", "", "", "")


def bodies(data: bytes) -> list[bytes]:
    """The messages in bytes that were written or read at once: without headers, line ends and empty lines."""
    if not data.startswith(_HEADER):
        return [line for line in data.split(b"\n") if line]
    found, at = [], 0
    while header := _LENGTH.match(data, at):
        at = header.end() + int(header[1])
        found.append(data[header.end() : at])
    return found


def read_head(body: bytes, *, is_sent: bool) -> FrameHead:
    """Reads a message of the host, if `is_sent`, or of the extension. Only the start of a message that is cut is
    needed."""
    try:
        value = msgspec.json.decode(body)
    except UNREADABLE:
        return _head_of_part(body)
    return head_of(value, is_sent=is_sent) if isinstance(value, dict) else NO_MESSAGE


def head_of(message: dict[str, Any], *, is_sent: bool) -> FrameHead:
    """The same for a message that is decoded."""
    kind = message.get("type")
    if isinstance(kind, str) and "jsonrpc" not in message:
        return _zot_head(kind, message, is_sent=is_sent)
    return _rpc_head(message)


def _zot_head(kind: str, frame: dict[str, Any], *, is_sent: bool) -> FrameHead:
    number = _word(frame.get("id"))
    name = ""
    if kind in ("tool_call", "command_invoked", "call_tool"):
        name = _word(frame.get("name"))
    elif kind in ("event", "event_intercept"):
        name = _word(frame.get("event"))
    role: Role = "request" if number and kind != "event" else ""
    if kind in ANSWERS or (is_sent and kind == "tool_result"):
        role = "answer"
    elif kind in ("tool_progress", "cancel", "tool_cancel", "call_tool_cancel", "shutdown_ack"):
        role = ""
    return FrameHead(_kind(kind), number, name, role)


def _rpc_head(message: dict[str, Any]) -> FrameHead:
    method, number = message.get("method"), _word(message.get("id"))
    if not isinstance(method, str):
        is_answer = "result" in message or "error" in message
        return FrameHead(ANSWER, number, "", "answer") if is_answer else NO_MESSAGE
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    event = params.get("event")
    if method == "session.event" and isinstance(event, dict):
        data = event.get("data")
        data = data if isinstance(data, dict) else {}
        kind, number = _kind(event.get("type")), _word(data.get("requestId"))
        named = _word(data.get("toolName") or data.get("commandName"))
        return FrameHead(kind, number, named, "request" if number and kind in ASKED else "")
    if "handlePending" in method:
        return FrameHead(_kind(method), _word(params.get("requestId")), "", "answer")
    name = _word(params.get("name")) if method in ("tools/call", "prompts/get") else _word(params.get("hookType"))
    return FrameHead(_kind(method), number, name, "request" if number else "")


def _head_of_part(start: bytes) -> FrameHead:
    if (kind := string_member(start, b"type")) is not None:
        return FrameHead(_kind(kind), _word(string_member(start, b"id")), "", "")
    return FrameHead(_kind(string_member(start, b"method")), "", "", "")


def _kind(value: object) -> str:
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""


def _word(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if -(10**30) < value < 10**30 else OTHER_WORD
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else OTHER_WORD
