"""The `ext` lines of `zot rpc`: frames to and from an extension that lives in the client program. A client sends them
as the request `ext`; this module has the lines of the server. The settings of such an extension are those of a manifest
that do not concern a process.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
from msgspec import Raw

from wire.framing import Oversize, string_member
from wire.lenient_json import UNREADABLE, reason
from wire.manifest import NAME_PATTERN, Manifest, ManifestError, Restart, parse_manifest

SETTINGS = (
    "version", "description", "language", "priority", "on_failure", "independent", "timeouts", "watchdog_s",
    "stall_after",
)  # fmt: skip
"""Fields of a manifest that an extension in the client program may have."""
NEVER_STALLED = 1_000_000
"""`stall_after` if the manifest has none: such an extension is never given up for being slow."""
EXEC = "(the client program)"
"""The value of `exec` for such an extension."""
NAME_RULE = "1 to 64 characters, without slashes or control characters, and not starting with a dot"


class ExtLine(msgspec.Struct, frozen=True, tag_field="type", tag="ext", kw_only=True, omit_defaults=True):
    """A line for an extension in the client program: a frame, or its end."""

    extension: str
    frame: Raw | msgspec.UnsetType = msgspec.UNSET
    """A frame of the extension protocol."""
    closed: str | msgspec.UnsetType = msgspec.UNSET
    """Why the extension was given up or has ended. A new `hello` may use its name again."""


class UnfitManifestError(ValueError):
    """The name or the manifest is refused; the text says why."""


class LongLine(NamedTuple):
    """The known part of a lost line to an extension that was over the limit."""

    extension: str
    frame: Oversize
    """The frame, cut off."""


_encoder = msgspec.json.Encoder()
_fields = msgspec.json.Decoder(dict[str, Raw])


def line_start(extension: str) -> bytes:
    """Returns the start of every line with a frame for this extension."""
    return b'{"type":"ext","extension":%s,"frame":' % _encoder.encode(extension)


def frame_line(start: bytes, frame: bytes) -> bytes:
    """Returns a line with a frame, LF included. `start` is of `line_start`; `frame` is a line with LF."""
    return b"%s%s}\n" % (start, frame[:-1])


def end_line(extension: str, reason: str) -> bytes:
    """Returns the line which says that an extension has ended, LF included."""
    return _encoder.encode(ExtLine(extension=extension, closed=reason)) + b"\n"


def manifest_of(name: str, given: bytes) -> Manifest:
    """Returns the manifest of an extension in the client program. `given` is the text of its settings, or empty. Raises
    `UnfitManifestError`."""
    if not re.match(NAME_PATTERN, name):
        raise UnfitManifestError(f"extension: {NAME_RULE}")
    text = given.strip() or b"{}"
    try:
        fields = _fields.decode(text)
    except UNREADABLE as error:
        raise UnfitManifestError(f"manifest: {reason(error)}") from None
    for field in fields:
        if field in Manifest.__struct_fields__ and field not in SETTINGS:
            raise UnfitManifestError(f"manifest: {field}: {_why_not(field)}; there are {', '.join(SETTINGS)}")
    own = _encoder.encode({"name": name, "exec": EXEC})
    try:
        found = parse_manifest(own[:-1] + (b"," if fields else b"") + text[1:])
    except ManifestError as error:
        raise UnfitManifestError(str(error)) from None
    if found.timeouts.hello is not None:
        raise UnfitManifestError("manifest: timeouts.hello: no process is started, and the hello is there already")
    taken = msgspec.structs.replace(
        found,
        restart=Restart(policy="temporary"),
        stall_after=found.stall_after if "stall_after" in fields else NEVER_STALLED,
    )
    taken.__dict__.update(found.__dict__)
    return taken


def _why_not(field: str) -> str:
    return "the line has it" if field == "name" else "an extension in the client program has no process of its own"


def long_line(line: Oversize) -> LongLine | None:
    """Reads the start of a line that was over the limit; None if the line is not for an extension, or does not name it
    near its start."""
    extension = string_member(line.prefix, b"extension")
    if line.frame_type != "ext" or extension is None:
        return None
    _, _, frame = line.prefix.partition(b'"frame"')
    return LongLine(extension, Oversize(line.size, frame.lstrip(b" \t\r:"), line.limit))
