"""Reads the lines of an rpc client: each is a request, or is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Raw

from wire.field_errors import explain
from wire.framing import DEFAULT_FRAME_LIMIT
from wire.lenient_json import UNREADABLE, reason, repair
from wire.rpc.requests import COMMANDS, Request
from wire.suggestions import did_you_mean

if TYPE_CHECKING:
    from wire.framing import Oversize

LINE_LIMIT = DEFAULT_FRAME_LIMIT
"""Maximum length of a request in bytes, without the LF. A longer one is answered with an error."""
NAME_SHOWN = 80
"""Maximum number of characters of an unknown command in its error."""
_ID_STARTS = b'"-0123456789'


class Refusal(NamedTuple):
    """Why a line is not a request: the three members of the error response."""

    command: str
    """The line's `type`; empty if it cannot be read."""
    id: Raw | msgspec.UnsetType
    error: str


class _Envelope(msgspec.Struct):
    type: Any = None
    id: Raw | msgspec.UnsetType = msgspec.UNSET


_envelope = msgspec.json.Decoder(_Envelope)
_decoders: dict[str, msgspec.json.Decoder[Any]] = {name: msgspec.json.Decoder(kind) for name, kind in COMMANDS.items()}


def decode(line: bytes) -> Request | Refusal:
    """Returns the request in a line, or why the line is not one. Invalid Unicode becomes U+FFFD."""
    found = _decode(line)
    if isinstance(found, Refusal) and (mended := repair(line)) is not None:
        return _decode(mended)
    return found


def too_long(line: Oversize) -> Refusal:
    """Returns the refusal of a line over the limit."""
    written = line.written_id
    id_ = msgspec.UNSET if written is None else Raw(written.decode("utf-8", "replace").encode())
    error = f"a line of {line.size:,} bytes is over the limit of {LINE_LIMIT >> 20} MiB"
    return Refusal(line.frame_type or "", id_, error)


def _decode(line: bytes) -> Request | Refusal:
    try:
        envelope = _envelope.decode(line)
        id_ = _checked_id(envelope.id)
    except UNREADABLE as error:
        return Refusal("", msgspec.UNSET, _malformed(error))
    command = envelope.type if isinstance(envelope.type, str) else ""
    if id_ is None:
        return Refusal(command, msgspec.UNSET, "id: it must be a string or a number")
    if command not in COMMANDS:
        return Refusal(command, id_, _unknown(command))
    try:
        request: Request = _decoders[command].decode(line)
    except msgspec.ValidationError as error:
        return Refusal(command, id_, explain(COMMANDS[command], str(error)))
    except UNREADABLE as error:
        return Refusal(command, id_, _malformed(error))
    return msgspec.structs.replace(request, id=id_)


def _checked_id(written: Raw | msgspec.UnsetType) -> Raw | msgspec.UnsetType | None:
    """Returns the id as it was written; None if it is neither a string nor a number. Raises one of `UNREADABLE`."""
    if written is msgspec.UNSET:
        return msgspec.UNSET
    text = bytes(written)
    if text == b"null":
        return msgspec.UNSET
    if text[:1] not in _ID_STARTS:
        return None
    if text[:1] == b'"':
        msgspec.json.decode(text)  # only a string can hold invalid Unicode
    return written.copy()


def _malformed(error: Exception) -> str:
    return f"malformed json: {reason(error).removeprefix('JSON is malformed: ')}"


def _unknown(command: str) -> str:
    if not command:
        return 'unknown command: a request needs a type, such as "ping"'
    hint = did_you_mean(command, COMMANDS) or f"there are {', '.join(COMMANDS)}"
    return f"unknown command {command[:NAME_SHOWN]!r}; {hint}"
