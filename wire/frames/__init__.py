"""The frames of the extension protocol: `extension_frames`, `host_frames`, the `parts` of both, and the decoders.

Their classes are also the neutral messages that other dialects translate into. Limits of long lines: `wire.dialects`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wire.frames.extension_frames import *  # noqa: F403  (all of them, by the same names)
from wire.frames.extension_frames import FromExtension
from wire.frames.host_frames import *  # noqa: F403
from wire.frames.host_frames import FromHost
from wire.frames.parts import *  # noqa: F403
from wire.lenient_json import UNREADABLE, reason, repair


class UnknownFrame(msgspec.Struct, frozen=True):
    """A JSON object whose `type` this version does not know. Ignored and logged, never an error."""

    type: str


class Malformed(msgspec.Struct, frozen=True):
    """A line that is not a frame: it is not JSON or not an object, or a field has the wrong type."""

    reason: str
    type: str | None = None
    """The frame's type, if the line was an object with a type."""
    id: str | None = None
    """The frame's id, if the line was an object with an id; a pending call with this id can be failed at once."""


class _Envelope(msgspec.Struct):
    type: Any = None
    id: Any = None


envelope = msgspec.json.Decoder(_Envelope)
encoder = msgspec.json.Encoder()

EXTENSION_TYPES = frozenset(cls.__struct_config__.tag for cls in FromExtension.__args__)
HOST_TYPES = frozenset(cls.__struct_config__.tag for cls in FromHost.__args__)

from_extension: msgspec.json.Decoder[FromExtension] = msgspec.json.Decoder(FromExtension)
_from_host: msgspec.json.Decoder[FromHost] = msgspec.json.Decoder(FromHost)


def decode_from_extension(line: bytes | bytearray) -> FromExtension | UnknownFrame | Malformed:
    """Decodes one line that an extension wrote. Never raises."""
    try:
        return from_extension.decode(line)
    except UNREADABLE as error:
        return second_look(bytes(line), error, from_extension, EXTENSION_TYPES)


def decode_from_host(line: bytes) -> FromHost | UnknownFrame | Malformed:
    """Decodes one line that a host wrote. Never raises."""
    try:
        return _from_host.decode(line)
    except UNREADABLE as error:
        return second_look(line, error, _from_host, HOST_TYPES)


def encode(frame: msgspec.Struct) -> bytes:
    """Encodes the frame as one line, LF included."""
    return encoder.encode(frame) + b"\n"


def second_look(
    line: bytes, error: Exception, decoder: msgspec.json.Decoder[Any], known: frozenset[Any]
) -> Any | UnknownFrame | Malformed:
    """Returns the frame if it can be decoded after a repair of its characters, else the error."""
    if not line.lstrip().startswith(b"{"):
        return Malformed("not a JSON object")
    if (mended := repair(line)) is not None:
        line = mended
        try:
            return decoder.decode(line)
        except UNREADABLE as still:
            error = still
    try:
        named = envelope.decode(line)
    except UNREADABLE as not_json:
        return Malformed(f"not a JSON object: {reason(not_json)}")
    frame_id = named.id if isinstance(named.id, str) else None
    if not isinstance(named.type, str):
        return Malformed("the frame has no type", id=frame_id)
    if named.type not in known:
        return UnknownFrame(named.type)
    return Malformed(f"bad {named.type} frame: {reason(error)}", named.type, frame_id)
