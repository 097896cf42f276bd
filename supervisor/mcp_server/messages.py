"""JSON-RPC 2.0 as a server reads and writes it: one message a line, ids kept as they were written. Pure."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.dialects import jsonrpc
from wire.lenient_json import UNREADABLE, reason, repaired

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.framing import Line, Oversize

BATCH_LIMIT = 1000
"""Messages of one batch. Each may need an answer."""
NO_ID = b"null"
Key = tuple[str, str | int | float]
"""What an id means: 7 and 7.0 are the same, "7" is another."""


class Code(IntEnum):
    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    UNSUPPORTED_VERSION = -32022


class Request(msgspec.Struct, frozen=True):
    method: str
    id: bytes
    """The JSON text of its id."""
    key: Key
    params: bytes
    """The JSON text of an object or of anything else; `{}` if there are none."""


class Notification(msgspec.Struct, frozen=True):
    method: str
    params: bytes


class Fault(msgspec.Struct, frozen=True):
    """What is no message, and the answer's id and code."""

    id: bytes
    code: Code
    reason: str


class _Envelope(msgspec.Struct):
    id: Raw | UnsetType = UNSET
    method: Any = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


Decoded = TypeVar("Decoded")
_envelope = msgspec.json.Decoder(_Envelope)
_batch = msgspec.json.Decoder(list[Raw])
_encoder = msgspec.json.Encoder()
Message = Request | Notification | Fault


def read_messages(line: Line) -> list[Message]:
    """The messages of a line; those of a batch one by one. Answers are left out: the server asks nothing."""
    text = bytes(line).removeprefix(b"\xef\xbb\xbf").strip()
    if not text:
        return []
    if not text.startswith(b"["):
        return _one(text)
    try:
        batch = _decoded(text, _batch)
    except UNREADABLE as error:
        return [Fault(NO_ID, Code.PARSE_ERROR, f"not JSON: {reason(error)}")]
    if not 0 < len(batch) <= BATCH_LIMIT:
        return [Fault(NO_ID, Code.INVALID_REQUEST, f"a batch has 1 to {BATCH_LIMIT} messages, not {len(batch)}")]
    return [message for part in batch for message in _one(bytes(part))]


def _one(text: bytes) -> list[Message]:
    try:
        found = _decoded(text, _envelope)
    except UNREADABLE as error:
        if not isinstance(error, msgspec.ValidationError):
            return [Fault(NO_ID, Code.PARSE_ERROR, f"not JSON: {reason(error)}")]
        return [Fault(NO_ID, Code.INVALID_REQUEST, "a message is a JSON object")]
    params = b"{}" if found.params is UNSET or bytes(found.params) == b"null" else bytes(found.params)
    if found.id is UNSET:
        if isinstance(found.method, str):
            return [Notification(found.method, params)]
        return [Fault(NO_ID, Code.INVALID_REQUEST, "a message needs a method")]
    if found.method is UNSET and (found.result is not UNSET or found.error is not UNSET):
        return []
    key = key_of(found.id)
    if key is None:
        return [Fault(NO_ID, Code.INVALID_REQUEST, "the id of a request is a string or a number")]
    if not isinstance(found.method, str):
        return [Fault(bytes(found.id), Code.INVALID_REQUEST, "the method of a request is a string")]
    return [Request(found.method, bytes(found.id), key, params)]


def _decoded(text: bytes, decoder: msgspec.json.Decoder[Decoded]) -> Decoded:
    """The value, after a repair of its characters if they need one. Raises one of `UNREADABLE`."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise
    except UNREADABLE:
        if (mended := repaired(text)) is None:
            raise
    return decoder.decode(mended)


def key_of(id_: Raw | bytes) -> Key | None:
    """What this JSON text means as an id; None if it is no string and no number."""
    try:
        value = msgspec.json.decode(id_)
    except UNREADABLE:
        return None
    if isinstance(value, str):
        return "text", value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number", value
    return None


def oversize_fault(line: Oversize) -> Fault | None:
    """What is said of a line that was too long, with the id if that stands near its start or its end. None for an
    answer, and for a notification, which nothing answers."""
    named = jsonrpc.named(line.prefix, line.suffix)
    id_ = named.id if named.id and key_of(named.id) is not None else b""
    if named.is_answer or (named.method.startswith("notifications/") and not id_):
        return None
    what = f"the {named.method} message" if named.method else "the message"
    text = f"{what} has {line.size} bytes; a message may have {line.limit}"
    return Fault(id_ or NO_ID, Code.INVALID_REQUEST, text)


# --- writing ------------------------------------------------------------------------------------------------


def result_line(id_: bytes, result: Mapping[str, Any]) -> bytes:
    return _line({"jsonrpc": "2.0", "id": Raw(id_), "result": result})


def error_line(id_: bytes, code: int, message: str, data: Any = UNSET) -> bytes:
    error: dict[str, Any] = {"code": int(code), "message": message}
    if data is not UNSET:
        error["data"] = data
    return _line({"jsonrpc": "2.0", "id": Raw(id_), "error": error})


def notification_line(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    return _line({"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params}))


def _line(message: dict[str, Any]) -> bytes:
    return _encoder.encode(message) + b"\n"
