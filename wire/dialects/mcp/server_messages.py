"""Messages of a server that are not answers: its requests, log messages and progress reports. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects.base import Remarked
from wire.dialects.json_values import text_of
from wire.dialects.jsonrpc import METHOD_NOT_FOUND, answer, number_of, refusal
from wire.dialects.mcp import protocol
from wire.dialects.mcp.protocol import LOG_LEVELS
from wire.lenient_json import UNREADABLE
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

METHOD_SHOWN = 80
LEVELS = dict(zip(LOG_LEVELS, ("debug", "info", "info", "warn", "error", "error", "error", "error"), strict=True))
"""zot's level for each level of MCP. An unknown level counts as info."""
NOT_NEEDED = frozenset(
    {
        protocol.CANCELLED,
        "notifications/elicitation/complete",
        protocol.INITIALIZED,
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/roots/list_changed",
        protocol.ACKNOWLEDGED,
        "notifications/tasks/status",
    }
)
"""Notifications without a meaning for this host."""


def reply_to(method: str, written_id: bytes) -> tuple[Sequence[Remarked], bytes]:
    """Returns a line for the log and the immediate answer to a request of the server. The host declares no
    capabilities, so only pings should come. A question gets no error, which would fail the call that it belongs to."""
    if method == protocol.PING:
        return (), answer(written_id, b"{}")
    shown = one_line(method, METHOD_SHOWN)
    if method == "elicitation/create":
        return (Remarked("asks the user a question; answered that no user can answer it"),), answer(
            written_id, b'{"action":"cancel"}'
        )
    return (Remarked(f"asks for {shown!r}, which zot does not offer; refused"),), refusal(
        written_id, METHOD_NOT_FOUND, f"Method not found: {shown}"
    )


# --- log ----------------------------------------------------------------------------------------------------


class _Logged(msgspec.Struct):
    level: Any = None
    logger: Any = None
    data: Raw | UnsetType = UNSET


_logged = msgspec.json.Decoder(_Logged).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_text = msgspec.json.Decoder(str).decode
FIELDS_LIMIT = 50
"""Maximum number of members of a logged object that become fields."""


def log(params: Raw | UnsetType) -> frames.Log | None:
    """Returns a log message of the server; None if it cannot be read. Its data may be any JSON: a text is the message;
    the text in the member `message` or `msg` of an object is the message, and its other members are fields."""
    if params is UNSET:
        return None
    try:
        logged = _logged(params)
        message, fields = _said(logged.data)
    except UNREADABLE:
        return None
    if isinstance(logged.logger, str) and logged.logger:
        fields = {"logger": Raw(msgspec.json.encode(logged.logger)), **fields}
    level = logged.level if isinstance(logged.level, str) else ""
    return frames.Log(message, LEVELS.get(level, "info"), fields or None)


def _said(data: Raw | UnsetType) -> tuple[str, dict[str, Raw]]:
    if data is UNSET:
        return "", {}
    text = bytes(data)
    if text.startswith(b'"'):
        return _text(text), {}
    if text.startswith(b"{"):
        members = _members(text)
        for name in ("message", "msg"):
            if (said := members.get(name)) is not None and bytes(said).startswith(b'"'):
                rest = {other: value for other, value in members.items() if other != name and bytes(value) != b"null"}
                return _text(said), dict(list(rest.items())[:FIELDS_LIMIT])
    return text.decode("utf-8", "replace"), {}


# --- progress -----------------------------------------------------------------------------------------------


class _Progress(msgspec.Struct):
    progressToken: Raw | UnsetType = UNSET  # noqa: N815
    progress: Any = None
    total: Any = None
    message: Any = None


_progress = msgspec.json.Decoder(_Progress).decode


def progress(params: Raw | UnsetType) -> tuple[int, str] | None:
    """Returns the number of the request that a report is about, and its text: the message, else `3/10`. None if it
    names no request of ours."""
    if params is UNSET:
        return None
    try:
        report = _progress(params)
    except UNREADABLE:
        return None
    number = None if report.progressToken is UNSET else number_of(bytes(report.progressToken))
    if number is None:
        return None
    if isinstance(report.message, str) and report.message:
        return number, report.message
    done = _number(report.progress)
    return number, f"{done}/{_number(report.total)}" if report.total is not None else done


def _number(value: Any) -> str:
    if isinstance(value, float):
        value = int(value) if value.is_integer() and abs(value) < 1e15 else round(value, 3)
    return one_line(text_of(value), METHOD_SHOWN)
