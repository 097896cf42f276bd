"""Long lines of an extension: limits for each kind of frame, and decoding of long frames. Pure.

A short line of any kind is decoded. A longer one costs the host time in which all other extensions wait, so only frames
with results, prompts and schemas may be long. The kind is read from the first bytes while the line still comes in; if
they do not show it, from the whole line, in a pass that makes no values.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wire import frames
from wire.framing import Oversize, string_member
from wire.lenient_json import UNREADABLE, reason, repair

SHORT = 256 * 1024
"""Maximum size in bytes of a frame of any kind."""
LIMITS = {
    "tool_result": 6 * 1024 * 1024,
    "event_intercept_response": 6 * 1024 * 1024,
    "command_response": 4 * 1024 * 1024,
    "submit": 4 * 1024 * 1024,
    "register_tool": 1024 * 1024,
    "call_tool": 1024 * 1024,
}
"""Maximum size in bytes of frames of these kinds. 6 MiB hold the largest image that the Messages API takes, and text;
zot's reader stops at 4 MiB."""
LONGEST = max(LIMITS.values())
STRINGS_LIMIT = 100_000
"""Maximum number of strings in a long frame, names of members included. A line full of empty strings takes ten times as
long to decode as one long text, and ten times the memory."""

_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    cls.__struct_config__.tag: msgspec.json.Decoder(cls)
    for cls in frames.FromExtension.__args__
    if cls.__struct_config__.tag in LIMITS
}


def limit_of(start: bytes) -> int:
    """Returns the maximum size of a line that is longer than `SHORT` and begins with `start`: `LONGEST` if the start
    does not show the kind."""
    if (kind := string_member(start, b"type")) is not None:
        return LIMITS.get(kind, SHORT)
    return LONGEST if start.lstrip().startswith(b"{") else SHORT


def decode_long(line: bytes | bytearray) -> frames.FromExtension | frames.UnknownFrame | frames.Malformed:
    """Decodes a line of any length, and refuses one that is too long for its kind. Never raises."""
    if len(line) <= SHORT:
        return frames.decode_from_extension(line)
    try:
        named = frames.envelope.decode(line)
    except UNREADABLE as error:
        mended = repair(bytes(line))
        return frames.Malformed(f"not a JSON object: {reason(error)}") if mended is None else decode_long(mended)
    kind, frame_id = (text if isinstance(text, str) else None for text in (named.type, named.id))
    limit = LIMITS.get(kind or "", SHORT)
    if kind is None or len(line) > limit:
        return too_long(kind, frame_id, len(line), limit)
    if count_strings(line) > STRINGS_LIMIT:
        why = f"a {kind} frame of {len(line)} bytes has more than {STRINGS_LIMIT} strings; dropped"
        return frames.Malformed(why, kind, frame_id)
    # The decoder of all kinds would decode the whole line before a second, different `type` at its end makes it
    # invalid.
    decoder = _DECODERS[kind]
    try:
        message: frames.FromExtension = decoder.decode(line)
    except UNREADABLE as error:
        return frames.second_look(bytes(line), error, decoder, frames.EXTENSION_TYPES)
    return message


def describe_oversize(line: Oversize) -> frames.Malformed:
    """Returns the error for a line over its limit, with its type and id if they are near its start."""
    return too_long(line.frame_type, line.frame_id, line.size, line.limit)


def too_long(kind: str | None, frame_id: str | None, size: int, limit: int) -> frames.Malformed:
    what = f"{kind[:80]} frame" if kind else "line"
    return frames.Malformed(f"a {what} of {size} bytes is over the limit of {limit} bytes; dropped", kind, frame_id)


def count_strings(line: bytes | bytearray) -> int:
    """Estimates the number of strings in a JSON text, at least half of it: a string may end in a backslash."""
    marks = line.count(b'"')
    if marks > 2 * STRINGS_LIMIT:
        marks -= line.count(b'\\"')
    return marks // 2
